"""The page as a user handles it; every wait is for something visible in the page."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect

COMPILE_MS = 120_000
"""Timeout of a compilation on a busy machine; it only ends a test that hangs."""

_DROP = """
([name, content]) => {
  const bytes = Uint8Array.from(atob(content), (c) => c.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], name));
  const box = document.querySelector('[data-part="drop"]');
  for (const kind of ["dragover", "drop"]) {
    const event = new DragEvent(kind, {dataTransfer: transfer, bubbles: true, cancelable: true});
    box.dispatchEvent(event);
  }
}
"""


class Playground:
    """The start screen, and the walk through the passes."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def part(self, name: str) -> Locator:
        """Return the element with this `data-part`."""
        return self.page.locator(f'[data-part="{name}"]')

    # The start

    def open(self, fragment: str = "") -> Playground:
        """Load the page, and wait for its list of models."""
        self.page.goto(f"/{fragment}")
        if not fragment:
            expect(self.page.locator("[data-sample]").first).to_be_visible()
        return self

    def pick(self, sample: str) -> Playground:
        """Choose a sample model."""
        card = self.page.locator(f'[data-sample="{sample}"]')
        card.click()
        expect(card).to_have_attribute("aria-checked", "true")
        return self

    def drop(self, path: Path) -> Playground:
        """Drop a file onto the page, as from a file manager."""
        content = base64.b64encode(path.read_bytes()).decode()
        self.page.evaluate(_DROP, [path.name, content])
        return self

    def compile(self) -> Playground:
        """Press Compile, and wait until the result is complete, with all times."""
        self.part("compile").click()
        self.wait_for_walk()
        expect(self.page.locator(".header-busy")).to_have_count(0, timeout=COMPILE_MS)
        return self

    def walk(self, sample: str) -> Playground:
        """Open the walk of a sample by a link, and reuse its compilation if there is one.

        This is for tests that do not depend on the compilation itself.
        """
        return self.follow(f"#v=1&screen=walk&model=sample:{sample}")

    def follow(self, fragment: str) -> Playground:
        """Open the walk that a fragment describes."""
        self.page.goto("about:blank")
        self.open(fragment)
        self.wait_for_walk()
        return self

    def fragment(self) -> str:
        """Return the fragment that restores this walk, including its job."""
        expect(self.page).to_have_url(re.compile(r"[#&]job="))
        return self.page.evaluate("location.hash")

    # The walk

    def wait_for_walk(self) -> None:
        """Wait for the list of passes and a drawn graph, without pending results."""
        expect(self.part("walk")).to_be_visible(timeout=COMPILE_MS)
        expect(self.part("stage")).to_have_attribute("data-layout", "ready", timeout=COMPILE_MS)
        expect(self.page.locator(".header-busy")).to_have_count(0, timeout=COMPILE_MS)

    def unfold_passes(self) -> Playground:
        """List the passes that changed nothing, too."""
        fold = self.page.locator("[data-fold][aria-expanded=false]")
        if fold.count():
            fold.click()
            expect(fold).to_have_count(0)
        return self

    def stages(self) -> list[tuple[int, bool]]:
        """Return the number of every stage, and whether its pass changed the graph."""
        self.unfold_passes()
        rows = self.page.locator("[data-part=list] .pass-row[data-stage]")
        return rows.evaluate_all(
            "rows => rows.map(r => [Number(r.dataset.stage), !('unchanged' in r.dataset)])"
        )

    def expect_stage(self, stage: int) -> None:
        """Wait until this stage is selected and the drawing shows the changes of its pass."""
        current = self.page.locator('.pass-row[aria-current="step"]')
        expect(current).to_have_attribute("data-stage", str(stage))
        if current.get_attribute("data-unchanged") is None:
            expect(self.part("stage")).to_have_attribute("data-stage", str(stage))

    def expect_laid_out(self) -> None:
        """Wait until the node in focus is drawn, inside the groups opened for it."""
        expect(self.part("stage")).to_have_attribute("data-layout", "ready")
        expect(self.part("stage")).to_have_attribute("data-focus-at", re.compile(r"^-?\d"))

    def press(self, key: str) -> None:
        """Press a key while no element of the page has the focus."""
        self.page.evaluate("document.activeElement?.blur()")
        self.page.keyboard.press(key)

    def show_pane(self, name: str) -> Locator:
        """Open a pane by the tab of its group and its own tab, and return it."""
        tab = self.page.locator(f'[role="tab"][data-pane="{name}"]')
        for kind in self.page.locator("[data-group][aria-pressed]").all():
            if tab.count():
                break
            kind.click()
        if tab.get_attribute("aria-selected") != "true":
            tab.click()
        expect(tab).to_have_attribute("aria-selected", "true")
        return self.pane

    @property
    def pane(self) -> Locator:
        """Return the open pane."""
        return self.page.locator("#pane")

    def walk_all(self) -> Iterator[int]:
        """Step through every stage from the first to the last, one key at a time."""
        stages = self.stages()
        self.press("Home")
        self.expect_stage(0)
        yield 0
        for stage, _ in stages[1:]:
            self.press("Shift+ArrowDown")
            self.expect_stage(stage)
            yield stage


def compiled_once(browser: Browser, server: str, path: Path) -> str:
    """Return the link's fragment of a test's model, compiled once for all tests of the model."""
    page = browser.new_page(base_url=server)
    playground = Playground(page).open().drop(path)
    expect(playground.part("says")).to_contain_text(path.name)
    fragment = playground.compile().fragment()
    page.close()
    return fragment
