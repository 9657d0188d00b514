"""Tests of the page's layout: heights, legends, paper, and headings of errors."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Watch
from tests.browser.playground import COMPILE_MS, Playground


@pytest.mark.parametrize("size", [(1440, 900), (900, 700), (360, 740)])
def test_no_view_is_taller_or_wider_than_the_window(page: Page, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    playground = Playground(page).walk("digits_mlp")
    for pane in ("steps", "memory", "compare"):
        playground.show_pane(pane)
        root = "document.documentElement"
        assert page.evaluate(f"[{root}.scrollWidth, {root}.scrollHeight]") == list(size)


def test_the_legend_is_below_the_drawing_and_covers_nothing(page: Page) -> None:
    playground = Playground(page).walk("digits_mlp")
    canvas, legend = (
        playground.part("stage").bounding_box(),
        playground.part("legend").bounding_box(),
    )
    assert canvas is not None
    assert legend is not None
    assert canvas["y"] + canvas["height"] <= legend["y"] + 0.5


def test_a_pass_without_changes_marks_no_node(page: Page) -> None:
    playground = Playground(page).walk("digits_cnn")
    playground.show_pane("node")
    row = page.locator(".pass-row .pass-name")
    row.get_by_text("fold_affine", exact=True).click()
    playground.part("search").fill("norm1")
    playground.part("search").press("Enter")
    badge = playground.pane.locator(".node-title .badge")
    expect(badge).to_have_text("changed")
    page.locator("[data-fold]").click()
    page.locator(".pass-row[data-unchanged] .pass-name").get_by_text("hoist_zero_points").click()
    expect(playground.pane.locator(".node-title")).to_contain_text("conv")
    expect(badge).to_have_count(0)
    row.get_by_text("specialise", exact=True).click()
    expect(badge).to_have_text("types refined")
    expect(playground.part("legend")).to_contain_text("with refined types")


def test_an_empty_pane_is_a_sentence_and_a_phone_shows_all_errors(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    playground = Playground(page).walk("digits_cnn")
    empty = playground.show_pane("node").locator(".pane-empty")
    term = empty.locator("button").first
    expect(term).to_be_visible()
    # The first term continues the line of the words before it.
    before = "e => { const r = document.createRange(); r.selectNode(e.firstChild);"
    line = f"{before} return r.getBoundingClientRect().bottom }}"
    assert term.evaluate("e => e.getBoundingClientRect().top") < empty.evaluate(line)
    table = playground.show_pane("timing").locator(".table")
    assert table.evaluate("e => e.getBoundingClientRect().right") <= 390


def test_a_step_states_why_its_near_miss_is_unchanged(page: Page) -> None:
    playground = Playground(page).walk("digits_cnn")
    page.locator(".pass-row", has=page.get_by_text("fuse", exact=True)).click()
    steps = playground.show_pane("steps")
    steps.locator("[data-step]").first.click()
    miss = steps.locator("details", has_text="Near miss")
    miss.locator("summary").click()
    because = miss.locator(".step-unmatched")
    expect(because).to_contain_text("Declined: ")
    expect(because).to_contain_text("a kernel holds one contraction or reduction")


def test_an_error_is_headed_by_its_words(page: Page, watch: Watch) -> None:
    watch.expect("404")
    playground = Playground(page).open("#v=1&screen=walk&model=sample:absent")
    title = playground.part("problem").locator(".problem-title").first
    expect(title).to_be_visible()
    expect(title).not_to_contain_text("E-")
    expect(playground.part("problem").locator(".problem-code").first).to_contain_text("E-")


def test_paper_shows_the_whole_view_in_light_colours(page: Page) -> None:
    page.emulate_media(color_scheme="dark")
    playground = Playground(page).walk("digits_cnn")
    playground.show_pane("memory")
    page.emulate_media(media="print", color_scheme="dark")
    for control in ("theme", "views", "groups", "split", "filter"):
        expect(playground.part(control).first).to_be_hidden()
    expect(playground.pane.locator("tbody tr").last).to_be_attached()
    for part in ("pane", "list", "main"):
        box = playground.part(part).first
        assert box.evaluate("e => e.scrollHeight - e.clientHeight") <= 0
    luminance = "getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g).map(Number)"
    assert page.evaluate(luminance)[0] > 0.9
    inverted = playground.part("canvas").first.evaluate("e => getComputedStyle(e).filter")
    assert "invert" in inverted


def test_the_result_of_an_action_comes_into_view_and_is_announced(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 560})
    playground = Playground(page).walk("digits_mlp")
    pane = playground.show_pane("compare")
    pane.locator("[data-part=preset]").select_option("O0")
    pane.locator("[data-part=editor-says]").click()
    measured = pane.locator("[data-section=compare-measured]")
    pane.locator("[data-part=run]").click()
    expect(measured).to_be_in_viewport(timeout=COMPILE_MS)
    expect(page.locator("#announce")).to_contain_text(re.compile("faster|slower|differ|overlap"))


def test_the_import_shows_the_model_and_tables_have_no_empty_columns(page: Page) -> None:
    playground = Playground(page).walk("digits_mlp")
    pane = playground.show_pane("steps")
    expect(pane).to_contain_text("image: f32[")
    expect(pane.locator(".bars code").first).to_have_text("add")
    playground.press("v")
    table = playground.part("table-twin")
    expect(table.locator("thead")).not_to_contain_text("Mark")
    page.locator(".pass-row .pass-name").get_by_text("fuse", exact=True).click()
    expect(table.locator("thead")).to_contain_text("Mark")
    expect(table.locator("tbody tr").first.locator("td")).to_have_count(6)
