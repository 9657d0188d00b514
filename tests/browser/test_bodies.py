"""Tests of the bodies of control flow in the drawing: opening, edges inside, selection, passes."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.branching_models import chooser
from tests.browser.accessibility import Inspector
from tests.browser.playground import Playground, compiled_once

PRODUCT = "y→then_branch→m"


@pytest.fixture(scope="module")
def link(browser: Browser, server: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model with all of its work inside an If, compiled once."""
    path = tmp_path_factory.mktemp("models") / "chooser.onnx"
    path.write_bytes(chooser().SerializeToString())
    return compiled_once(browser, server, path)


@pytest.fixture
def playground(page: Page, link: str) -> Playground:
    """The model as imported, with all bodies open."""
    playground = Playground(page).follow(link)
    playground.press("Home")
    playground.expect_stage(0)
    expect(playground.part("stage")).to_have_attribute("data-groups", "4/4")
    return playground


def test_a_body_opens_and_closes_by_key_and_pointer_and_the_link_says_which(
    playground: Playground, page: Page
) -> None:
    stage, canvas = playground.part("stage"), playground.part("canvas")
    playground.press("X")
    expect(stage).to_have_attribute("data-groups", "0/4")
    expect(stage).to_have_attribute("data-drawn", "6")
    search = playground.part("search")
    search.fill("onnx.If")
    search.press("Enter")
    expect(page).to_have_url(re.compile("[#&]at=y(&|$)"))
    canvas.focus()
    page.keyboard.press("x")
    expect(stage).to_have_attribute("data-groups", "1/4")
    expect(page).not_to_have_url(re.compile("open=-r0"))
    page.keyboard.press("x")
    expect(stage).to_have_attribute("data-groups", "0/4")
    expect(page).to_have_url(re.compile("open=-r0"))
    playground.expect_laid_out()
    page.wait_for_function("() => !document.querySelector('[data-part=stage][data-moving]')")
    x, y = map(float, (stage.get_attribute("data-focus-at") or "").split(","))
    zoom = float(stage.get_attribute("data-zoom") or "")
    canvas.click(position={"x": x, "y": y})
    expect(stage).to_have_attribute("data-groups", "0/4")
    canvas.click(position={"x": x - 34 * zoom, "y": y})
    expect(stage).to_have_attribute("data-groups", "1/4")


def test_what_is_found_in_a_closed_body_is_selected_in_it(
    playground: Playground, page: Page
) -> None:
    playground.press("X")
    search = playground.part("search")
    search.fill("matmul")
    expect(playground.part("found")).to_have_text("1 found, in a closed group")
    search.press("Enter")
    playground.expect_laid_out()
    expect(playground.part("found")).to_have_text("1 found")
    pane = playground.show_pane("node")
    expect(pane).to_contain_text("f32[2,8]")
    expect(pane.locator("dt", has_text="inside").first).to_be_visible()
    expect(pane.locator(".value-list button", has_text="k")).to_be_visible()
    expect(pane).to_contain_text("constant, blob, 256 B")
    expect(pane).to_contain_text("Kernels and buffers")
    pane.locator('dd [data-node="y"]').click()
    expect(pane.locator("h2")).to_have_text("onnx.If")
    pane.locator(f'details [data-node="{PRODUCT}"]').click()
    expect(pane.locator("h2")).to_have_text("matmul")


def test_a_pass_marks_the_nodes_inside_and_its_steps_lead_to_them(
    playground: Playground, page: Page
) -> None:
    rows = page.locator("[data-part=list] .pass-row:not([data-unchanged])")
    rows.filter(has_text="simplify").first.click()
    legend = playground.part("legend")
    expect(legend.locator('[data-mark="removed"]')).to_have_text(re.compile("4 removed"))
    expect(legend.locator('[data-mark="changed"]')).to_have_text(re.compile("2 changed"))
    pane = playground.show_pane("steps")
    pane.locator(".step", has_text="drop_double_negation").click()
    stage = playground.part("stage")
    expect(stage).to_have_attribute("data-boxed", "2")
    expect(page).to_have_url(re.compile("at=y(→|%E2%86%92)else_branch"))


def test_the_table_lists_the_nodes_inside_with_their_body(
    playground: Playground, page: Page
) -> None:
    playground.press("v")
    table = playground.part("table-twin")
    row = table.locator(f'[data-node="{PRODUCT}"]')
    expect(row).to_contain_text("in then_branch of y")
    row.locator("button").click()
    expect(row).to_have_attribute("aria-current", "true")
    assert Inspector(page).in_both_themes(".graph-table") == []
