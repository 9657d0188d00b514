"""Tests of the editor of answers: typing, messages, keyboard, themes, accessibility."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.accessibility import Inspector
from tests.browser.judging_page import JudgingPage, bundled

CODE = "def run(graph, log):\n    # nothing changes\n    return graph\n"
OPEN = """async (text) => {
  window.runs = 0;
  const root = document.getElementById("editor");
  const options = { label: "Your pass", keys: "Tab indents.", text, onRun: () => window.runs++ };
  window.editor = await window.openEditor(root, options);
  const after = document.createElement("button");
  after.textContent = "Check";
  document.querySelector("main").append(after);
}"""


@pytest.fixture(scope="session")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bundled(tmp_path_factory.mktemp("editor"))


@pytest.fixture
def content(page: Page, scripts: Path) -> Locator:
    JudgingPage(page, scripts).open()
    page.evaluate(OPEN, CODE)
    return page.get_by_role("textbox", name="Your pass")


def text(page: Page) -> str:
    return page.evaluate("window.editor.text()")


def test_typing_indents_and_the_keyboard_can_leave(page: Page, content: Locator) -> None:
    content.focus()
    page.keyboard.press("Control+End")
    page.keyboard.type("if x:\npass\n")
    assert text(page) == CODE + "if x:\n    pass\n"  # `pass` ends the block
    page.keyboard.press("Tab")
    assert text(page).endswith("pass\n    ")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Check")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Control+Enter")
    assert page.evaluate("window.runs") == 1


def test_a_message_stands_under_its_line_until_the_line_changes(
    page: Page, content: Locator
) -> None:
    message = "NameError: name 'grph' is not defined"
    page.evaluate("(message) => window.editor.showMistakes([{ line: 2, message }])", message)
    shown = page.get_by_role("alert")
    expect(shown).to_have_text(message)
    lines = content.locator(".cm-line")
    assert lines.nth(1).bounding_box()["y"] < shown.bounding_box()["y"]  # type: ignore[index]
    assert shown.bounding_box()["y"] < lines.nth(2).bounding_box()["y"]  # type: ignore[index]
    lines.nth(1).click()
    page.keyboard.type("x")
    expect(shown).to_have_count(0)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_editor_has_its_look_under_the_policy_of_the_page(
    page: Page, content: Locator, theme: Literal["light", "dark"]
) -> None:
    page.emulate_media(color_scheme=theme)
    page.evaluate("window.editor.showMistakes([{ line: 1, message: 'expected an indent' }])")
    keyword = content.locator("span", has_text="def").first
    colours = {
        each: where.evaluate("(e) => getComputedStyle(e).color")
        for each, where in (("text", content), ("keyword", keyword))
    }
    assert colours["text"] != colours["keyword"]
    assert "mono" in content.evaluate("(e) => getComputedStyle(e).fontFamily")
    assert Inspector(page).violations("#editor") == []
