"""Tests of the pane Targets: instruction counts of all machines, and two listings."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from compiler.targets.target import names
from tests.browser.playground import COMPILE_MS, Playground


def test_two_machines_are_put_side_by_side_and_kept_in_the_link(page: Page) -> None:
    playground = Playground(page).walk("digits_cnn")
    pane = playground.show_pane("targets")
    body = pane.locator("[data-part=body]")
    expect(body).to_have_attribute("data-made", str(len(names())), timeout=COMPILE_MS)
    left, right = pane.locator("[data-part=left]"), pane.locator("[data-part=right]")
    expect(left.locator("[data-part=code]")).to_have_attribute("data-code", "host asm")
    left.get_by_label("Machine on the left").select_option("x86-64-v3")
    expect(left.locator("[data-part=code]")).to_have_attribute("data-code", "x86-64-v3 asm")
    expect(left.locator("[data-part=code]")).to_contain_text("%ymm")
    # A machine selected in the table appears on the right.
    pane.locator("[data-part=table] button", has_text="aarch64-sve256").click()
    expect(right.locator("[data-part=code]")).to_have_attribute("data-code", "aarch64-sve256 asm")
    expect(pane.locator("[data-part=says]")).to_contain_text(
        re.compile(r"x86-64-v3: \d+ instructions in \d+\sB of code")
    )
    # A line of assembly is linked to the LLVM text of the same machine.
    listing = left.get_by_role("listbox")
    listing.locator(".code-line", has_text=re.compile("vmovups|vmaxps")).first.click()
    expect(listing.locator("[data-selected]")).not_to_have_count(0)
    pane.locator("[data-part=level]").select_option("llvm")
    expect(left.locator("[data-part=code]")).to_have_attribute("data-code", "x86-64-v3 llvm")
    expect(left.get_by_role("listbox").locator("[data-selected]")).not_to_have_count(0)
    expect(page).to_have_url(re.compile("level=llvm"))
    link = page.url
    assert "targets=x86-64-v3,aarch64-sve256" in link
    page.goto("about:blank")
    page.goto(link)
    playground.wait_for_walk()
    expect(right.locator("[data-part=code]")).to_have_attribute(
        "data-code", "aarch64-sve256 llvm", timeout=COMPILE_MS
    )
