"""Tests of the pane Tuning: progress of a search, stopping it, and state in the URL."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.playground import COMPILE_MS, Playground


def test_a_search_is_followed_and_stopped_and_keeps_what_it_has(
    playground: Playground, page: Page
) -> None:
    playground.pick("digits_transformer").compile()
    pane = playground.show_pane("tuning")
    pane.locator("[data-part=search]").select_option("random")
    pane.locator("[data-part=budget] option").first.wait_for(state="attached")
    pane.locator("[data-part=start]").click()
    # Candidates appear during the search; then the search is stopped.
    expect(pane.locator(".tuning-right, .tuning-bad")).not_to_have_count(0, timeout=COMPILE_MS)
    # Without delay, because the search may end between the check and the click.
    pane.locator("[data-part=stop]").evaluate("each => each.hidden || each.click()")
    body = pane.locator("[data-part=body]")
    expect(body).to_have_attribute("data-over", re.compile(r"\d"), timeout=COMPILE_MS)
    expect(pane.locator("[data-part=verdict]")).to_contain_text("whole run")
    shown = pane.locator(".tuning-right, .tuning-bad").count()
    assert shown > 0
    pane.locator("summary", has_text="as a table").click()
    expect(pane.locator("[data-part=table] tbody tr")).to_have_count(
        pane.locator("[data-part=course] .tuning-right, [data-part=course] .tuning-bad").count()
    )
    link = page.url
    assert "tuning=" in link
    page.goto("about:blank")
    page.goto(link)
    playground.wait_for_walk()
    expect(body).to_have_attribute("data-over", re.compile(r"\d"), timeout=COMPILE_MS)
