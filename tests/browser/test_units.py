"""A line of the page never breaks between a number and its unit."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.playground import Playground

PANES = ("kernels", "memory", "timing", "profile")

SPLIT = r"""
() => {
  const found = [];
  const unit = /\d\s(?:[num]?s|[kMGT]?B|[kMGT]?flop(?:\/s)?|%)(?![\w/])/g;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let n = 0;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    for (const match of node.data.matchAll(unit)) {
      const range = document.createRange();
      range.setStart(node, match.index);
      range.setEnd(node, match.index + match[0].length);
      const tops = new Set([...range.getClientRects()].map(({top}) => Math.round(top)));
      if (tops.size) n += 1;
      if (tops.size > 1) found.push(node.data);
    }
  }
  return {n, found};
}
"""
"""Counts the visible numbers with units, and returns the texts that break between them."""


@pytest.mark.parametrize("size", [(1440, 900), (1024, 768), (390, 844)])
def test_no_line_breaks_between_a_number_and_its_unit(page: Page, size: tuple[int, int]) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    playground = Playground(page).walk("digits_cnn")
    for pane in PANES:
        playground.show_pane(pane)
        page.locator("#pane .number, #pane [data-figure]").first.wait_for()
        split = page.evaluate(SPLIT)
        assert split["n"] > 0
        assert split["found"] == [], pane


def test_a_phone_shows_all_columns_of_the_kernels(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    table = Playground(page).walk("digits_cnn").show_pane("kernels").locator("[data-part=table]")
    table.locator("td.number").first.wait_for()
    assert table.evaluate("e => e.scrollWidth - e.clientWidth") == 0
