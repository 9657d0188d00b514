"""Tests of the pane Numbers: check, keyboard, selection, cancellation, and state in the URL."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.playground import COMPILE_MS, Playground


def checked(playground: Playground, how: str = "done") -> Locator:
    """Return the pane after the end of the check."""
    expect(playground.page.locator(f'#pane[data-checked="{how}"]')).to_be_visible(
        timeout=COMPILE_MS
    )
    return playground.pane


def test_a_small_model_is_checked_at_once_and_its_passes_get_badges(
    playground: Playground, page: Page
) -> None:
    playground.pick("digits_cnn").compile()
    playground.show_pane("numerics")
    pane = checked(playground)
    expect(pane.locator("[data-part=lead]")).to_contain_text("first pass that changes a number")
    expect(pane.locator("[data-part=program]")).to_contain_text("against f64")
    rewrites = pane.locator("[data-part=rewrites]")
    expect(rewrites).to_contain_text("All are correct")
    expect(rewrites).to_contain_text("Other passes, such as fusion, count their own rewrites.")
    says = pane.locator("[data-part=values-says]")
    expect(says).to_contain_text("from the same value of the imported model")
    moved = pane.locator("[data-part=lead] [data-stage]").first
    stage = moved.get_attribute("data-stage") or ""
    badge = page.locator(f'.pass-row[data-stage="{stage}"] .pass-error')
    expect(badge).to_have_text(re.compile(r"≤ \de-\d"))
    expect(badge).to_have_attribute("data-moved", "")
    # A click, here or in the plot, leads to the pass and its values.
    moved.click()
    playground.expect_stage(int(stage))
    expect(pane.locator("[data-part=values-title]")).to_contain_text("fold_affine")
    expect(pane.locator(f'[data-part=plot] [data-stage="{stage}"]')).to_have_attribute(
        "aria-current", "step"
    )


def test_a_value_is_selected_everywhere_and_the_graph_shows_errors(page: Page) -> None:
    playground = Playground(page).walk("digits_cnn")
    # Before a check, the colour *Error* links to the pane that starts the check.
    playground.part("color").select_option("error")
    note = playground.part("no-colors")
    note.get_by_role("button", name="Check them in Numbers").click()
    pane = checked(playground)
    expect(note).to_be_hidden()
    rows = pane.locator("[data-part=values] tbody tr")
    rows.nth(1).locator("button").click()
    expect(page).to_have_url(re.compile(r"[#&]select="))
    expect(pane.locator("[data-part=values] tr[data-selected]").first).to_be_visible()
    expect(pane.locator("[data-part=distances]")).to_contain_text("elements by distance from f64")
    expect(playground.part("stage")).to_have_attribute("data-color", "error")
    expect(playground.part("legend").locator("[data-class]").first).to_be_visible()


def test_the_link_brings_back_what_was_found(page: Page) -> None:
    playground = Playground(page).walk("digits_mlp")
    playground.show_pane("numerics")
    checked(playground)
    expect(page).to_have_url(re.compile(r"[#&]check=\d{8}-"))
    asked: list[str] = []
    page.on("request", lambda r: asked.append(f"{r.method} {r.url}"))
    page.reload()
    playground.wait_for_walk()
    pane = checked(playground)
    expect(pane.locator("[data-part=plot] .numerics-dot").first).to_be_visible()
    assert not any(a.startswith("POST") and a.endswith("/numerics") for a in asked)


def _saved(folder: Path, weights: Any, *nodes: Any, dtype: int, shape: list[int]) -> Path:
    x = helper.make_tensor_value_info("x", dtype, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(list(nodes), "g", [x], [y], [numpy_helper.from_array(weights, "w")])
    path = folder / "model.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def test_a_model_that_refuses_random_inputs_is_told_what_to_do(
    playground: Playground, tmp_path: Path
) -> None:
    table = np.ones((0, 3), np.float32)  # every index is out of range
    node = helper.make_node("Gather", ["w", "x"], ["y"])
    path = _saved(tmp_path, table, node, dtype=TensorProto.INT64, shape=[2])
    playground.drop(path)
    expect(playground.part("compile")).to_be_enabled()
    playground.compile().show_pane("numerics")
    pane = checked(playground, "failed")
    expect(pane.locator("[data-part=problem]")).to_contain_text("refuses random inputs")
    expect(pane.locator("[data-part=problem]")).to_contain_text("--input NAME=ARRAY.npy")
    expect(pane.locator("[data-part=body]")).to_be_hidden()


def test_a_large_model_is_checked_when_asked_and_can_be_cancelled(
    playground: Playground, page: Page
) -> None:
    playground.pick("squeezenet").compile()
    pane = playground.show_pane("numerics")
    expect(pane.locator("[data-part=intro]")).to_be_visible()
    # The check takes seconds; nothing is awaited, so that it does not end before it is cancelled.
    pane.locator("[data-part=start]").click()
    pane.locator("[data-part=cancel]").click()
    checked(playground, "cancelled")
    expect(pane.locator("[data-part=busy]")).to_contain_text("Cancelled")
    expect(pane.locator("[data-part=start]")).to_have_text("Check again")


def test_a_check_is_cancelled_before_the_server_has_answered(
    playground: Playground, page: Page
) -> None:
    playground.pick("squeezenet").compile()
    pane = playground.show_pane("numerics")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route) if route.request.method == "POST" else route.continue_()

    page.route("**/api/v1/jobs/*/numerics", hold)
    pane.locator("[data-part=start]").click()
    pane.locator("[data-part=cancel]").click()
    checked(playground, "cancelled")
    with page.expect_response(lambda answer: answer.request.method == "POST") as answered:
        held[0].continue_()
    path = f"/api/v1/jobs/{answered.value.json()['id']}"
    while (state := page.request.get(path).json()["state"]) in ("queued", "running"):
        page.wait_for_timeout(100)
    assert state == "cancelled"


def test_a_pass_beyond_what_is_allowed_is_named_with_its_rewrite(page: Page) -> None:
    """No pass of ours is wrong, so the test worsens the answer of the server."""

    def worsen(route: Route) -> None:
        answer = route.fetch()
        found = answer.json()
        rows = [r for r in found.get("rows", []) if r["changed"]]
        if not rows:
            return route.fulfill(response=answer)
        last = rows[-1]
        last.update(mark="wrong", relative_error=0.5, objection="")
        rewrite = {"stage": last["stage"], "step": 0, "pass_name": last["name"], "rule": "hurried"}
        wrong = {**rewrite, "at": "h", "kind": "normal", "objection": "2 of 4", "relative_error": 1}
        found["first_wrong"] = last["stage"]
        found["rewrites"] = {"n_applied": 9, "n_judged": 4, "wrong": [wrong]}
        return route.fulfill(response=answer, json=found)

    page.route(re.compile(r"/numerics$"), worsen)
    playground = Playground(page).walk("digits_mlp")
    playground.show_pane("numerics")
    pane = checked(playground)
    lead = pane.locator("[data-part=lead] .numerics-wrong")
    expect(lead).to_contain_text("⚠ The first pass beyond the tolerance is")
    stage = lead.locator("[data-stage]").get_attribute("data-stage") or ""
    expect(page.locator(f'.pass-row[data-stage="{stage}"] .pass-error')).to_have_text("⚠ ≤ 5e-1")
    expect(pane.locator("[data-part=rewrites]")).to_contain_text("compilarium bisect digits_mlp")
    pane.get_by_role("button", name="hurried").click()
    expect(page).to_have_url(re.compile(rf"step={stage}:0"))
    expect(page.locator('[role="tab"][data-pane="steps"]')).to_have_attribute(
        "aria-selected", "true"
    )
