"""No finding of axe and nothing for pointers alone: screens, panes, dialogs, themes, a phone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.accessibility import Inspector, each_pane
from tests.browser.conftest import STEP_MS, Watch
from tests.browser.playground import Playground


@dataclass(frozen=True)
class View:
    """A window that somebody looks through."""

    theme: Literal["light", "dark"]
    width: int
    height: int

    def __str__(self) -> str:
        return f"{self.theme}-{self.width}"


VIEWS = [View("light", 1280, 800), View("dark", 1280, 800), View("light", 390, 844)]


@pytest.fixture(scope="module")
def link(browser: Browser, server: str) -> str:
    """The fragment of a finished walk with a node selected, that every view opens."""
    page = browser.new_page(base_url=server)
    page.set_default_timeout(STEP_MS)
    playground = Playground(page).open()
    playground.pick("digits_cnn").compile()
    playground.press("End")
    playground.part("search").fill("conv2")
    playground.part("search").press("Enter")
    expect(page).to_have_url(re.compile("[#&]at="))
    fragment = page.evaluate("location.hash")
    page.close()
    return fragment


@pytest.fixture(params=VIEWS, ids=str)
def viewed(request: pytest.FixtureRequest, browser: Browser, server: str) -> Iterator[Page]:
    """An empty page in one of the views, watched as all are."""
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
    assert inspector.violations() + inspector.unreachable() == []
    viewed.keyboard.press("?")
    expect(viewed.locator("#help-dialog")).to_be_visible()
    assert inspector.violations("#help-dialog") + inspector.unreachable("#help-dialog") == []
    viewed.keyboard.press("Escape")
    path = tmp_path / "no-model.onnx"
    path.write_bytes(b"this is no model at all")
    Playground(viewed).drop(path)
    expect(viewed.locator("[data-part=problem]")).to_be_visible()
    assert inspector.violations() == []


def test_the_walk_and_every_pane(viewed: Page, link: str) -> None:
    playground = Playground(viewed).open(link)
    playground.wait_for_walk()
    inspector = Inspector(viewed)
    found = inspector.violations() + inspector.unreachable()
    playground.press("v")
    expect(playground.part("table-twin")).to_be_visible()
    found += inspector.violations(".walk-graph") + inspector.unreachable(".walk-graph")
    playground.press("v")
    names = []
    for name in each_pane(playground):
        names.append(name)
        at_pane = inspector.violations(".walk-side") + inspector.unreachable(".walk-side")
        found += [f"{name}: {each}" for each in at_pane]
    assert found == []
    assert len(names) == len(set(names)) >= 14


def test_a_link_that_leads_nowhere(viewed: Page) -> None:
    viewed.watch.expect("404")  # type: ignore[attr-defined]
    viewed.goto("/#v=1&screen=walk&job=20260101-00000000000000000000")
    expect(viewed.locator("[data-part=problem]")).to_be_visible()
    inspector = Inspector(viewed)
    assert inspector.violations() + inspector.unreachable() == []


def test_tab_visits_everything_and_is_never_caught(page: Page, link: str) -> None:
    for fragment in ("", link):
        playground = Playground(page).open(fragment)
        if fragment:
            playground.wait_for_walk()
        Inspector(page)
        page.evaluate(
            "window.visited = new Set(); document.activeElement?.blur();"
            "addEventListener('focusin', ({target}) => visited.add(target))"
        )
        stops = "focusables(document.body).filter((each) => each.tabIndex >= 0)"
        for _ in range(page.evaluate(f"{stops}.length") + 5):
            page.keyboard.press("Tab")
        missed = page.evaluate(
            f"{stops}.filter((each) => !visited.has(each) && each.type !== 'radio')"
            ".map((each) => each.outerHTML.slice(0, 120))"
        )
        assert missed == []
