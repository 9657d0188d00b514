"""The tour: five stops over a new compilation, by pointer, by keyboard, and in a small window."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.accessibility import Inspector, wider_than_screen
from tests.browser.conftest import STEP_MS, Watch
from tests.browser.playground import COMPILE_MS, Playground

STOPS = ["text", "steps", "memory", "stack", "numerics"]
"""The pane that each stop opens."""


@pytest.fixture(params=[(1280, 800), (360, 740)], ids=["desktop", "phone"])
def newcomer(request: pytest.FixtureRequest, browser: Browser, server: str) -> Iterator[Page]:
    """A page of a reader who has not seen the tour."""
    width, height = request.param
    context = browser.new_context(
        base_url=server, viewport={"width": width, "height": height}, reduced_motion="reduce"
    )
    context.set_default_timeout(STEP_MS)
    page = context.new_page()
    watch = Watch(page, server)
    yield page
    context.close()
    watch.finish()


def compiled(page: Page, sample: str = "digits_cnn") -> Playground:
    return Playground(page).open().pick(sample).compile()


def expect_stop(playground: Playground, number: int) -> None:
    """Expect a stop with its view: the pane is open and in the window, and the figures are set."""
    page = playground.page
    current = page.locator("[data-stop-number][aria-current=step]")
    expect(current).to_have_attribute("data-stop-number", str(number))
    tab = page.locator(f"#tab-{STOPS[number - 1]}")
    expect(tab).to_have_attribute("aria-selected", "true")
    expect(playground.part("tour-text")).to_contain_text(re.compile(r"\d"))
    expect(playground.part("tour-text")).not_to_contain_text("still being computed")
    expect(page.locator("#pane")).to_be_in_viewport()
    expect(page).to_have_url(re.compile(rf"[#&]tour={number}\b"))


def test_a_newcomer_is_led_through_five_stops_by_pointer(newcomer: Page) -> None:
    playground = compiled(newcomer)
    expect(playground.part("tour-title")).to_contain_text("digits_cnn")
    for number in range(1, len(STOPS) + 1):
        playground.part("tour-next").click()
        expect_stop(playground, number)
        if STOPS[number - 1] == "stack":
            expect(playground.part("tour-text")).to_contain_text("Within a run, ")
    expect(playground.part("tour-text")).to_contain_text(re.compile(r"accuracy is 98\.3\s%"))
    playground.part("tour-next").click()
    expect(playground.part("tour")).to_be_hidden()
    expect(newcomer).not_to_have_url(re.compile("tour="))
    newcomer.reload()
    playground.wait_for_walk()
    expect(playground.part("tour")).to_be_hidden()
    playground.part("tour-again").click()
    expect_stop(playground, 1)


def test_the_tour_needs_no_pointer(newcomer: Page) -> None:
    playground = compiled(newcomer)
    for number in range(1, len(STOPS) + 1):
        playground.press("s")
        expect_stop(playground, number)
    playground.press("S")
    expect_stop(playground, 4)
    playground.part("tour-next").focus()
    newcomer.keyboard.press("ArrowLeft")
    expect_stop(playground, 3)
    newcomer.keyboard.press("Escape")
    expect(playground.part("tour")).to_be_hidden()
    expect(playground.part("main")).to_be_focused()
    playground.press("?")
    newcomer.get_by_role("button", name="Take the tour of this compilation").press("Enter")
    expect_stop(playground, 1)


def test_a_dismissed_invitation_stays_away(newcomer: Page) -> None:
    playground = compiled(newcomer)
    newcomer.get_by_role("button", name="Close the tour").click()
    expect(playground.part("tour")).to_be_hidden()
    compiled(newcomer, "digits_mlp")
    expect(playground.part("tour")).to_be_hidden()


def test_a_link_opens_the_tour_at_its_stop(newcomer: Page, browser: Browser, server: str) -> None:
    playground = compiled(newcomer)
    newcomer.locator("[data-stop-number='3']").click()
    expect_stop(playground, 3)
    context = browser.new_context(base_url=server)
    theirs = Playground(context.new_page()).follow(playground.fragment())
    expect_stop(theirs, 3)
    expect(theirs.part("tour-text")).to_have_text(playground.part("tour-text").inner_text())
    context.close()


def test_the_stops_have_no_accessibility_findings(newcomer: Page) -> None:
    playground = compiled(newcomer)
    inspector = Inspector(newcomer)
    found = inspector.in_both_themes(".tour")
    for number in range(1, len(STOPS) + 1):
        playground.part("tour-next").click()
        expect_stop(playground, number)
        found += inspector.in_both_themes(".tour")
    assert found == []
    assert wider_than_screen(newcomer) == 0


def test_fusion_is_timed_against_the_same_pipeline_without_it(newcomer: Page) -> None:
    playground = compiled(newcomer)
    newcomer.locator("[data-stop-number='2']").click()
    said = playground.part("tour-text")
    expect(said).to_contain_text("is not measured")
    playground.part("tour-compare").click()
    expect(said).to_contain_text("when timed together", timeout=COMPILE_MS)
    expect(playground.part("tour-compare")).to_be_hidden()


UNFUSED = "graph g(x: f32[4]) {\n  y: f32[4] = relu(x)\n  return y\n}\n"


def test_stops_without_a_subject_give_the_reason(newcomer: Page, tmp_path: Path) -> None:
    path = tmp_path / "single.ir"
    path.write_text(UNFUSED)
    playground = Playground(newcomer).open().drop(path)
    expect(playground.part("compile")).to_be_enabled()
    playground.compile()
    newcomer.locator("[data-stop-number='2']").click()
    expect(playground.part("tour")).to_have_attribute("data-absent", "")
    expect(playground.part("tour-text")).to_contain_text("fuse changed nothing")
    newcomer.locator("[data-stop-number='3']").click()
    expect(playground.part("tour-text")).to_contain_text("The arena is empty")
