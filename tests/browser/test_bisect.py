"""Tests of bisection in the page: rules found, disabled in a comparison, and a reduced model."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.accessibility import Inspector
from tests.browser.playground import COMPILE_MS, Playground


def test_the_rule_that_moves_the_numbers_is_found_left_out_and_made_small(page: Page) -> None:
    playground = Playground(page).walk("digits_cnn")
    playground.press("End")
    pane = playground.show_pane("numerics")
    expect(pane).to_have_attribute("data-checked", "done", timeout=COMPILE_MS)
    pane.locator("[data-part=bisect-start]").click()
    found = pane.locator("[data-part=bisect-found]")
    expect(found).to_have_attribute("data-over", re.compile("-"), timeout=COMPILE_MS)
    expect(found).to_contain_text("1 node instead of 13 shows the same")
    inspector = Inspector(page)
    # A row half below the sticky head of its table would count as a small target.
    page.evaluate(
        "for (const e of document.querySelectorAll('.walk-side, .walk-side *')) e.scrollTop = 0"
    )
    assert inspector.violations(".walk-side") + inspector.unreachable(".walk-side") == []
    with page.expect_download() as download:
        found.get_by_role("link", name="ONNX file").click()
    assert download.value.suggested_filename == "reduced.onnx"

    found.get_by_role("button", name="at norm1.out, in fold_affine").click()
    expect(page).to_have_url(re.compile("pane=steps|step="))
    pane = playground.show_pane("numerics")
    rule = found.get_by_role("checkbox", name="batch_norm_is_affine")
    expect(rule).to_be_checked()
    found.get_by_role("button", name="without the disabled rules").click()
    expect(pane).to_contain_text("Disable a rule first.")
    rule.uncheck()
    found.get_by_role("button", name="without the disabled rules").click()
    expect(page.locator(".compare-measured")).to_be_visible(timeout=COMPILE_MS)
    expect(playground.pane).to_contain_text("B runs without the rewrites of batch_norm_is_affine")

    playground.show_pane("numerics")
    found.get_by_role("button", name="Open in the editor").click()
    expect(playground.part("write-says")).to_contain_text("1 node, ready to compile")
