"""Terms of the glossary: definitions on hover, focus and touch; never in code or names of users."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.accessibility import Inspector, wider_than_screen
from tests.browser.conftest import RETURNING, STEP_MS, Watch
from tests.browser.playground import Playground


@pytest.fixture
def walked(page: Page) -> Playground:
    playground = Playground(page).walk("digits_cnn")
    playground.show_pane("memory")
    return playground


def term(playground: Playground, name: str) -> Locator:
    return playground.pane.locator(f'.term[data-term="{name}"]')


def card(page: Page) -> Locator:
    return page.locator(".term-card")


def test_a_view_marks_the_first_occurrence_of_a_term(walked: Playground) -> None:
    expect(term(walked, "arena")).to_have_count(1)
    walked.show_pane("timing")
    expect(term(walked, "reference")).to_have_count(1)
    expect(term(walked, "arena")).to_have_count(0)
    marked = walked.page.locator(".term").evaluate_all(
        "all => all.filter((each) => each.closest('code, pre, a, h2, h3, summary, label')).length"
    )
    assert marked == 0


def test_hover_shows_a_definition_until_the_pointer_leaves(walked: Playground) -> None:
    page = walked.page
    term(walked, "arena").hover()
    expect(card(page)).to_contain_text("the single allocation that a plan divides among buffers")
    card(page).hover()  # WCAG 1.4.13: the pointer may move onto the definition
    page.wait_for_timeout(400)
    expect(card(page)).to_be_visible()
    page.mouse.move(5, 5)
    expect(card(page)).to_have_count(0)


def test_focus_shows_a_definition_and_escape_hides_it(walked: Playground) -> None:
    page = walked.page
    walked.part("search").fill("conv2")
    walked.part("search").press("Enter")
    expect(page).to_have_url(re.compile("select=conv2"))
    arena = term(walked, "arena")
    arena.focus()
    expect(card(page)).to_be_visible()
    expect(arena).to_have_accessible_description(re.compile("the single allocation"))
    page.keyboard.press("Enter")  # Tab visits the link of a pinned definition only
    page.keyboard.press("Tab")
    expect(card(page).get_by_role("link").first).to_be_focused()
    page.keyboard.press("Escape")
    expect(card(page)).to_have_count(0)
    expect(arena).to_be_focused()
    expect(page).to_have_url(re.compile("select=conv2"))  # Escape did not clear the selection


def test_a_definition_leads_to_its_entry(walked: Playground) -> None:
    page = walked.page
    term(walked, "arena").click()
    with page.context.expect_page() as opened:
        card(page).get_by_role("link", name="More in the glossary").click()
    entry = opened.value.locator("#arena")
    expect(entry).to_be_in_viewport()
    expect(entry).to_contain_text("TFLite, ONNX Runtime: arena")
    opened.value.get_by_role("link", name="Open the playground").click()
    expect(opened.value.locator("[data-sample]").first).to_be_visible()


def test_the_list_of_keys_leads_to_the_glossary(walked: Playground) -> None:
    walked.press("?")
    link = walked.page.get_by_role("link", name="Glossary: the terms of this page")
    expect(link).to_have_attribute("href", "/glossary")


NAMED = """graph pass_kernel(kernel: f32[4]) {
  arena: f32[4] = relu(kernel)
  pass: f32[4] = exp(arena)
  return pass
}
"""


def test_names_of_a_model_are_never_terms(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "kernel.ir"
    path.write_text(NAMED)
    playground = Playground(page).open().drop(path)
    expect(playground.part("compile")).to_be_enabled()
    playground.compile()
    playground.part("tour-again").click()
    text = playground.part("tour-text")
    expect(text).to_contain_text("kernel: f32[4]")
    expect(text.locator(".term").first).to_be_visible()
    assert text.locator("strong .term").count() == 0
    for pane in ("steps", "node", "kernels", "memory", "stack"):
        playground.show_pane(pane)
        page.wait_for_timeout(200)
        marked = page.locator("#pane .mono .term, #pane code .term, #pane .step-nodes .term")
        assert marked.count() == 0


@pytest.fixture(params=["light", "dark"])
def phone(request: pytest.FixtureRequest, browser: Browser, server: str) -> Iterator[Page]:
    """A small window with touch."""
    context = browser.new_context(
        base_url=server,
        viewport={"width": 360, "height": 740},
        has_touch=True,
        color_scheme=request.param,
        reduced_motion="reduce",
    )
    context.add_init_script(RETURNING)
    context.set_default_timeout(STEP_MS)
    page = context.new_page()
    watch = Watch(page, server)
    yield page
    context.close()
    watch.finish()


def test_touch_shows_a_definition_inside_the_window(phone: Page) -> None:
    playground = Playground(phone).walk("digits_cnn")
    playground.show_pane("memory")
    term(playground, "arena").tap()
    expect(card(phone)).to_be_visible()
    box = card(phone).bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 360
    assert Inspector(phone).violations(".walk-side") == []
    phone.touchscreen.tap(200, 30)
    expect(card(phone)).to_have_count(0)


@pytest.mark.parametrize(
    ("address", "entry"),
    [("/glossary#halo", "#halo"), ("/errors#E-LIMIT-RATE", "#E-LIMIT-RATE")],
)
def test_the_lists_of_terms_and_errors_have_no_accessibility_findings(
    phone: Page, address: str, entry: str
) -> None:
    phone.goto(address)
    expect(phone.locator(entry)).to_be_in_viewport()
    assert Inspector(phone).in_both_themes() == []
    assert wider_than_screen(phone) == 0
