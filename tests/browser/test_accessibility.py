"""Tests of accessibility: no findings in screens, panes, dialogs, themes and at phone width."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.accessibility import Inspector, each_pane
from tests.browser.conftest import STEP_MS, Watch
from tests.browser.playground import COMPILE_MS, Playground
from tests.browser.traffic import Traffic

DRAWN = "[data-part=stage]"
LAID_OUT = ("data-layout", "ready")


@dataclass(frozen=True)
class View:
    """A window size, and the theme in which a page begins."""

    theme: Literal["light", "dark"]
    width: int
    height: int

    def __str__(self) -> str:
        return f"{self.theme}-{self.width}"


VIEWS = [View("light", 1280, 800), View("dark", 390, 844)]
REPORT = "/report.html"


@pytest.fixture(scope="module")
def link(browser: Browser, server: str) -> str:
    """The fragment of a finished walk with a selected node, which every view opens."""
    page = browser.new_page(base_url=server)
    page.set_default_timeout(STEP_MS)
    playground = Playground(page).walk("digits_mlp")
    playground.press("End")
    playground.part("search").fill("relu")
    playground.part("search").press("Enter")
    expect(page).to_have_url(re.compile("[#&]at="))
    fragment = page.evaluate("location.hash")
    page.close()
    return fragment


@dataclass(frozen=True)
class Taken:
    """The shared forms of a walk: an embedded view and a report."""

    embed: str
    report: bytes

    def offer(self, page: Page) -> None:
        """Serve the report at a URL of the server, for this page only."""
        page.route(f"**{REPORT}", lambda route: route.fulfill(body=self.report))


@pytest.fixture(scope="module")
def taken(browser: Browser, server: str, link: str) -> Taken:
    """An embedded view and a report of a walk with checked numbers."""
    context = browser.new_context(base_url=server)
    ask = context.request
    job = re.search("[#&]job=([^&]+)", link)
    assert job
    check = ask.post(f"/api/v1/jobs/{job[1]}/numerics", data={}).json()["id"]
    ask.get(f"/api/v1/jobs/{check}/events", timeout=COMPILE_MS)  # the stream ends with the job
    made = ask.post("/api/v1/links", data={"fragment": link[1:] + "&pane=numerics&check=x"})
    report = ask.get(f"/api/v1/jobs/{job[1]}/report", params={"fragment": link[1:]})
    found = Taken(f"/embed{made.json()['path']}", report.body())
    context.close()
    return found


@pytest.fixture(params=VIEWS, ids=str)
def viewed(request: pytest.FixtureRequest, browser: Browser, server: str) -> Iterator[Page]:
    """An empty page with one of the views, watched like all pages."""
    view: View = request.param
    context = browser.new_context(
        base_url=server,
        viewport={"width": view.width, "height": view.height},
        color_scheme=view.theme,
        reduced_motion="reduce",
    )
    context.set_default_timeout(STEP_MS)
    page = context.new_page()
    watch = Watch(page, server)
    page.watch = watch  # type: ignore[attr-defined]
    yield page
    context.close()
    watch.finish()


def test_the_start_and_its_dialog(viewed: Page, tmp_path) -> None:
    Playground(viewed).open().pick("digits_cnn")
    inspector = Inspector(viewed)
    assert inspector.in_both_themes() == []
    viewed.keyboard.press("?")
    expect(viewed.locator("#help-dialog")).to_be_visible()
    assert inspector.in_both_themes("#help-dialog") == []
    viewed.keyboard.press("Escape")
    path = tmp_path / "no-model.onnx"
    path.write_bytes(b"this is no model at all")
    Playground(viewed).drop(path)
    expect(viewed.locator("[data-part=problem]")).to_be_visible()
    assert inspector.in_both_themes() == []


def test_the_walk_and_every_pane(viewed: Page, link: str) -> None:
    playground = Playground(viewed).open(link)
    playground.wait_for_walk()
    inspector = Inspector(viewed)
    found = inspector.in_both_themes()
    playground.press("v")
    expect(playground.part("table-twin")).to_be_visible()
    found += inspector.in_both_themes(".walk-graph")
    playground.press("v")
    names = []
    for name in each_pane(playground):
        names.append(name)
        if name == "numerics":  # axe measures a page without running changes
            expect(playground.pane).to_have_attribute("data-checked", "done", timeout=COMPILE_MS)
        at_pane = inspector.in_both_themes(".walk-side")
        found += [f"{name}: {each}" for each in at_pane]
    assert found == []
    assert len(names) == len(set(names)) >= 14
    viewed.get_by_role("button", name="Share this view").click()
    viewed.get_by_role("button", name="Make a short link").click()
    expect(viewed.locator("#share-dialog [data-part=embed]")).to_have_value(re.compile("^<iframe "))
    assert inspector.in_both_themes("#share-dialog") == []


def test_the_embedded_view_and_the_report(viewed: Page, taken: Taken) -> None:
    viewed.goto(taken.embed)
    expect(viewed.locator(DRAWN)).to_have_attribute(*LAID_OUT, timeout=COMPILE_MS)
    inspector = Inspector(viewed)
    found = inspector.in_both_themes()
    switch = viewed.get_by_role("button", name="Numbers")
    if switch.is_visible():
        switch.click()
        found += inspector.in_both_themes()
    expect(viewed.locator("#pane [data-checked=done], #pane[data-checked=done]")).to_have_count(1)
    taken.offer(viewed)
    viewed.goto(REPORT)
    report = Playground(viewed)
    report.wait_for_walk()
    inspector = Inspector(viewed)
    found += inspector.in_both_themes()
    report.show_pane("numerics")
    expect(viewed.locator("#pane")).to_have_attribute("data-checked", "done")
    found += inspector.in_both_themes(".walk-side")
    viewed.get_by_role("button", name="Origin of this report").click()
    found += inspector.in_both_themes("#about-dialog")
    assert found == []


def test_a_link_that_leads_nowhere(viewed: Page) -> None:
    viewed.watch.expect("404")  # type: ignore[attr-defined]
    viewed.goto("/#v=1&screen=walk&job=20260101-00000000000000000000")
    expect(viewed.locator("[data-part=problem]")).to_be_visible()
    inspector = Inspector(viewed)
    assert inspector.in_both_themes() == []


def test_tab_visits_everything_and_is_never_caught(page: Page, link: str, taken: Taken) -> None:
    taken.offer(page)
    traffic = Traffic(page)
    for address in ("/", f"/{link}", taken.embed, REPORT):
        page.goto(address)
        if address == "/":
            expect(page.locator("[data-sample]").first).to_be_visible()
            expect(page.locator(".pipeline-row").first).to_be_visible()
        else:
            expect(page.locator(DRAWN)).to_have_attribute(*LAID_OUT, timeout=COMPILE_MS)
        # The first action of a reader makes the page fetch more, which replaces the rows of passes.
        page.keyboard.press("Shift")
        traffic.settle()  # later content would add focusable elements that were not counted
        Inspector(page)
        expect_tab_to_visit(page, "body")
        if link in address:
            page.get_by_role("button", name="Share this view").press("Enter")
            page.get_by_role("button", name="Make a short link").press("Enter")
            expect(page.locator("#share-dialog [data-copy=short]")).to_be_focused()
            expect_tab_to_visit(page, "#share-dialog")
            page.keyboard.press("Escape")
            expect(page.locator("#share-dialog")).to_be_hidden()


def expect_tab_to_visit(page: Page, selector: str) -> None:
    """Check that Tab visits every focusable element in a part of the page."""
    page.evaluate(
        "window.visited = new Set(); document.activeElement?.blur();"
        "addEventListener('focusin', ({target}) => visited.add(target))"
    )
    root = f"document.querySelector({selector!r})"
    stops = f"focusables({root}).filter((each) => each.tabIndex >= 0)"
    for _ in range(page.evaluate(f"{stops}.length") + 5):
        page.keyboard.press("Tab")
    missed = page.evaluate(
        f"{stops}.filter((each) => !visited.has(each) && each.type !== 'radio')"
        ".map((each) => each.outerHTML.slice(0, 120))"
    )
    assert missed == []
