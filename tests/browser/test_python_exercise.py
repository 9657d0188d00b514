"""Tests of a Python exercise in its lesson: judged in the page, otherwise by the server."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from course.lessons import read_exercise
from tests.browser.conftest import Watch
from tests.browser.serving import REPOSITORY

LESSON, FOLDER = "60-dead-common-trivial", "exercise-2"
LOADING_MS = 300_000
"""Timeout of the first judgement, which loads Python; it only ends a test that hangs."""


@pytest.fixture
def solution() -> str:
    return read_exercise(REPOSITORY / "lessons" / LESSON / FOLDER).solution


@pytest.fixture
def asked(page: Page) -> list[str]:
    """The addresses that the page asks for with POST."""
    found: list[str] = []
    page.on("request", lambda r: found.append(r.url) if r.method == "POST" else None)
    return found


def exercise(page: Page) -> Locator:
    """Open the lesson at the step of its exercise."""
    page.set_default_timeout(LOADING_MS)
    page.goto(f"/learn/{LESSON}")
    found = page.locator(f".exercise[data-folder={FOLDER}]")
    step = found.evaluate("(e) => e.closest('.lesson-step').dataset.step")
    page.locator(f"a[data-step='{step}']").click()
    found.locator("[data-part=answer]").scroll_into_view_if_needed()
    return found


def write(page: Page, root: Locator, code: str) -> None:
    """Replace the answer in the editor.

    The editor itself deletes the selection. Chromium would give text that replaces coloured text an
    inline style, which the policy of the page refuses.
    """
    root.locator(".cm-content").focus()
    page.keyboard.press("Control+A")
    page.keyboard.press("Backspace")
    page.keyboard.insert_text(code)


def check(root: Locator, verdict: str) -> Locator:
    root.get_by_role("button", name="Check the answer").click()
    shown = root.locator("[data-part=verdict]")
    expect(shown).to_have_attribute("data-verdict", verdict, timeout=LOADING_MS)
    return shown


def test_answers_are_judged_in_the_page(page: Page, solution: str, asked: list[str]) -> None:
    root = exercise(page)
    write(page, root, "def run(graph, log):\n    return graph.nothing\n")
    shown = check(root, "error")
    expect(shown).to_contain_text("nothing")
    expect(root.get_by_role("alert")).to_contain_text("AttributeError")
    write(page, root, solution)
    check(root, "passed")
    assert not [url for url in asked if "judgements" in url]


def test_without_python_in_the_page_the_server_judges(
    page: Page, solution: str, asked: list[str]
) -> None:
    page.route(
        "**/static/dist/python/python.json",
        lambda route: route.fulfill(json={"version": 1, "available": False}),
    )
    root = exercise(page)
    write(page, root, solution)
    check(root, "passed")
    assert [url for url in asked if "judgements" in url]


def test_without_the_editor_the_text_area_stays(page: Page, watch: Watch) -> None:
    def refuse(route: Route) -> None:
        route.abort() if "code_mirror" in route.request.url else route.fallback()

    watch.expect("request failed|console error")
    page.route("**/static/dist/chunks/**", refuse)
    failed: list[str] = []
    page.on("requestfailed", lambda request: failed.append(request.url))
    root = exercise(page)
    while not any("code_mirror" in url for url in failed):
        page.wait_for_timeout(50)
    expect(root.get_by_role("textbox")).to_be_editable()
