"""Tests of the schedule editor: marked errors, completion, and runs against the original."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.accessibility import Inspector
from tests.browser.playground import COMPILE_MS, Playground


def test_a_schedule_is_edited_mended_and_run(page: Page) -> None:
    playground = Playground(page).walk("digits_cnn")
    pane = playground.show_pane("schedule")
    pane.locator("[data-part=edit]").click()
    text, says = pane.locator("textarea"), pane.locator("[data-part=says]")
    expect(says).to_contain_text("ready to run", timeout=COMPILE_MS)
    own = text.input_value()
    # Without vectors, one element at a time, and with a loop that does not exist.
    slow = "\n".join(row for row in own.split("\n") if "split" in row)
    text.fill(f"{slow}\nY: unroll(nowhere)")
    mark = pane.locator(".write-mark")
    expect(mark).to_have_text("nowhere", timeout=COMPILE_MS)
    expect(pane.locator("[data-part=run]")).to_be_disabled()
    assert Inspector(page).violations() == []
    problem = pane.locator("[data-part=write-problems] li")
    expect(problem).to_contain_text("there is no loop 'nowhere'")
    problem.get_by_role("button").click()
    for _ in "nowhere)":
        page.keyboard.press("Delete")
    page.keyboard.press("Control+ ")
    option = pane.locator("[data-part=write-list] [role=option]").first
    expect(option).to_contain_text("the name of a loop")
    page.keyboard.press("Enter")
    page.keyboard.press("Backspace")
    text.fill(slow)
    expect(mark).to_have_count(0)
    expect(says).to_contain_text("ready to run", timeout=COMPILE_MS)
    pane.locator("[data-part=run]").click()
    result = pane.locator("[data-part=result]")
    expect(result).to_have_attribute("data-over", "true", timeout=COMPILE_MS)
    expect(result.locator("[data-verdict]")).to_contain_text(
        re.compile(r"\d\.\d\d of the original schedule's time \(\d+\.\d\d – \d+\.\d\d")
    )
    assembly = [
        result.locator(f"[data-part={side}] [data-part=code]") for side in ("left", "right")
    ]
    expect(assembly[0]).to_have_attribute("data-code", "original asm")
    expect(assembly[1]).to_have_attribute("data-code", "edited asm")
    assert assembly[0].inner_text() != assembly[1].inner_text()
    result.get_by_label("Level").select_option("schedule")
    expect(result.locator('[data-kind="removed"]').first).to_contain_text("Y: ")
    assert Inspector(page).violations() == []
    # The link restores the text; undoing restores the schedule of the policy.
    link = page.url
    page.goto("about:blank")
    page.goto(link)
    playground.wait_for_walk()
    expect(text).to_have_value(slow)
    pane.locator("[data-part=undo]").click()
    expect(text).to_have_value(own)
    pane.locator("[data-part=close]").click()
    expect(pane.locator("[data-part=edit]")).to_be_focused()
    expect(page).not_to_have_url(re.compile("edited="))
