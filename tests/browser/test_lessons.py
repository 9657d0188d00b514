"""Browser tests of every lesson: all steps without errors, at two widths in both themes."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import COLORS, Inspector, wider_than_screen
from tests.browser.reader import Reader, lessons

WIDE = 1440
"""The width at which the contrast of colours is inspected, in pixels."""


@pytest.mark.parametrize("name", lessons())
def test_every_lesson_is_in_order_at_two_widths_in_both_themes(page: Page, name: str) -> None:
    reader = Reader(page, name, keys=False)
    reader.open()
    expect(page.locator(".problem")).to_have_count(0)
    expect(page.locator('[data-figure][data-state="absent"]')).to_have_count(0)
    inspector = Inspector(page)
    problems: list[str] = []
    for width in (WIDE, 390):
        page.set_viewport_size({"width": width, "height": 900})
        for step in range(1, reader.n_steps() + 1):
            page.goto(f"/learn/{name}#step-{step}")
            expect(reader.step).to_have_attribute("data-step", str(step - 1))
            if (wider := wider_than_screen(page)) > 0:
                problems.append(f"{width} px, step {step}: {wider} px too wide")
            if width == WIDE:
                found = inspector.in_both_themes()
            else:
                found = inspector.violations(without=COLORS) + inspector.unreachable("html")
            problems += [f"{width} px, step {step}: {each}" for each in found]
    assert not problems, "\n".join(dict.fromkeys(problems))
