"""The requests of a page that have not been answered yet."""

from __future__ import annotations

import time

from playwright.sync_api import Page, Request

from tests.browser.playground import COMPILE_MS

QUIET_FRAMES = 3
"""So long nothing is on its way when a page has what it wants: what comes is drawn in the next."""

_FRAME = "() => new Promise((done) => requestAnimationFrame(() => done()))"


class Traffic:
    """Listens to a page from now on."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.waiting: set[Request] = set()
        page.on("request", lambda request: self.waiting.add(request))
        page.on("requestfinished", lambda request: self.waiting.discard(request))
        page.on("requestfailed", lambda request: self.waiting.discard(request))

    def settle(self) -> None:
        """Until all that was asked for is there, and drawn. Errors: AssertionError if it stays."""
        end_s = time.monotonic() + COMPILE_MS / 1000
        quiet = 0
        while quiet < QUIET_FRAMES:
            self.page.evaluate(_FRAME)
            quiet = 0 if self.waiting else quiet + 1
            assert time.monotonic() < end_s, [each.url for each in self.waiting]
