"""Browser tests of every lesson: all steps without errors, at two widths in both themes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import COLORS, DRAWN, Inspector, wider_than_screen
from tests.browser.reader import Reader, lessons

WIDE, NARROW = 1440, 390
"""Widths of the page in pixels. The contrast of colours is inspected at the first width."""
HEIGHT = 900
FRAMED = "100-is-it-still-right"
"""The lesson whose page is inspected at each step. The frame around the steps is the same in all
lessons."""

_SHORT_MEASUREMENTS = """
const send = window.fetch;
window.fetch = (address, init) => send(address, /\\/lessons\\/[^/]+\\/runs/.test(address)
  ? {...init, body: JSON.stringify({seconds: 0.02})} : init);
"""
"""A script that shortens the timing of each experiment, whose result no test here reads."""

_SHOW_ALL = """
() => {
  document.querySelectorAll(".lesson-step").forEach((each) => (each.hidden = false));
  const hidden = [...document.querySelectorAll("[data-part=article], html")]
    .map((each) => each.scrollHeight - each.clientHeight);
  return innerHeight + Math.max(...hidden);
}
"""
"""A script that shows all steps, and returns the height of a window that needs no scrolling."""


@pytest.mark.parametrize("name", lessons())
def test_every_lesson_is_in_order_at_two_widths_in_both_themes(page: Page, name: str) -> None:
    reader, inspector = opened(page, name)
    problems: list[str] = []
    for width in (WIDE, NARROW):
        page.set_viewport_size({"width": width, "height": HEIGHT})
        found = list(at_each_step(reader, inspector))
        show_all(page, width)
        found += inspector.violations(without="" if width == WIDE else COLORS)
        if width == WIDE:
            found += in_other_theme(reader, inspector)
        problems += [f"{width} px, {each}" for each in found]
    assert not problems, "\n".join(dict.fromkeys(problems))


def test_the_frame_around_the_steps_is_in_order_at_each_step(page: Page) -> None:
    reader, inspector = opened(page, FRAMED)
    problems: list[str] = []
    for width in (WIDE, NARROW):
        page.set_viewport_size({"width": width, "height": HEIGHT})
        for step in steps(reader):
            if width == WIDE:
                found = inspector.in_both_themes()
            else:
                found = inspector.violations(without=COLORS)
            problems += [f"{width} px, step {step}: {each}" for each in found]
    assert not problems, "\n".join(dict.fromkeys(problems))


def opened(page: Page, name: str) -> tuple[Reader, Inspector]:
    """Open a lesson, and wait for the results of all blocks, none of which may fail."""
    page.add_init_script(_SHORT_MEASUREMENTS)
    reader = Reader(page, name, keys=False)
    reader.open()
    expect(page.locator(".problem")).to_have_count(0)
    expect(page.locator('[data-figure][data-state="absent"]')).to_have_count(0)
    return reader, Inspector(page)


def steps(reader: Reader) -> Iterator[int]:
    """Show each step of a lesson, and yield its number."""
    for step in range(1, reader.n_steps() + 1):
        reader.page.goto(f"/learn/{reader.name}#step-{step}")
        expect(reader.step).to_have_attribute("data-step", str(step - 1))
        yield step


def at_each_step(reader: Reader, inspector: Inspector) -> Iterator[str]:
    """Show each step, and yield what is too wide or what the keyboard does not reach."""
    for step in steps(reader):
        if (wider := wider_than_screen(reader.page)) > 0:
            yield f"step {step}: {wider} px too wide"
        yield from (f"step {step}: {each}" for each in inspector.unreachable("html"))


def show_all(page: Page, width: int) -> None:
    """Show all steps of a lesson at once, for one inspection by axe instead of one for each.

    Nothing is scrolled out of sight, because axe cannot judge the contrast of hidden text.
    """
    page.set_viewport_size({"width": width, "height": page.evaluate(_SHOW_ALL)})
    page.evaluate(DRAWN)


def in_other_theme(reader: Reader, inspector: Inspector) -> Iterator[str]:
    """Switch the theme of a page that shows all steps, and yield what that theme adds.

    If both themes differ only in colours, checks independent of colours do not run again.
    """
    is_same = inspector.switch_theme()
    theme = inspector.theme()
    found = inspector.violations(category=COLORS if is_same else "")
    yield from (f"{theme}: {each}" for each in found)
    reader.page.set_viewport_size({"width": WIDE, "height": HEIGHT})
    yield from (f"{theme}, {each}" for each in at_each_step(reader, inspector))
