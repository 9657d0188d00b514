"""Tests of the pane Stack and of fusion verdicts: one selection at every level."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.playground import Playground


@pytest.fixture
def playground(page: Page) -> Playground:
    """The small convolutional network at its last stage, with its second convolution selected."""
    made = Playground(page).walk("digits_cnn")
    made.press("End")
    made.part("search").fill("conv2")
    made.part("search").press("Enter")
    return made


def test_the_stack_shows_the_selection_at_every_level(playground: Playground) -> None:
    pane = playground.show_pane("stack")
    for level, said in {
        "model": "conv2",
        "graph": "relu2.out",
        "kernel": "conv_relu",
        "memory": "relu2.out",
        "time": re.compile(r"\d.* of all kernels"),
    }.items():
        expect(pane.locator(f"[data-level={level}]")).to_contain_text(said)


def test_a_line_of_assembly_lights_up_its_loops_and_its_llvm(playground: Playground) -> None:
    pane = playground.show_pane("stack")
    line = pane.locator("[data-part=asm] .code-line", has_text="fmadd").first
    line.hover()
    lit = pane.locator("[data-part=loops] [data-preview]")
    expect(lit).to_have_count(1)
    expect(lit).to_contain_text("mul(")
    expect(
        pane.locator("[data-part=llvm] [data-preview]", has_text="llvm.fma").first
    ).to_be_attached()
    expect(playground.part("stage")).not_to_have_attribute("data-preview", "0")
    playground.part("says").hover()
    expect(lit).to_have_count(0)


def test_pointing_previews_in_every_list_and_picture(playground: Playground) -> None:
    names = playground.page.locator(".pass-row .pass-name")
    names.get_by_text("fuse", exact=True).click()
    playground.expect_laid_out()
    stage = playground.part("stage")
    for pane, pointed in {
        "kernels": "tbody tr",
        "profile": "[data-part=table] tbody tr",
        "memory": "[data-part=table] tbody tr",
        "steps": ".step",
        "text": ".code-line[data-new]:has-text('fusion(')",
    }.items():
        shown = playground.show_pane(pane)
        shown.locator(pointed).first.hover()
        expect(stage).not_to_have_attribute("data-preview", "0")
        names.first.hover()
        expect(stage).to_have_attribute("data-preview", "0")


def test_a_pinned_line_follows_through_the_panes_and_the_link(playground: Playground) -> None:
    pane = playground.show_pane("stack")
    pane.locator("[data-part=llvm] .code-line", has_text="llvm.fma").first.click()
    expect(playground.page).to_have_url(re.compile(r"[#&]line=\d+:\d+"))
    for name in ("loops", "llvm", "asm"):
        selected = playground.show_pane(name).locator(".code-line[data-selected]")
        expect(selected.first).to_be_visible()
    expect(selected.filter(has_text="fmadd").first).to_be_attached()
    expect(playground.page).to_have_url(re.compile("[#&]pane=asm"))
    playground.page.reload()
    playground.wait_for_walk()
    expect(selected.first).to_be_visible()
    playground.press("Escape")
    expect(selected).to_have_count(0)


def test_lines_are_walked_and_pinned_with_the_keyboard(playground: Playground) -> None:
    pane = playground.show_pane("stack")
    loops = pane.locator("[data-part=loops] [role=listbox]")
    loops.focus()
    wanted = loops.locator(".code-line", has_text="mul(").first.locator(".code-number").inner_text()
    for _ in range(int(wanted)):
        playground.page.keyboard.press("ArrowDown")
    expect(loops.locator("[data-cursor] .code-number")).to_have_text(wanted)
    playground.page.keyboard.press("Enter")
    expect(loops.locator("[aria-selected=true] .code-number")).to_have_text(wanted)
    expect(pane.locator("[data-part=llvm] [aria-selected=true]").first).to_be_attached()


def test_every_edge_of_a_node_says_why_it_is_one_kernel_or_two(playground: Playground) -> None:
    verdicts = playground.show_pane("node").locator("[data-section=verdicts]")
    first = verdicts.locator("[data-verdict=apart]").first
    expect(first).to_contain_text("two kernels")
    expect(first).to_contain_text("would recompute the operand for each tile")
    first.get_by_role("button", name=re.compile("fuse")).click()
    step = playground.pane.locator(".step[aria-expanded=true]")
    expect(step).to_contain_text("would recompute the operand for each tile")
    expect(playground.part("stage")).to_have_attribute("data-boxed", "2")
    expect(playground.page).to_have_url(re.compile(r"[#&]step=\d+:\d+"))
    playground.page.reload()
    playground.wait_for_walk()
    expect(step).to_contain_text("would recompute the operand for each tile")
    step.click()
    expect(playground.part("stage")).to_have_attribute("data-boxed", "0")


def test_at_the_import_neighbours_that_became_one_kernel_say_so(playground: Playground) -> None:
    playground.press("Home")
    verdicts = playground.show_pane("node").locator("[data-section=verdicts]")
    together = verdicts.locator("[data-verdict=together]")
    expect(together).to_contain_text("one kernel")
    together.locator("button[data-node]").click()
    expect(playground.pane.locator("h2")).to_have_text("batch_norm")


def test_beside_a_view_there_are_not_two_kernels(playground: Playground) -> None:
    playground.part("search").fill("flatten")
    playground.part("search").press("Enter")
    verdicts = playground.show_pane("node").locator("[data-verdict=apart]")
    expect(verdicts.first).to_contain_text("a view, no kernel")
    expect(verdicts.filter(has_text="two kernels")).to_have_count(0)


def test_a_kernel_names_the_function_that_it_runs(page: Page) -> None:
    playground = Playground(page)
    playground.follow("#v=1&screen=walk&model=sample:digits_transformer&pane=stack&kernel=17")
    pane = playground.pane
    expect(pane.locator("[data-level=kernel]")).to_contain_text("matmul_add_6")
    expect(pane.locator("[data-level=kernel]")).to_contain_text("runs the function matmul_add_3")
    expect(pane.locator("[data-part=asm]")).to_contain_text("matmul_add_3:")
