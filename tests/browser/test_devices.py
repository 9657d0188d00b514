"""Tests of the chart of devices: selection, keyboard, links to nodes, and state in the URL."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from compiler.place.place import SCHEDULERS
from tests.browser.playground import COMPILE_MS, Playground


def placed(playground: Playground, what: str) -> Locator:
    """Return the pane once it shows this platform, scheduler and prefetch distance."""
    body = playground.pane.locator("[data-part=body]")
    expect(body).to_have_attribute("data-placed", what, timeout=COMPILE_MS)
    expect(body).to_be_visible()
    return body


def test_a_platform_and_a_scheduler_are_chosen_and_compared(page: Page) -> None:
    playground = Playground(page).walk("digits_cnn")
    pane = playground.show_pane("devices")
    body = placed(playground, "gpu iterated -1")
    expect(body.locator("[data-part=rows] button")).to_have_count(len(SCHEDULERS))
    pane.locator("[data-part=platform]").select_option("two-sockets")
    body = placed(playground, "two-sockets iterated -1")
    expect(body.locator("[data-part=use]")).to_contain_text("ram1")
    body.locator("[data-scheduler=min_cut]").click()
    body = placed(playground, "two-sockets min_cut -1")
    expect(body.locator("[data-scheduler=min_cut]")).to_have_attribute("aria-pressed", "true")
    expect(pane.locator("[data-part=scheduler]")).to_have_value("min_cut")
    expect(body.locator("[data-part=words]")).to_contain_text("minimum cut")
    # A searching scheduler starts only when it is selected.
    pane.locator("[data-part=scheduler]").select_option("cp_sat")
    placed(playground, "two-sockets cp_sat -1")


def test_a_chosen_bar_is_chosen_in_every_view(page: Page) -> None:
    playground = Playground(page).walk("digits_cnn")
    pane = playground.show_pane("devices")
    body = placed(playground, "gpu iterated -1")
    canvas = body.locator("[data-part=canvas]")
    expect(canvas).to_have_attribute("aria-label", re.compile("kernels"))
    canvas.focus()
    page.keyboard.press("n")
    page.keyboard.press("ArrowRight")
    expect(body.locator("[data-part=says]")).to_contain_text("On the critical path")
    chosen = pane.locator("[data-part=table] tbody tr[data-selected]")
    expect(chosen).to_have_count(1)
    name = chosen.locator("button").inner_text()
    expect(page).to_have_url(re.compile(r"[#&]select="))
    kernels = playground.show_pane("kernels").locator("tbody tr")
    expect(pane.locator("tbody tr[data-selected]")).to_have_count(1)
    # In reverse: a node selected in another pane is marked in the chart.
    kernels.last.locator("button").first.click()
    expect(kernels.last).to_have_attribute("data-selected", "")
    playground.show_pane("devices")
    placed(playground, "gpu iterated -1")
    expect(chosen).to_have_count(1)
    expect(chosen).not_to_contain_text(name)


def test_the_link_brings_back_the_chart_and_the_part_of_it(page: Page) -> None:
    playground = Playground(page).walk("digits_mlp")
    pane = playground.show_pane("devices")
    placed(playground, "gpu iterated -1")
    pane.locator("[data-part=platform]").select_option("board")
    pane.locator("[data-part=ahead]").select_option("0")
    body = placed(playground, "board iterated 0")
    body.locator("[data-part=closer]").click()
    expect(page).to_have_url(re.compile(r"platform=board.*ahead=0|ahead=0.*platform=board"))
    expect(page).to_have_url(re.compile(r"span=0\.2"))
    page.reload()
    playground.wait_for_walk()
    placed(playground, "board iterated 0")
    expect(pane.locator("[data-part=platform]")).to_have_value("board")
    expect(page).to_have_url(re.compile(r"span=0\.2"))
    pane.locator("[data-part=whole]").click()
    expect(page).not_to_have_url(re.compile("span="))


def test_a_link_to_a_platform_that_is_not_there_says_what_there_is(page: Page, watch) -> None:
    playground = Playground(page).walk("digits_mlp")
    playground.show_pane("devices")
    placed(playground, "gpu iterated -1")
    expect(page).to_have_url(re.compile("pane=devices"))
    watch.expect("answer 400")
    watch.expect("Failed to load resource")
    page.evaluate("location.hash += '&platform=moon'")
    problem = playground.pane.locator("[data-part=problem]")
    expect(problem).to_contain_text("needed one of board")
    playground.pane.locator("[data-part=platform]").select_option("npu")
    placed(playground, "npu iterated -1")
    expect(problem).to_be_hidden()


def test_the_chart_fits_a_phone_and_the_tip_stays_on_it(page: Page) -> None:
    playground = Playground(page).walk("digits_mlp")
    page.set_viewport_size({"width": 390, "height": 844})
    playground.show_pane("devices")
    body = placed(playground, "gpu iterated -1")
    canvas = body.locator("[data-part=canvas]")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    assert 0 <= box["x"] <= 390 - box["width"]
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + 35)
    tip = body.locator("[data-part=tip]")
    expect(tip).to_contain_text("on cpu")
    tip_box = tip.bounding_box()
    assert tip_box is not None
    assert tip_box["x"] <= 390 - tip_box["width"]


def test_memory_names_its_planner_and_tells_of_the_order(page: Page) -> None:
    playground = Playground(page).walk("digits_cnn")
    told = playground.show_pane("memory").locator("[data-part=order]")
    expect(told).to_contain_text("Planned by quick")
    expect(told).to_contain_text("No plan needs less")
    expect(told).to_contain_text("launch order of the passes")
