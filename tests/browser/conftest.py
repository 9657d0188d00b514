"""Fixtures: a real server and a real browser; an error in a page fails the test."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Response, expect

from tests.browser import chromium
from tests.browser.playground import Playground
from tests.browser.serving import served

STEP_MS = 60_000
"""Timeout of one step; it only ends a test that hangs."""


LONG = (
    "test_lessons.py",
    "test_accessibility.py",
    "test_playground.py",
    "test_usability.py",
    "test_whole_state.py",
    "test_read_only.py",
    "test_sharing.py",
    "test_compare.py",
)
"""The files that take longest. They run first, because otherwise one worker runs them last while
the others idle."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _turn(item.path):
            item.add_marker(pytest.mark.browser)
    items.sort(key=lambda item: _turn(item.path))


@cache
def _turn(path: Path) -> int:
    if Path(__file__).parent not in path.parents:
        return 0
    return 1 + (LONG.index(path.name) if path.name in LONG else len(LONG))


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the jobs of the playground that all browser tests share."""
    return tmp_path_factory.mktemp("server") / "data"


@pytest.fixture(scope="session")
def server(data_folder: Path) -> Iterator[str]:
    """The URL of a playground that all browser tests share."""
    with served(data_folder.parent) as address:
        yield address


@pytest.fixture(scope="session")
def browser(server: str) -> Iterator[Browser]:
    """A browser that is closed before the server ends, which answers no request while ending."""
    expect.set_options(timeout=STEP_MS)
    with chromium.launched() as launched:
        yield launched


class Watch:
    """Collects forbidden events of a page: console errors, failed requests, foreign requests."""

    def __init__(self, page: Page, address: str) -> None:
        self.problems: list[str] = []
        self._expected: list[re.Pattern[str]] = []
        self._address = address
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.problems.append(f"uncaught: {error}"))
        page.on("request", self._request)
        page.on("requestfailed", self._failed)
        page.on("response", self._response)

    def expect(self, pattern: str) -> None:
        """Permit problems that match a pattern; at least one must occur."""
        self._expected.append(re.compile(pattern))

    def finish(self) -> None:
        """Raise AssertionError for an unexpected problem, or if an expected problem is missing."""
        for pattern in self._expected:
            assert any(pattern.search(p) for p in self.problems), (
                f"{pattern.pattern} did not happen"
            )
        left = [p for p in self.problems if not any(e.search(p) for e in self._expected)]
        assert not left, "\n".join(left)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"console {message.type}: {message.text} {message.location}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self._address, "data:", "blob:")):
            self.problems.append(f"asked another server: {request.url}")

    def _failed(self, request: Request) -> None:
        # Closing a stream of events, or leaving a request unfinished, is not a failure.
        if request.failure != "net::ERR_ABORTED":
            self.problems.append(f"request failed: {request.url} {request.failure}")

    def _response(self, response: Response) -> None:
        if response.status >= 400:
            self.problems.append(f"answer {response.status}: {response.url}")


RETURNING = "try { localStorage.setItem('compilarium.tour', 'seen') } catch {}"
"""A script that marks the tour as seen; an empty page has no storage."""


@pytest.fixture
def page(browser: Browser, server: str) -> Iterator[Page]:
    """A separate empty page of a reader who has seen the tour; its problems fail the test."""
    context = browser.new_context(
        base_url=server, viewport={"width": 1280, "height": 800}, reduced_motion="reduce"
    )
    context.set_default_timeout(STEP_MS)
    context.add_init_script(RETURNING)
    made = context.new_page()
    watch = Watch(made, server)
    made.watch = watch  # type: ignore[attr-defined]
    yield made
    context.close()
    watch.finish()


@pytest.fixture
def watch(page: Page) -> Watch:
    """The watch of this test's page."""
    return page.watch  # type: ignore[attr-defined]


@pytest.fixture
def playground(page: Page) -> Playground:
    """The page as a new user finds it."""
    return Playground(page).open()
