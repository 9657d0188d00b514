"""The view after a compilation: the change that mattered most, and a list of changed passes."""

from __future__ import annotations

import itertools
import re

from playwright.sync_api import Page, expect

from tests.browser.accessibility import Inspector
from tests.browser.playground import Playground


def rows(page: Page) -> list[int]:
    listed = page.locator(".pass-row").evaluate_all("all => all.map((each) => each.dataset.stage)")
    return [int(stage) for stage in listed]


def test_a_new_compilation_opens_at_the_largest_saving(page: Page) -> None:
    playground = Playground(page).open().pick("digits_cnn").compile()
    job = re.search(r"[#&]job=([^&]+)", playground.fragment())
    assert job
    stages = page.request.get(f"/api/v1/jobs/{job[1]}/result").json()["stages"]
    # Bytes are unknown while a size is open, so a pass that only determines sizes saves none.
    held = [(each["value_bytes"], each["constant_bytes"]) for each in stages]
    saved = [
        a_constants - b_constants + (0 if None in (a, b) else a - b)
        for (a, a_constants), (b, b_constants) in itertools.pairwise(held)
    ]
    best = 1 + saved.index(max(saved))
    assert max(saved) > 0
    playground.expect_stage(best)
    playground.press("Home")
    playground.expect_stage(0)
    expect(page).not_to_have_url(re.compile("stage="))
    page.reload()
    playground.wait_for_walk()
    playground.expect_stage(0)  # a link keeps its pass


def test_a_linked_compilation_opens_at_its_pass(page: Page) -> None:
    Playground(page).walk("digits_mlp").expect_stage(0)


def test_passes_without_a_change_are_one_line(page: Page) -> None:
    playground = Playground(page).walk("digits_cnn")
    fold = page.locator("[data-fold]")
    shown = rows(page)
    hidden = re.fullmatch(r"(\d+) passes changed nothing", fold.inner_text())
    assert hidden
    assert Inspector(page).in_both_themes(".walk-passes") == []
    fold.press("Enter")
    expect(fold).to_have_attribute("aria-expanded", "true")
    expect(fold).to_be_focused()
    stages = playground.stages()
    assert len(shown) + int(hidden[1]) == len(stages)
    assert shown == [stage for stage, changed in stages if changed]
    expect(page).to_have_url(re.compile("on=unchanged-passes"))
    page.reload()
    playground.wait_for_walk()
    expect(fold).to_have_attribute("aria-expanded", "true")
    fold.click()
    expect(page.locator(".pass-row")).to_have_count(len(shown))


def test_a_folded_pass_is_listed_while_it_is_shown_or_searched(page: Page) -> None:
    playground = Playground(page).walk("digits_cnn")
    shown = rows(page)
    playground.press("Shift+ArrowDown")
    playground.press("Shift+ArrowDown")
    playground.expect_stage(2)
    assert rows(page) == sorted({*shown, 2})
    playground.part("filter").fill("unroll")
    expect(page.locator(".pass-row .pass-name")).to_have_text(["unroll_loops"])
    expect(page.locator("[data-fold]")).to_have_count(0)


def test_a_step_of_a_graph_pass_shows_its_example_and_its_sum(page: Page) -> None:
    playground = Playground(page).walk("digits_cnn")
    page.locator(".pass-row .pass-name").get_by_text("fuse", exact=True).click()
    pane = playground.show_pane("steps")
    pane.locator("[data-step][data-outcome=applied]").first.click()
    facts = pane.locator(".step-more .facts")
    expect(facts).to_contain_text("8,192 B of traffic = 4,096 written + 4,096 read")
    pane.get_by_text("An example of the rule").click()
    expect(pane.locator(".step-more pre").first).to_contain_text("fusion(x, w, r")
    pane.get_by_text("Near miss: similar, but not rewritten").click()
    expect(pane.locator(".step-more pre").nth(1)).to_contain_text("matmul(a, v)")
    assert Inspector(page).in_both_themes("#pane") == []
