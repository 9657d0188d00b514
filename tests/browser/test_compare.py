"""Tests of comparisons: any two stages, any two pipelines, and steps by keyboard."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import Inspector
from tests.browser.playground import COMPILE_MS, Playground


@pytest.fixture
def playground(page: Page) -> Playground:
    return Playground(page).walk("digits_cnn")


def test_two_pipelines_are_run_and_shown_side_by_side(playground: Playground) -> None:
    pane = playground.show_pane("compare")
    pane.locator("[data-part=preset]").select_option("O0")
    pane.locator("[data-part=run]").click()
    measured = pane.locator("[data-section=compare-measured]")
    verdict = measured.locator("[data-verdict]")
    expect(verdict).to_have_attribute(
        "data-verdict", re.compile("slower|same|faster"), timeout=COMPILE_MS
    )
    expect(measured).to_contain_text("99 %")
    expect(measured).to_contain_text("compares the fastest runs of each round")
    launches = pane.locator("[data-section=compare-figures] tr", has_text="launches")
    a, b = launches.locator("td").nth(0), launches.locator("td").nth(1)
    assert int(a.inner_text()) < int(b.inner_text())
    fused = pane.locator("[data-section=compare-structure] tr", has_text="fusion")
    expect(fused.locator("td").nth(1)).to_have_text("0")
    expect(playground.page).to_have_url(re.compile(r"[#&]other="))
    playground.page.reload()
    playground.wait_for_walk()
    expect(verdict).to_be_visible()
    n_nodes = int(a.inner_text())
    pane.get_by_role("button", name="Walk through B").click()
    playground.wait_for_walk()
    expect(a).not_to_have_text(str(n_nodes))
    expect(b).to_have_text(str(n_nodes))


def test_the_code_of_a_pair_of_kernels_is_side_by_side_and_in_the_link(
    playground: Playground, page: Page
) -> None:
    pane = playground.show_pane("compare")
    pane.locator("[data-part=preset]").select_option("O0")
    pane.locator("[data-part=run]").click()
    code = pane.locator("[data-part=code]")
    expect(code).to_have_attribute(
        "data-shown", re.compile(r"^\d+:\d+ schedule$"), timeout=COMPILE_MS
    )
    pairs = pane.locator("[data-part=pairs] tbody tr")
    # Several kernels of B have the nodes of a kernel of A: their times are added, and the further
    # kernels name the kernel of A.
    fused = pairs.filter(has_text=re.compile(r"the same 3; also in B: \d+, \d+")).first
    expect(fused.get_by_title("The sum of the times of 3 kernels")).to_contain_text("Σ")
    alone = pairs.filter(has_text="only in B; part of").first
    # The calls are said beside the times; most kernels of this model are shorter than a call.
    expect(pane.locator("[data-part=calls]")).to_contain_text("contains a separate call")
    expect(pairs.get_by_title("The separate call").first).to_be_visible()
    a = fused.locator("button").nth(0).inner_text().split()[0]
    b = fused.locator("button").nth(1).inner_text().split()[0]
    fused.locator("button").nth(0).press("Enter")
    expect(code).to_have_attribute("data-shown", f"{a}:{b} schedule")
    expect(pane.locator("[data-part=choice]")).to_contain_text("the table adds their times")
    pane.locator("[data-part=level]").select_option("asm")
    expect(code).to_have_attribute("data-shown", f"{a}:{b} asm")
    expect(code.locator("[data-kind=removed]").first).to_be_visible()
    expect(code.locator("[data-kind=added]").first).to_be_visible()
    # The left side is the complete assembly of A.
    pane.get_by_label("whole text").check()
    expect(code.locator("[data-gap]")).to_have_count(0)
    pane.get_by_role("button", name="Split").click()
    lines = code.locator(".split > div").nth(0).locator("[data-old]")
    listing = page.request.get(f"/api/v1/jobs/{_in_link(page, 'job')}/kernels/{a}/asm").json()
    expect(lines).to_have_count(listing["n_lines"])
    assert lines.nth(3).locator(".code-text").text_content() == listing["text"].split("\n")[3]
    expect(page).to_have_url(re.compile(r"[#&]sides=split"))
    page.reload()
    playground.wait_for_walk()
    expect(code).to_have_attribute("data-shown", f"{a}:{b} asm")
    inspector = Inspector(page)
    assert inspector.violations(".walk-side") + inspector.unreachable(".walk-side") == []
    # A kernel without counterpart shows only its own text.
    alone.locator("button").first.click()
    expect(code).to_have_attribute("data-shown", re.compile(r"^:\d+ asm$"))
    expect(pane.locator("[data-part=counts]")).to_contain_text("\u22120")
    # Selected from the other side, the same pair is shown.
    fused.locator("button").nth(0).click()
    pane.get_by_role("button", name="Walk through B").click()
    playground.wait_for_walk()
    expect(code).to_have_attribute("data-shown", f"{b}:{a} asm")


def _in_link(page: Page, key: str) -> str:
    found = re.search(rf"[#&]{key}=([^&]*)", page.url)
    assert found, page.url
    return found[1]


def test_a_pass_switched_off_in_the_second_pipeline_does_not_run(playground: Playground) -> None:
    pane = playground.show_pane("compare")
    pane.locator("[data-part=editor-says]").click()
    fuse = pane.locator(".pipeline-row", has=playground.page.get_by_text("fuse", exact=True))
    fuse.locator("[data-part=on]").press("Space")
    expect(pane.locator("[data-part=editor-says]")).to_contain_text("B runs")
    pane.locator("[data-part=run]").click()
    fused = pane.locator("[data-section=compare-structure] tr", has_text="fusion")
    expect(fused.locator("td").nth(1)).to_have_text("0", timeout=COMPILE_MS)
    assert int(fused.locator("td").nth(0).inner_text()) > 0


def test_one_click_tries_without_a_pass(playground: Playground) -> None:
    page = playground.page
    page.locator(".pass-row", has=page.get_by_text("fuse", exact=True)).click()
    playground.show_pane("steps").get_by_role("button", name="Try without fuse").click()
    pane = playground.pane
    verdict = pane.locator("[data-verdict]")
    # On a busy machine, few blocks may show no difference.
    known = re.compile("slower|same")
    expect(verdict).to_have_attribute("data-verdict", known, timeout=COMPILE_MS)
    expect(verdict).to_contain_text("all launches")
    fused = pane.locator("[data-section=compare-structure] tr", has_text="fusion")
    expect(fused.locator("td").nth(1)).to_have_text("0")
    figures = pane.locator("[data-section=compare-figures] .table-wrap")
    assert figures.evaluate("table => table.scrollWidth <= table.clientWidth")
    # The import is no line of the pipeline.
    playground.press("Home")
    expect(playground.show_pane("steps").locator("[data-part=without]")).to_be_hidden()


def test_the_tour_shows_the_result_of_the_same_experiment(playground: Playground) -> None:
    page = playground.page
    page.locator(".pass-row", has=page.get_by_text("fuse", exact=True)).click()
    name = "Try without fuse"
    playground.show_pane("steps").get_by_role("button", name=name).click()
    verdict = playground.pane.locator("[data-verdict]")
    expect(verdict).to_be_visible(timeout=COMPILE_MS)
    figures = verdict.inner_text()
    address = re.search(r"&other=([^&]+)", page.url)
    assert address
    walked = re.sub(r"&(other|planned|pane|pair)=[^&]*", "", page.url.partition("#")[2])
    playground.follow(f"#{walked}&tour=2")
    again = playground.part("tour-compare")
    expect(again).to_have_text(name)
    again.click()
    expect(verdict).to_be_visible(timeout=COMPILE_MS)
    assert verdict.inner_text() == figures
    assert f"&other={address[1]}" in page.url
    expect(playground.pane.get_by_role("button", name="Measure A and B again")).to_be_visible()


def test_any_two_stages_are_compared_in_drawing_and_text(playground: Playground) -> None:
    playground.press("End")
    against = playground.part("passes").locator("[data-part=base]")
    against.select_option("0")
    expect(playground.part("legend")).to_contain_text(re.compile(r"\d+ removed"))
    expect(playground.show_pane("text").locator("[data-part=counts]")).not_to_have_text(
        "+0 \u22120 lines"
    )
    expect(playground.page).to_have_url(re.compile(r"[#&]base=0"))
    # The last pass changed nothing; the table has the rows of the drawing.
    playground.press("v")
    gone = playground.part("table-twin").locator("tr[data-status=removed]")
    expect(gone.first).to_be_attached()
    playground.press("v")
    against.select_option("-1")
    expect(playground.part("legend")).not_to_contain_text("removed")


def test_passes_are_found_by_name(playground: Playground) -> None:
    playground.press("p")
    expect(playground.part("filter")).to_be_focused()
    playground.page.keyboard.type("fuse")
    names = playground.page.locator("[data-part=list] .pass-row .pass-name")
    expect(names).to_have_text(["fuse", "fuse_data_movement"])
    playground.part("filter").fill("nothing like it")
    expect(playground.page.locator(".passes-none")).to_be_visible()


def test_passes_say_how_many_bytes_they_save(playground: Playground) -> None:
    fuse = playground.page.locator(".pass-row", has=playground.page.get_by_text("fuse", exact=True))
    expect(fuse.locator(".fewer", has_text=re.compile("\u2212.*\\skB"))).to_have_attribute(
        "title", re.compile("bytes of all values")
    )


def test_rewrites_are_walked_by_key(playground: Playground) -> None:
    page = playground.page
    page.locator(".pass-row", has=page.get_by_text("fold_affine", exact=True)).click()
    playground.press(".")
    opened = playground.pane.locator(".step[aria-expanded=true]")
    first = opened.get_attribute("data-step")
    expect(opened).to_have_attribute("data-outcome", "applied")
    expect(playground.part("stage")).not_to_have_attribute("data-boxed", "0")
    playground.press(".")
    expect(opened).not_to_have_attribute("data-step", str(first))
    playground.press(",")
    expect(opened).to_have_attribute("data-step", str(first))


def test_a_link_to_what_is_not_there_compares_as_if_it_named_nothing(
    playground: Playground, watch
) -> None:
    watch.expect("answer 404")
    pane = playground.show_pane("compare")
    expect(playground.page).to_have_url(re.compile("pane=compare"))
    playground.page.evaluate("location.hash += '&base=777&other=nothing'")
    playground.page.reload()
    playground.wait_for_walk()
    expect(pane.locator("[data-part=problem]")).to_contain_text("there is no job")
    against = playground.part("passes").locator("[data-part=base]")
    expect(against).to_have_value("-1")
    expect(playground.show_pane("text").locator("[data-part=base]")).to_have_value("-1")


def test_another_runtime_is_timed_together_with_the_program(playground: Playground) -> None:
    pane = playground.show_pane("compare")
    expect(pane.get_by_text("is not installed on this server").first).to_be_visible()
    pane.get_by_role("button", name="ONNX Runtime").click()
    verdict = pane.locator("[data-peer=onnxruntime]")
    expect(verdict).to_contain_text("ONNX Runtime is", timeout=COMPILE_MS)
    expect(verdict).to_contain_text("99 % confidence interval")
    inspector = Inspector(playground.page)
    assert inspector.violations(".walk-side") + inspector.unreachable(".walk-side") == []
