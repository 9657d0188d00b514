"""Tests of the division of a run: fallbacks with reasons, and kernels inside launches."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from onnx import TensorProto
from playwright.sync_api import Browser, Page, expect

from tests.browser.playground import Playground, compiled_once
from tests.onnx_models import BOOL, I64, graph, model, node, value

LONG = "z" * 200


@pytest.fixture(scope="module")
def mixed(browser: Browser, server: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A link to an If, a sum over axes given by an input, and string operators."""
    branches: dict[str, Any] = {
        f"{name}_branch": graph([node(op, ["k"], ["t"], op)], outputs=[value("t", None)])
        for name, op in (("then", "Exp"), ("else", "Neg"))
    }
    words = value("s", (4,), TensorProto.STRING), value(LONG, (4,), TensorProto.STRING)
    made = model(
        [
            node("Add", ["x", "x"], ["k"], "twice"),
            node("If", ["c"], ["y"], "choice", **branches),
            node("StringConcat", ["s", "s"], [LONG], "join_words"),
            node("ReduceSum", ["y", "axes"], ["total"], "total"),
        ],
        [value("x", (2, 3)), value("c", (), BOOL), value("axes", (1,), I64), words[0]],
        [value("total", None), words[1]],
        opset=20,
    )
    path = tmp_path_factory.mktemp("models") / "mixed.onnx"
    onnx.save(made, path)
    return compiled_once(browser, server, path)


@pytest.fixture
def walked(page: Page, mixed: str) -> Playground:
    playground = Playground(page).follow(mixed)
    playground.press("End")
    return playground


def test_every_fallback_stands_there_with_its_reason(walked: Playground) -> None:
    pane = walked.show_pane("kernels")
    summary = walked.part("summary").last
    expect(summary).to_contain_text("1 by the reference")
    expect(summary).to_contain_text("2 more kernels run inside control flow")
    reason = "onnx.StringConcat has no lowering to loops"
    expect(summary.locator(".running-because").first).to_have_text(reason)
    expect(summary).to_contain_text("axes=[")

    pane.locator('[data-side="fallback"]').click()
    rows = pane.locator("tbody tr")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text(reason)
    pane.locator('[data-side="all"]').click()

    summary.get_by_role("button", name="join_words").click()
    expect(walked.show_pane("node").locator(".node-fallback")).to_contain_text(reason)
    expect(walked.part("stage")).to_have_attribute("data-fallbacks", "1")
    expect(walked.part("legend")).to_contain_text("1 fallback")
    expect(walked.show_pane("loops")).to_contain_text(reason)
    expect(walked.show_pane("stack").locator("[data-part=says]")).to_contain_text(reason)


def test_kernels_of_a_region_stand_below_what_launches_them(walked: Playground) -> None:
    pane = walked.show_pane("kernels")
    rows = pane.locator("tbody tr")
    names = [row.split("\n")[0] for row in pane.locator(".kernel-name").all_inner_texts()]
    at = names.index("onnx.If")
    assert set(names[at + 1 : at + 3]) == {"exp", "neg"}
    expect(pane.locator(".kernel-name[data-inside]")).to_have_count(2)
    expect(rows.nth(at + 1)).to_contain_text("_branch: elementwise")
    rows.nth(at + 1).click()
    expect(walked.show_pane("loops").locator(".code-line").first).to_be_visible()
    rows = walked.show_pane("kernels").locator("tbody tr")
    rows.nth(at).click()
    expect(walked.show_pane("node")).to_contain_text("2 kernels run inside it")
    loops = walked.show_pane("stack").locator("[data-part=loops]")
    expect(loops).to_contain_text("A control-flow node has no loops")
    walked.show_pane("schedule").get_by_role("button", name="neg").click()
    expect(walked.pane.locator(".code-line").first).to_be_visible()
    expect(walked.part("kernel").locator("option:checked")).to_contain_text("neg")


def test_a_move_of_a_schedule_opens_to_the_loops_it_leaves(walked: Playground):
    walked.show_pane("kernels").locator("tbody tr").filter(has_text="add").first.click()
    pane = walked.show_pane("schedule")
    step = pane.locator(".code-line").filter(has_text="vectorize(").first
    step.locator("summary").click()
    expect(step.locator("pre")).to_contain_text("vector ")
    title = step.locator(".code-text").get_attribute("title")
    assert title is not None
    assert title.startswith("Vectorise the innermost loop")


def test_a_long_name_leaves_room_for_what_is_said_beside_it(walked: Playground) -> None:
    timing = walked.show_pane("timing")
    expect(timing).to_contain_text(LONG)
    assert timing.evaluate("pane => pane.scrollWidth <= pane.clientWidth")
    walked.press("v")
    table = walked.part("table-twin")
    expect(table).to_contain_text(LONG)
    expect(table.get_by_role("columnheader", name="Operator")).to_be_in_viewport()
