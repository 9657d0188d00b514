"""Tests of measurements: flame chart, repeated timing, and roofline."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.playground import COMPILE_MS, Playground


def test_the_dearest_kernel_is_found_in_the_flame_and_followed_to_its_assembly(page: Page) -> None:
    playground = Playground(page).walk("digits_cnn")
    pane = playground.show_pane("profile")
    canvas = pane.locator("[data-part=canvas]")
    expect(canvas).to_have_attribute("aria-label", re.compile(r"Flame chart of \d+ kernels"))
    canvas.focus()
    page.keyboard.press("n")
    says = pane.locator("[data-part=says]")
    expect(says).to_contain_text(re.compile(r"\(.+ – .+\), .+\s% of the sum of kernels"))
    chosen = pane.locator("[data-part=table] tr[data-selected]")
    expect(chosen).to_have_count(1)
    name = chosen.locator("button").inner_text()
    expect(says).to_contain_text(name)
    # The slowest kernel is first in the table, which has the same numbers.
    shares = pane.locator("[data-part=table] tbody tr")
    expect(shares.first.locator("button")).to_have_text(name)
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(pane.locator("[data-part=path] strong")).to_contain_text("s")
    expect(page).to_have_url(re.compile("within="))
    page.reload()
    playground.wait_for_walk()
    expect(pane.locator("[data-part=path] button")).not_to_have_count(0)
    canvas.focus()
    page.keyboard.press("0")
    expect(page).not_to_have_url(re.compile("within="))
    page.keyboard.press("n")
    assembly = playground.show_pane("asm")
    expect(assembly).to_contain_text(name, timeout=COMPILE_MS)
    expect(assembly).to_contain_text("ret")


def test_a_trace_is_saved_and_has_the_sum_that_is_shown(page: Page) -> None:
    playground = Playground(page).walk("digits_mlp")
    pane = playground.show_pane("profile")
    with page.expect_download() as saving:
        pane.locator("[data-part=trace]").click()
    with open(saving.value.path(), encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    timed = [e for e in events if "rounds" in e.get("args", {})]
    expect(pane.locator("[data-part=table] tbody tr")).to_have_count(len(timed))
    whole = next(e for e in events if e["name"] == "all kernels")
    assert whole["dur"] == pytest.approx(sum(e["dur"] for e in timed))
    shown = pane.locator("[data-figure=kernels_sum] dd").inner_text()
    number, unit = shown.split()[:2]
    assert float(number) * {"us": 1, "ms": 1000}[unit] == pytest.approx(whole["dur"], rel=0.01)


def test_a_run_is_measured_again_and_the_link_brings_the_figures_back(page: Page) -> None:
    playground = Playground(page).walk("digits_mlp")
    pane = playground.show_pane("profile")
    pane.locator("[data-part=seconds]").select_option("10")
    again = pane.locator("[data-part=again]")
    again.click()
    expect(again).to_be_disabled()
    expect(pane.locator("[data-part=measuring-words]")).to_contain_text("…")
    pane.locator("[data-part=measuring-cancel]").click()
    expect(again).to_be_enabled()
    expect(page).not_to_have_url(re.compile("measured="))
    honest = pane.locator("[data-part=honest]")
    expect(honest).to_contain_text("rounds")
    before = honest.inner_text()
    pane.locator("[data-part=seconds]").select_option("0.5")
    again.click()
    expect(page).to_have_url(re.compile("measured="), timeout=COMPILE_MS)
    expect(honest).not_to_have_text(before)
    told = honest.inner_text()
    page.reload()
    playground.wait_for_walk()
    expect(honest).to_have_text(told)


def test_the_roofline_is_walked_with_the_keyboard_and_chosen_from_elsewhere(page: Page) -> None:
    playground = Playground(page).walk("digits_cnn")
    pane = playground.show_pane("roofline")
    canvas = pane.locator("[data-part=canvas]")
    expect(canvas).to_have_attribute("aria-label", re.compile("Roofline plot of"))
    canvas.focus()
    page.keyboard.press("ArrowLeft")
    says = pane.locator("[data-part=says]")
    expect(says).to_contain_text("flop/byte")
    chosen = pane.locator("[data-part=table] tr[data-selected]")
    expect(chosen).to_have_count(1)
    first = chosen.locator("button").inner_text()
    page.keyboard.press("ArrowRight")
    expect(chosen.locator("button")).not_to_have_text(first)
    second = chosen.locator("button").inner_text()
    expect(page).to_have_url(re.compile("kernel="))
    kernels = playground.show_pane("kernels").locator("tbody tr[data-selected]")
    expect(kernels.filter(has_text=second)).to_have_count(1)
    playground.show_pane("roofline")
    expect(says).to_contain_text(second)
    expect(pane.locator("[data-part=ceilings]")).to_contain_text("DRAM")


VIEWS = {
    "fuse": "steps", "layout": "steps", "tune": "tuning", "schedule": "schedule",
    "assembly": "asm", "reference": "stack",
}  # fmt: skip
"""The pane of each action on the result; the other actions lead to the start screen."""


def test_the_cause_of_a_kernels_time_leads_to_the_next_action(page: Page) -> None:
    playground = Playground(page).walk("digits_transformer")
    pane = playground.show_pane("profile")
    found = pane.locator("[data-part=diagnosis]")
    rows = pane.locator("[data-part=table] tbody tr")
    for row in (rows.first, rows.last):
        row.locator("button").click()
        expect(found.locator("h3")).to_contain_text(row.locator("button").inner_text())
        expect(found).to_contain_text("Cause: ")
    next_action = found.locator("[data-action]").first
    kind = next_action.get_attribute("data-action")
    assert kind
    next_action.press("Enter")
    if kind in VIEWS:
        tab = page.locator(f'[role="tab"][data-pane="{VIEWS[kind]}"]')
        expect(tab).to_have_attribute("aria-selected", "true")
    else:
        expect(page.locator("[data-sample]").first).to_be_visible()
