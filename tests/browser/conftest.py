"""Fixtures: a real server and a real browser; an error in a page fails the test."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Response, expect

from tests.browser import chromium
from tests.browser.playground import Playground
from tests.browser.serving import served

STEP_MS = 60_000
"""How long one step may take: nothing is timed, this only ends a test that hangs."""


LONG = (
    "test_accessibility.py",
    "test_playground.py",
    "test_usability.py",
    "test_whole_state.py",
    "test_read_only.py",
    "test_sharing.py",
    "test_compare.py",
)
"""Files that take longest: they come first, or one worker is left with them while others idle."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)
    items.sort(key=lambda item: _turn(item.path) if here in item.path.parents else 0)


def _turn(path: Path) -> int:
    return 1 + (LONG.index(path.name) if path.name in LONG else len(LONG))


@pytest.fixture(scope="session")
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the playground that all browser tests share keeps its jobs."""
    return tmp_path_factory.mktemp("server") / "data"


@pytest.fixture(scope="session")
def server(data_folder: Path) -> Iterator[str]:
    """The address of a playground that all browser tests share."""
    with served(data_folder.parent) as address:
        yield address


@pytest.fixture(scope="session")
def browser(server: str) -> Iterator[Browser]:
    """A browser that has gone before the server ends: none is answered while it does."""
    expect.set_options(timeout=STEP_MS)
    with chromium.launched() as launched:
        yield launched


class Watch:
    """Collects what a page must not do: errors in its console, failed or foreign requests."""

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
        """Problems that match are what this test is about; at least one must come."""
        self._expected.append(re.compile(pattern))

    def finish(self) -> None:
        """Errors: AssertionError for a problem nobody expected, and for one that did not come."""
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
        # A page that closes a stream of events or leaves a request behind is no failure.
        if request.failure != "net::ERR_ABORTED":
            self.problems.append(f"request failed: {request.url} {request.failure}")

    def _response(self, response: Response) -> None:
        if response.status >= 400:
            self.problems.append(f"answer {response.status}: {response.url}")


@pytest.fixture
def page(browser: Browser, server: str) -> Iterator[Page]:
    """An empty page of its own; whatever goes wrong in it fails the test at its end."""
    context = browser.new_context(
        base_url=server, viewport={"width": 1280, "height": 800}, reduced_motion="reduce"
    )
    context.set_default_timeout(STEP_MS)
    made = context.new_page()
    watch = Watch(made, server)
    made.watch = watch  # type: ignore[attr-defined]
    yield made
    context.close()
    watch.finish()


@pytest.fixture
def watch(page: Page) -> Watch:
    """What the page of this test is being watched for."""
    return page.watch  # type: ignore[attr-defined]


@pytest.fixture
def playground(page: Page) -> Playground:
    """The page as somebody finds it who comes for the first time."""
    return Playground(page).open()
