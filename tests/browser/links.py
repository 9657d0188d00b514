"""Helpers to open shared links like a recipient, and to read the state in a page's URL."""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from urllib.parse import parse_qsl

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Watch
from tests.browser.playground import Playground

JOBS = {"job", "other"}
LINKED = {"check", "measured", "tuning", "bisect", "ran"}


def said(page: Page) -> dict[str, list[str]]:
    """Return the fields of the page's URL; of related jobs only whether they exist."""
    found: dict[str, list[str]] = {}
    for name, text in parse_qsl(page.evaluate("location.hash.slice(1)"), keep_blank_values=True):
        if name not in JOBS:
            found.setdefault(name, []).append("" if name in LINKED else text)
    return found


def written(page: Page, *names: str) -> None:
    """Wait until the URL has these fields."""
    for name in names:
        expect(page).to_have_url(re.compile(rf"[#&]{name}\b"))


def shared(page: Page) -> str:
    """Return the short link of the view."""
    page.get_by_role("button", name="Share this view").click()
    page.get_by_role("button", name="Make a short link").press("Enter")
    field = page.locator("#share-dialog [data-part=short]")
    expect(field).to_have_value(re.compile(r"/s/\w{8}$"))
    return field.input_value()


@contextmanager
def elsewhere(browser: Browser, server: str, link: str, width: int = 1280) -> Generator[Playground]:
    """Open the link in a new browser context, without any data of the first."""
    context = browser.new_context(
        base_url=server, viewport={"width": width, "height": 800}, reduced_motion="reduce"
    )
    page = context.new_page()
    watch = Watch(page, server)
    page.goto(link)
    playground = Playground(page)
    if "/embed/" not in link:
        playground.wait_for_walk()
        expect(page).to_have_url(re.compile("job="))
    yield playground
    context.close()
    watch.finish()
