"""Tests of groups in the drawing: opening and closing, search inside, and state in the URL."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from benchmarks.made import blocks
from tests.browser.playground import Playground, compiled_once
from tests.browser.traffic import Traffic

N_BLOCKS = 75


@pytest.fixture(scope="module")
def link(browser: Browser, server: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A model of equal blocks with more nodes than are drawn initially, compiled once."""
    path = tmp_path_factory.mktemp("models") / "long.onnx"
    path.write_bytes(blocks(N_BLOCKS))
    return compiled_once(browser, server, path)


@pytest.fixture
def playground(page: Page, link: str) -> Playground:
    """The model as imported."""
    playground = Playground(page).follow(link)
    playground.press("Home")
    playground.expect_stage(0)
    return playground


def test_groups_open_and_close_by_pointer_and_key_and_the_link_says_which(
    playground: Playground, page: Page
) -> None:
    stage = playground.part("stage")
    expect(stage).to_have_attribute("data-groups", re.compile(r"^1/"))
    playground.press("X")
    expect(stage).to_have_attribute("data-groups", re.compile(r"^0/"))
    expect(stage).to_have_attribute("data-drawn", "4")  # an input, the blocks, a node, a result
    playground.press("f")
    playground.part("canvas").focus()
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    expect(page.locator("#announce")).to_contain_text(f"block ×{N_BLOCKS}")
    page.keyboard.press("Enter")
    expect(stage).to_have_attribute("data-groups", re.compile(r"^1/"))
    expect(page).not_to_have_url(re.compile("open="))
    page.keyboard.press("x")
    expect(stage).to_have_attribute("data-groups", re.compile(r"^0/"))
    expect(page).to_have_url(re.compile("open=-g0"))
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    playground.wait_for_walk()
    expect(stage).to_have_attribute("data-groups", re.compile(r"^0/"))
    playground.part("canvas").focus()
    for _ in range(2):
        page.keyboard.press("ArrowDown")
    expect(page.locator("#announce")).to_contain_text(f"block ×{N_BLOCKS}")
    Traffic(page).settle()  # the position is that of the frame in which the node is drawn
    playground.expect_laid_out()
    x, y = map(float, (stage.get_attribute("data-focus-at") or "").split(","))
    playground.part("canvas").click(position={"x": x, "y": y})
    expect(stage).to_have_attribute("data-groups", re.compile(r"^1/"))


def test_what_is_found_in_a_closed_group_is_selected_in_it_and_stays_while_walking(
    playground: Playground, page: Page
) -> None:
    search = playground.part("search")
    search.fill("Add_591")
    expect(playground.part("found")).to_have_text("1 found, in a closed group")
    search.press("Enter")
    expect(page).to_have_url(re.compile("select=Add_591.*open=g|open=g.*select=Add_591"))
    playground.expect_laid_out()
    expect(playground.part("found")).to_have_text("1 found")
    stage = playground.part("stage")
    place = stage.get_attribute("data-focus-at") or ""
    for key in ("Shift+ArrowDown", "Shift+ArrowDown", "Shift+ArrowUp"):
        playground.press(key)
        expect(stage).to_have_attribute("data-focus-at", place)
    # After the node was selected and another step taken, no node is pale any more.
    expect(playground.part("found")).to_have_text("")
    # The table has every node, also those in closed groups, in tables of a hundred rows.
    playground.press("v")
    rows = playground.part("table-twin").locator("tbody tr")
    expect(rows).to_have_count(8 * N_BLOCKS + 3)
    expect(rows.and_(page.locator("[aria-current=true]"))).to_contain_text("Add_591")
