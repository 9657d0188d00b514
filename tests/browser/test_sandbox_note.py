"""Tests of the note above the page of a server that cannot isolate models."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from sandbox.availability import APPARMOR_FIX
from tests.browser.accessibility import Inspector
from tests.browser.playground import Playground

OBSTACLE = "AppArmor denies user namespaces to bubblewrap"
NOTE = ".sandbox-note"
WIDTHS = (1280, 320)


def answered(page: Page, state: str) -> None:
    """Let the server's answer about its sandbox have this state."""
    found = {"version": 1, "state": state, "obstacle": OBSTACLE, "fix": APPARMOR_FIX}
    page.route("**/api/v1/sandbox", lambda route: route.fulfill(json=found))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    ("state", "words"),
    [("absent", "written models and edited schedules are refused"), ("waived", "that you trust")],
)
def test_the_note_names_the_remedy(page: Page, state: str, words: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    answered(page, state)
    Playground(page).open()
    note = page.locator(NOTE)
    expect(note).to_be_visible()
    expect(note.get_by_role("alert")).to_contain_text(words)
    expect(note).to_contain_text(OBSTACLE)
    expect(note.locator("code")).to_have_text(APPARMOR_FIX)
    shown = [note.locator(f"[data-part={name}]").is_visible() for name in ("absent", "waived")]
    assert shown == [state == "absent", state == "waived"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert not Inspector(page).in_both_themes()


@pytest.mark.parametrize("state", ["complete", "unknown"])
def test_there_is_no_note_without_a_reason(page: Page, state: str) -> None:
    answered(page, state)
    with page.expect_response("**/api/v1/sandbox"):
        Playground(page).open()
    expect(page.locator(NOTE)).to_have_count(0)
