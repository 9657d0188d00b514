"""A reader of the course, who does a lesson by pointer or by keyboard, with wrong answers first."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from course.format.lesson import Block
from course.lessons import Folder, LessonFolder
from tests.browser.serving import REPOSITORY

RUN_MS = 240_000
"""Timeout of a job on a busy machine; it only ends a test that hangs."""
_MOST_TABS = 250
_IS_IN_EDITOR = "() => document.activeElement.matches('.answer-editor')"
_IS_FOCUSED = "(element) => element === element.getRootNode().activeElement"


class Reader:
    """Does one lesson. With `keys`, every action is a key."""

    def __init__(self, page: Page, name: str, *, keys: bool) -> None:
        self.page, self.name, self.keys = page, name, keys
        self.folder = LessonFolder(REPOSITORY / "lessons" / name)

    # Actions.

    def press(self, target: Locator) -> None:
        """Press a button or follow a link."""
        if not self.keys:
            target.click()
            return
        self.reach(target)
        self.page.keyboard.press("Enter")

    def reach(self, target: Locator) -> None:
        """Press Tab until an element has the focus."""
        for _ in range(_MOST_TABS):
            if target.evaluate(_IS_FOCUSED):
                return
            if self.page.evaluate(_IS_IN_EDITOR):
                self.page.keyboard.press("Escape")  # Tab indents in an editor, except after Escape
            self.page.keyboard.press("Tab")
        raise AssertionError(f"Tab does not reach {target}")

    def choose(self, form: Locator, choice: int) -> None:
        """Choose an answer of a question."""
        radios = form.locator("input[type=radio]")
        if not self.keys:
            radios.nth(choice).check()
            return
        checked = radios.evaluate_all("all => all.findIndex((each) => each.checked)")
        first = max(checked, 0)
        self.reach(radios.nth(first))
        if checked < 0:
            self.page.keyboard.press("Space")
        for _ in range(abs(choice - first)):
            self.page.keyboard.press("ArrowDown" if choice > first else "ArrowUp")
        expect(radios.nth(choice)).to_be_checked()

    def write(self, area: Locator, text: str) -> None:
        """Replace the content of a field, or of the editor that takes its place for Python."""
        if area.get_attribute("data-language") == "python":
            section = area.locator("xpath=ancestor::section[1]")
            section.scroll_into_view_if_needed()  # the editor loads when its answer is visible
            self.write_code(section.locator(".cm-content"), text)
            return
        if not self.keys:
            area.fill(text)
            return
        self.reach(area)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)

    def write_code(self, editor: Locator, text: str) -> None:
        """Replace the code in an editor; Escape lets Tab leave it."""
        expect(editor).to_be_visible()
        if self.keys:
            self.reach(editor)
        else:
            editor.focus()
        self.page.keyboard.press("Control+a")
        # Text that replaces coloured text would get an inline style, which the page refuses.
        self.page.keyboard.press("Backspace")
        self.page.keyboard.insert_text(text)
        self.page.keyboard.press("Escape")

    # The lesson.

    def open(self) -> None:
        """Open the page, and wait for the results of all blocks."""
        self.page.goto(f"/learn/{self.name}")
        self.wait_for_run()

    def wait_for_run(self) -> None:
        """Wait until all blocks have run."""
        place = self.page.locator('[data-part="run"]')
        expect(place).to_have_attribute("data-state", "done", timeout=RUN_MS)

    @property
    def step(self) -> Locator:
        """The step that is shown."""
        return self.page.locator(".lesson-step:not([hidden])")

    def next(self) -> bool:
        """Go to the next step; return False at the end."""
        button = self.page.locator('[data-part="next"]')
        if button.is_hidden():
            return False
        number = int(self.step.get_attribute("data-step") or 0)
        self.press(button)
        expect(self.step).to_have_attribute("data-step", str(number + 1))
        return True

    def do_step(self) -> None:
        """Do everything that the step asks for."""
        for form in self.step.locator("form.ask").all():
            block = self.folder.lesson.blocks[int(form.get_attribute("data-block") or 0)]
            (self.predict if block.kind == "predict" else self.explain)(form, block)
        for section in self.step.locator("section.exercise").all():
            self.solve(section)

    def predict(self, form: Locator, block: Block) -> None:
        """Make a prediction, whether right or wrong, which uncovers the results."""
        commit = form.locator('[data-part="commit"]')
        feedback = form.locator('[data-part="feedback"]')
        self.press(commit)
        expect(feedback).to_contain_text("first")
        if block.content.choices:
            self.choose(form, 0)
        else:
            self.write(form.locator("input[name=number]"), "1 B")
        self.press(commit)
        expect(form).to_have_attribute("data-verdict", re.compile("right|wrong"))
        expect(form.locator("input").first).to_be_disabled()

    def explain(self, form: Locator, block: Block) -> None:
        """Answer a question, wrongly and then rightly."""
        rights = [answer.right for answer in block.content.answers]
        for choice, verdict in ((rights.index(False), "wrong"), (rights.index(True), "right")):
            self.choose(form, choice)
            self.press(form.locator('[data-part="commit"]'))
            expect(form).to_have_attribute("data-verdict", verdict)
            words = block.content.answers[choice].feedback.replace("`", "")
            expect(form.locator('[data-part="feedback"]')).to_contain_text(words)

    def solve(self, section: Locator) -> None:
        """Hand in a wrong solution, then the solution."""
        folder = self.exercise(section)
        wrong = folder.wrong[0]
        verdict = section.locator('[data-part="verdict"]')
        for text, words in ((wrong.text, re.compile("failed|error")), (folder.solution, "passed")):
            self.write(section.locator("textarea"), text)
            self.press(section.locator('[data-part="check"]'))
            expect(verdict).to_have_attribute("data-verdict", words, timeout=RUN_MS)
            if text == wrong.text:
                expect(verdict).to_contain_text(wrong.expects)
        expect(section).to_have_attribute("data-passed", "")

    def exercise(self, section: Locator) -> Folder:
        """Return the folder of an exercise."""
        return self.folder.exercises[section.get_attribute("data-folder") or ""]

    def n_steps(self) -> int:
        """Return the number of steps."""
        return len(self.folder.lesson.steps)


def lessons() -> list[str]:
    """Return the names of all lessons that ship."""
    return sorted(p.parent.name for p in Path(REPOSITORY / "lessons").glob("*/lesson.md"))
