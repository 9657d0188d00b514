"""Tests of writing a model in the page: marked errors, completion, compilation, and links."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.accessibility import Inspector
from tests.browser.playground import COMPILE_MS, Playground


def test_a_model_is_written_corrected_and_compiled(playground: Playground, page: Page) -> None:
    playground.part("write-examples").get_by_role("button", name="mlp").click()
    text = playground.part("write-text")
    says = playground.part("write-says")
    expect(says).to_contain_text("nodes", timeout=COMPILE_MS)
    expect(playground.part("write-paper")).to_contain_text("scores: f32[N,10]")
    text.fill("def m(x: f32[2,3]):\n    größe = relu(x)\n    return größe + rleu(x)\n")
    mark = playground.page.locator(".write-mark")
    expect(mark).to_have_text("rleu")
    problem = playground.part("write-problems").locator("li")
    expect(problem).to_contain_text("did you mean relu")
    expect(playground.part("says")).to_contain_text("has an error, at 3:20: 'rleu'")
    expect(playground.part("compile")).to_be_disabled()
    assert Inspector(page).violations() == []
    problem.get_by_role("button", name="3:20").click()
    assert text.evaluate("area => area.selectionStart") == text.input_value().index("rleu")
    # The rest of the name comes from the completion list.
    for _ in "rleu":
        page.keyboard.press("Delete")
    page.keyboard.type("sig")
    options = playground.part("write-list").get_by_role("option")
    expect(options.first).to_contain_text("sigmoid(x)")
    page.keyboard.press("Enter")
    expect(text).to_have_value(re.compile(r"größe \+ sigmoid\(\(x\)"))
    page.keyboard.press("Delete")
    expect(mark).to_have_count(0)
    expect(says).to_contain_text("3 nodes")
    playground.compile()
    expect(page.locator("h1")).to_contain_text("your model")
    expect(page).to_have_url(re.compile(r"written=py"))


def test_a_link_brings_the_text_back(page: Page) -> None:
    fragment = "#v=1&model=written&written=py%3Adef+m(x%3A+f32%5B2%5D)%3A%0A++++return+x+%40+y"
    playground = Playground(page).open(fragment)
    expect(playground.part("write-text")).to_have_value("def m(x: f32[2]):\n    return x @ y")
    expect(page.locator(".write-mark")).to_have_text("y", timeout=COMPILE_MS)
    playground.part("write-close").click()
    expect(playground.part("write")).to_be_hidden()
