"""The requests of a page that have not been answered yet."""

from __future__ import annotations

import time

from playwright.sync_api import Page, Request

from tests.browser.playground import COMPILE_MS

QUIET_FRAMES = 3
"""Number of frames without requests after which a page is complete: data are drawn in the next
frame."""

_FRAME = "() => new Promise((done) => requestAnimationFrame(() => done()))"


class Traffic:
    """The requests of a page from now on."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.waiting: set[Request] = set()
        page.on("request", lambda request: self.waiting.add(request))
        page.on("requestfinished", lambda request: self.waiting.discard(request))
        page.on("requestfailed", lambda request: self.waiting.discard(request))

    def settle(self) -> None:
        """Wait until all answers have arrived and are drawn. Errors: AssertionError on timeout."""
        end_s = time.monotonic() + COMPILE_MS / 1000
        quiet = 0
        while quiet < QUIET_FRAMES:
            self.page.evaluate(_FRAME)
            quiet = 0 if self.waiting else quiet + 1
            assert time.monotonic() < end_s, [each.url for each in self.waiting]
