"""Tests of the path from a model to its timing, in a real browser, as a user takes it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Watch
from tests.browser.playground import COMPILE_MS, Playground
from tests.models import light_model, ocr_model

A_TIME = re.compile(r"\d\s?(ns|us|ms|s)\b")


@pytest.fixture
def playground(page: Page) -> Playground:
    return Playground(page)


def walk_and_look(playground: Playground) -> None:
    """Step through all passes by keyboard, then inspect every result."""
    stages = playground.stages()
    assert [stage for stage, _ in stages] == list(range(len(stages)))
    assert sum(changed for _, changed in stages[1:]) >= 3

    for _ in playground.walk_all():
        expect(playground.part("stage")).to_have_attribute("data-drawn", re.compile(r"^[1-9]"))

    playground.press("Home")
    playground.expect_stage(0)
    for stage in [stage for stage, changed in stages[1:] if changed]:
        playground.press("ArrowDown")
        playground.expect_stage(stage)
    playground.press("ArrowDown")
    playground.expect_stage(max(stage for stage, changed in stages if changed))

    steps = playground.show_pane("steps")
    expect(steps.locator("li").first).to_be_visible()
    expect(playground.show_pane("text").locator(".code")).to_contain_text("graph")
    for pane, pattern in CODE.items():
        expect(playground.show_pane(pane).locator(".code-lines")).to_have_text(pattern)

    rows = playground.show_pane("kernels").locator("tbody tr")
    expect(rows.first).to_be_visible()
    assert A_TIME.search(rows.first.inner_text())
    expect(playground.show_pane("timing")).to_contain_text(A_TIME)
    expect(playground.show_pane("memory").locator("tbody tr").first).to_be_visible()


CODE = {
    "loops": re.compile(r"kernel .*\bfor\b", re.DOTALL),
    "llvm": re.compile(r"define .*\bret\b", re.DOTALL),
    "asm": re.compile(r"\w:.*\bret", re.DOTALL),
}
"""A text that each level of a kernel must contain."""


def test_squeezenet_is_walked_from_the_import_to_its_timing(playground: Playground) -> None:
    playground.open().pick("squeezenet").compile()
    walk_and_look(playground)


def test_a_dropped_model_is_walked_from_the_import_to_its_timing(playground: Playground) -> None:
    playground.open().drop(ocr_model("ch_ppocr_mobile_v2.0_cls_infer"))
    expect(playground.part("file-name")).to_have_text("ch_ppocr_mobile_v2.0_cls_infer.onnx")
    playground.compile()
    walk_and_look(playground)


def test_a_broken_file_is_explained_and_the_next_model_compiles(
    playground: Playground, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(light_model("squeezenet").read_bytes()[:2000])
    playground.open().drop(broken)
    problem = playground.part("problem")
    expect(problem).to_be_visible()
    expect(problem).to_contain_text("E-MODEL-")
    expect(problem).to_contain_text("export")
    playground.pick("digits_mlp").compile()
    expect(playground.part("problem")).to_have_count(0)


def test_the_address_restores_model_stage_pane_and_selection(
    playground: Playground, page: Page
) -> None:
    playground.open().pick("digits_cnn").compile()
    changed = [stage for stage, did in playground.stages()[1:] if did]
    playground.press("Home")
    for _ in changed[:2]:
        playground.press("ArrowDown")
    playground.expect_stage(changed[1])
    search = playground.part("search")
    search.fill("conv2")
    search.press("Enter")
    expect(playground.show_pane("loops").locator(".code-lines")).to_have_text(CODE["loops"])
    expect(page).to_have_url(re.compile(r"[#&]pane=loops"))
    expect(page).to_have_url(re.compile(r"[#&]select=conv2"))
    address = page.url
    code = page.locator(".code-lines").text_content()

    page.goto("about:blank")
    page.goto(address)
    playground.wait_for_walk()
    playground.expect_stage(changed[1])
    expect(page.locator('[role="tab"][data-pane="loops"]')).to_have_attribute(
        "aria-selected", "true"
    )
    expect(page.locator(".code-lines")).to_have_text(code or "nothing")
    assert page.url == address


def test_the_digits_show_their_accuracy_before_and_after_compiling(
    playground: Playground,
) -> None:
    playground.open()
    expect(playground.page.locator('[data-sample="digits_cnn"]')).to_contain_text("98.3")
    playground.pick("digits_cnn").compile()
    timing = playground.show_pane("timing")
    assert len(re.findall(r"98\.3", timing.inner_text())) >= 2
    expect(timing).to_contain_text(
        "equal predictions of the program and our reference, right or wrong"
    )


def test_a_pass_that_is_switched_off_does_not_run(playground: Playground, page: Page) -> None:
    playground.open().pick("digits_mlp")
    rows = playground.part("rows").locator("li")
    # The list appears in slices; the last pass is the only one of its kind.
    expect(rows.last.locator('[data-part="down"]')).to_be_disabled()
    names = [row.locator('[data-part="name"]').inner_text() for row in rows.all()]
    rows.first.locator(".switch").click()
    playground.compile()
    ran = playground.unfold_passes().page.locator(".pass-row .pass-name").all_inner_texts()
    # The batch size of the model is open, so assumed sizes are inserted before all passes.
    assert ran[:2] == ["as imported", "specialise"]
    assert ran[2:] == names[1:]


def test_a_pass_has_one_number_in_all_lists_and_texts(playground: Playground, page: Page) -> None:
    playground.open().pick("digits_cnn")
    rows = playground.part("rows").locator("li")
    expect(rows.last.locator('[data-part="down"]')).to_be_disabled()
    rows.nth(1).locator(".switch").click()
    planned = [
        (row.locator('[data-part="index"]').inner_text(), row.locator('[data-part="name"]'))
        for row in rows.all()
    ]
    numbered = [f"{number} {name.inner_text()}" for number, name in planned if number]
    assert len(numbered) == len(planned) - 1
    playground.compile()
    playground.unfold_passes()
    walked = page.locator(".pass-row").evaluate_all(
        "rows => rows.map(r => ['.pass-index', '.pass-name']"
        ".map(s => r.querySelector(s).textContent).join(' ').trim())"
    )
    # The batch size of the model is open, so "specialise" precedes the passes, without a number.
    assert walked == ["as imported", "specialise", *numbered]
    chosen = playground.part("base").first.locator("option").all_inner_texts()
    assert chosen[1:] == walked
    fused = next(each for each in walked if each.endswith(" fuse"))
    page.locator(".pass-row .pass-name").get_by_text("fuse", exact=True).click()
    playground.part("search").fill("relu1")
    playground.part("search").press("Enter")
    expect(playground.show_pane("node").locator(".journey")).to_contain_text(fused)
    expect(playground.show_pane("stack")).to_contain_text(f"at stage {fused}")
    pane = playground.show_pane("numerics")
    expect(pane.get_by_role("button", name=fused, exact=True)).to_be_visible(timeout=COMPILE_MS)


def test_the_first_pass_that_changed_the_graph_has_a_number(playground: Playground) -> None:
    playground.walk("digits_cnn").press("Home")
    first = playground.show_pane("steps").locator("[data-first-change]")
    expect(first).not_to_contain_text("specialise")
    first.click()
    current = playground.page.locator(".pass-row[aria-current=step] .pass-index")
    expect(current).to_have_text(re.compile(r"^\d+$"))


def test_a_model_compiles_in_the_precision_and_with_the_threads_that_were_chosen(
    playground: Playground, page: Page
) -> None:
    playground.open().pick("digits_cnn")
    precision, threads = playground.part("precision"), playground.part("threads")
    expect(precision.locator("option")).to_have_text(
        ["f32", "fast", "bf16", "int8 (requires a quantized model)"]
    )
    precision.select_option("bf16")
    expect(playground.part("precision-words")).to_contain_text("bf16")
    threads.fill("0")
    threads.press("Tab")
    expect(threads).to_have_attribute("aria-invalid", "true")
    threads.fill("2")
    threads.press("Tab")
    expect(threads).to_have_attribute("aria-invalid", "false")
    expect(page).to_have_url(re.compile("precision=bf16&threads=2|threads=2.*precision=bf16"))
    playground.compile()
    names = page.locator(".pass-row .pass-name")
    expect(names.filter(has_text="lower_precision")).to_have_count(1)


def test_nothing_is_asked_of_another_server(playground: Playground, watch: Watch) -> None:
    playground.open().pick("digits_mlp").compile()
    assert not watch.problems
