"""Browser test of moving pictures: playing, steps, keys, paper, small screens and accessibility."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.accessibility import Inspector, wider_than_screen
from tests.browser.reader import RUN_MS, Reader

LESSON = "60-dead-common-trivial"
STEP = f"/learn/{LESSON}#step-4"
"""The step with one picture: common subexpressions."""


def test_a_picture_plays_steps_and_prints(page: Page) -> None:
    page.emulate_media(reduced_motion="no-preference")
    reader = Reader(page, LESSON, keys=False)
    page.goto(STEP)
    player = reader.step.locator(".player")
    text, count = player.locator(".player-text"), player.locator(".player-count")
    slider = player.get_by_role("slider", name="Frame")

    # It plays when it is in sight, and ends at the last frame.
    expect(player).to_have_attribute("data-playing", "", timeout=RUN_MS)
    expect(text).to_have_attribute("aria-live", "off")
    n = int(str(slider.get_attribute("max"))) + 1
    expect(count).to_have_text(f"{n} / {n}")
    expect(player).not_to_have_attribute("data-playing", "")
    last = text.inner_text()

    # Off screen it waits, and in sight it continues.
    player.get_by_role("button", name="Play").click()
    expect(count).to_have_text(f"1 / {n}")
    page.locator(".lesson-steps a[data-step='0']").click()
    page.wait_for_timeout(5_000)  # longer than two frames
    page.locator(".lesson-steps a[data-step='3']").click()
    expect(count).to_have_text(re.compile(r"^[12] / "))
    expect(count).to_have_text(f"3 / {n}")

    # Steps and keys pause; the text and the marks are those of the frame.
    slider.focus()
    page.keyboard.press("Home")
    expect(player).not_to_have_attribute("data-playing", "")
    expect(text).to_contain_text("The graph before")
    expect(player.get_by_role("button", name="Previous frame")).to_be_disabled()
    player.get_by_role("button", name="Next frame").click()
    expect(text).to_have_attribute("aria-live", "polite")
    expect(text).to_contain_text("common_subexpression_elimination matches mean, again")
    expect(slider).to_have_attribute("aria-valuetext", text.inner_text())
    matched = player.locator(".picture-node[data-matched]")
    expect(matched).to_have_count(2)
    page.keyboard.press("ArrowRight")
    expect(text).to_contain_text("mean instead of again")
    expect(matched).to_have_count(0)
    expect(player.locator(".picture-node[data-made]")).to_have_count(1)
    again = player.locator(".picture-node", has_text="again")
    expect(again).to_have_attribute("data-absent", "")

    # Paper shows the last frame without controls.
    page.emulate_media(media="print")
    expect(text).to_have_text(last)
    expect(player.locator(".player-bar")).to_be_hidden()
    page.emulate_media(media="screen", reduced_motion="reduce")
    expect(text).to_contain_text("mean instead of again")

    # With reduced motion it plays only when the reader says so.
    page.reload()
    expect(count).to_have_text(f"1 / {n}", timeout=RUN_MS)
    expect(player).not_to_have_attribute("data-playing", "")
    slider.focus()
    page.keyboard.press("Space")
    expect(player).to_have_attribute("data-playing", "")
    page.keyboard.press("Space")
    expect(player).not_to_have_attribute("data-playing", "")

    inspector = Inspector(page)
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 844})
        assert inspector.in_both_themes(".lesson-step:not([hidden])") == []
        assert wider_than_screen(page) <= 0
        page.emulate_media(color_scheme="light")
