"""Tests of selection, keyboard, pipeline editing and failures that require a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import Watch
from tests.browser.playground import Playground

Compiled = Callable[[str], Playground]

_DROP_SEVERAL = """
(names) => {
  const transfer = new DataTransfer();
  const text = "graph g(x: f32[2]) {\\n  y: f32[2] = relu(x)\\n  return y\\n}\\n";
  for (const name of names) transfer.items.add(new File([text], name));
  const options = {dataTransfer: transfer, bubbles: true, cancelable: true};
  document.querySelector('[data-part="drop"]').dispatchEvent(new DragEvent("drop", options));
}
"""

_DROP_LARGE = """
(n_bytes) => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([new Uint8Array(n_bytes)], "large.onnx"));
  const box = document.querySelector('[data-part="drop"]');
  const options = {dataTransfer: transfer, bubbles: true, cancelable: true};
  box.dispatchEvent(new DragEvent("drop", options));
}
"""


def selected_rows(pane: Locator) -> Locator:
    return pane.locator("tbody tr[data-selected]")


def test_a_selected_node_is_marked_in_every_view(page: Page) -> None:
    playground = Playground(page).walk("digits_cnn")
    playground.press("End")
    search = playground.part("search")
    search.fill("conv2")
    search.press("Enter")
    expect(playground.show_pane("node")).to_contain_text("conv2")
    expect(selected_rows(playground.show_pane("kernels"))).to_have_count(1)
    expect(selected_rows(playground.pane)).to_contain_text("conv2")
    expect(selected_rows(playground.show_pane("memory")).first).to_be_visible()
    code = playground.show_pane("llvm")
    expect(code.locator('[data-part="kernel"] option:checked')).to_contain_text("conv")
    playground.press("Escape")
    expect(selected_rows(playground.show_pane("memory"))).to_have_count(0)


def test_a_buffer_that_fills_the_peak_tells_who_takes_over_its_place(
    page: Page,
) -> None:
    playground = Playground(page).walk("digits_cnn")
    pane = playground.show_pane("memory")
    expect(pane.locator("[data-part=fullest]")).to_contain_text("Peak at step ")
    largest = pane.locator("[data-part=culprits] button").first
    largest.click()
    expect(largest).to_have_attribute("data-selected", "")
    expect(selected_rows(pane).first).to_contain_text(largest.inner_text())
    expect(pane.locator("[data-part=says]")).to_contain_text("Its memory is reused by")
    expect(pane.get_by_text("a hole is a part below the extent")).to_be_visible()


def test_the_table_of_kernels_fits_beside_the_graph(page: Page) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    table = Playground(page).walk("digits_transformer").show_pane("kernels")
    expect(table.locator("tbody tr").first).to_be_visible()
    inside = table.locator("[data-part=table]")
    assert inside.evaluate("table => table.scrollWidth <= table.clientWidth")


def test_choosing_a_kernel_selects_the_nodes_it_came_from(page: Page) -> None:
    playground = Playground(page).walk("digits_mlp")
    rows = playground.show_pane("kernels").locator("tbody tr")
    rows.first.locator("button").first.click()
    expect(rows.first).to_have_attribute("data-selected", "")
    expect(playground.page).to_have_url(re.compile(r"[#&]select="))


def test_the_keyboard_alone_compiles_and_walks(playground: Playground, page: Page) -> None:
    first = page.locator("[data-sample]").first
    first.focus()
    page.keyboard.press("ArrowDown")
    chosen = page.locator('[data-sample][aria-checked="true"]')
    expect(chosen).to_be_focused()
    page.keyboard.press("Control+Enter")
    playground.wait_for_walk()
    changed = [stage for stage, did in playground.stages() if did]
    page.keyboard.press("Home")
    playground.expect_stage(0)
    page.keyboard.press("j")
    playground.expect_stage(changed[1])
    page.keyboard.press("k")
    playground.expect_stage(0)
    page.keyboard.press("]")
    expect(page.locator('[role="tab"][data-pane="text"]')).to_have_attribute(
        "aria-selected", "true"
    )
    page.keyboard.press("v")
    expect(playground.part("table-twin")).to_be_visible()


def test_the_list_of_keys_opens_and_closes(playground: Playground, page: Page) -> None:
    page.keyboard.press("?")
    dialog = page.locator("#help-dialog")
    expect(dialog).to_be_visible()
    expect(dialog.locator("tr[data-key=next-pass]")).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).not_to_be_visible()


def test_passes_are_reordered_and_the_text_follows(playground: Playground, watch: Watch) -> None:
    watch.expect("400.*pipelines/check|status of 400")
    playground.pick("digits_mlp")
    rows = playground.part("rows").locator("li")
    names = rows.locator('[data-part="name"]')
    before = names.all_inner_texts()
    rows.nth(1).locator('[data-part="up"]').click()
    expect(names.first).to_have_text(before[1])
    text = playground.part("text").input_value()
    assert text.replace("\n", "").startswith(f"{before[1]},{before[0]}")
    # An illegal option gives an error at once, and the focus stays in the field.
    folding = rows.filter(has=playground.page.get_by_text("fold_constants", exact=True)).first
    folding.locator('[data-part="options"]').click()
    growth = folding.locator("[data-option=max_growth]")
    growth.fill("much")
    growth.press("Tab")
    problem = folding.locator(".pipeline-row-problem")
    expect(problem).to_contain_text("max_growth to be a non-negative number")
    expect(folding.locator("[data-option=max_bytes]")).to_be_focused()
    growth.fill("1.5")
    growth.press("Tab")
    expect(folding.locator(".pipeline-row-problem")).to_have_count(0)
    playground.compile()
    ran = playground.unfold_passes().page.locator(".pass-row .pass-name").all_inner_texts()
    assert ran[2:4] == [before[1], before[0]]


def test_a_file_over_the_limit_is_refused_before_it_is_sent(
    playground: Playground, page: Page
) -> None:
    sent: list[str] = []
    page.on("request", lambda r: sent.append(r.url) if r.method == "POST" else None)
    page.evaluate(_DROP_LARGE, 65 * 2**20)
    expect(playground.part("problem")).to_contain_text("E-UPLOAD-SIZE")
    expect(playground.part("problem")).to_contain_text("64")
    expect(playground.part("problem")).to_contain_text("--upload-limit")
    expect(playground.part("problem")).to_contain_text("compilarium report large.onnx")
    assert not sent


def test_of_several_dropped_files_the_ignored_files_are_named(
    playground: Playground, page: Page
) -> None:
    page.evaluate(_DROP_SEVERAL, ["a.onnx", "b.onnx"])
    expect(playground.part("problem")).to_contain_text("2 files were dropped")
    expect(playground.part("problem")).to_contain_text("a.onnx, b.onnx")
    page.evaluate(_DROP_SEVERAL, ["own.ir", "weights.data"])
    expect(playground.part("file-name")).to_have_text("own.ir")
    expect(playground.part("problem")).to_contain_text("own.ir is used; ignored: weights.data")
    expect(playground.part("problem")).to_contain_text("external data")
    expect(playground.part("compile")).to_be_enabled()


def test_the_start_screen_leads_back_to_the_result(playground: Playground, page: Page) -> None:
    back = playground.part("return")
    expect(back).to_be_hidden()
    playground.pick("digits_mlp").compile()
    playground.show_pane("memory")
    sent: list[str] = []
    page.on("request", lambda r: sent.append(r.url) if r.method == "POST" else None)
    playground.part("change").click()
    playground.pick("digits_cnn")
    playground.part("precision").select_option("fast")
    back.click()
    playground.wait_for_walk()
    expect(playground.part("place")).to_contain_text("Digits, MLP")
    expect(page.locator("#pane")).to_have_attribute("data-pane", "memory")
    expect(page).to_have_url(re.compile("model=sample:digits_mlp"))
    expect(page).not_to_have_url(re.compile("precision=fast"))
    assert not any(url.endswith("/jobs") for url in sent)
    # The browser's own button leads back, too.
    playground.part("change").click()
    expect(back).to_be_visible()
    page.go_back()
    playground.wait_for_walk()
    expect(playground.part("place")).to_contain_text("Digits, MLP")


def test_open_sizes_can_be_given(playground: Playground) -> None:
    playground.pick("digits_cnn")
    field = playground.part("shape-fields").locator("input").first
    field.fill("3,64")
    field.press("Tab")
    expect(playground.part("shape-fields")).to_contain_text("needs 4 sizes, such as 1,1,8,8")
    field.fill("3,1,8,8")
    field.press("Tab")
    expect(playground.part("shape-fields")).not_to_contain_text("needs")
    playground.compile()
    # Sizes are inserted before all passes; a later stage shows only the lines around a change.
    playground.press("Home")
    # The stage that inserts the sizes is no pass.
    changed = next(stage for stage, did in playground.stages()[2:] if did)
    playground.show_pane("steps").get_by_role("button", name="the first pass that").click()
    playground.expect_stage(changed)
    expect(playground.show_pane("text").locator(".code")).to_contain_text("[3,1,8,8]")


def test_int8_is_offered_only_for_quantized_models(playground: Playground, tmp_path: Path) -> None:
    option = playground.part("precision").locator("option[value=int8]")
    playground.pick("digits_cnn")
    expect(option).to_be_disabled()
    expect(option).to_have_text("int8 (requires a quantized model)")
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 3]) for n in "xy")
    numbers = [numpy_helper.from_array(np.array(0.5, np.float32), "scale"),
               numpy_helper.from_array(np.array(3, np.uint8), "zero")]  # fmt: skip
    graph = helper.make_graph(nodes, "quantized", [x], [y], numbers)
    path = tmp_path / "quantized.onnx"
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    playground.drop(path)
    expect(option).to_be_enabled()
    expect(option).to_have_text("int8")


@pytest.mark.parametrize("typed", ["abc", "1,1,8", "1,,8,8"])
def test_compile_refuses_sizes_that_do_not_fit_and_keeps_them(
    playground: Playground, page: Page, typed: str
) -> None:
    sent: list[str] = []
    page.on("request", lambda r: sent.append(r.url) if r.method == "POST" else None)
    playground.pick("digits_cnn")
    field = playground.part("shape-fields").locator("input").first
    field.fill(typed)
    playground.part("compile").click()
    expect(playground.part("problem")).to_contain_text("sizes of image: needs")
    expect(playground.part("problem")).to_contain_text("such as 1,1,8,8")
    expect(field).to_be_focused()
    expect(field).to_have_value(typed)
    expect(field).to_have_attribute("aria-invalid", "true")
    assert not any(url.endswith("/jobs") for url in sent)
    # The link keeps the text, and a correction removes the message.
    expect(page).to_have_url(re.compile("shape="))
    page.reload()
    expect(field).to_have_value(typed)
    expect(field).to_have_attribute("aria-invalid", "true")
    playground.part("compile").click()
    expect(playground.part("problem")).to_be_visible()
    field.fill("1,1,8,8")
    expect(field).to_have_attribute("aria-invalid", "false")
    expect(playground.part("problem")).to_be_hidden()


def test_the_page_can_be_used_in_the_dark_and_remembers_it(
    playground: Playground, page: Page
) -> None:
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    playground.part("theme").click()
    after = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert before != after
    page.reload()
    expect(page.locator("[data-sample]").first).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == after


def test_a_name_from_a_model_is_text_and_never_markup(playground: Playground, tmp_path) -> None:
    import onnx
    from onnx import TensorProto, helper

    name = '<img src=x onerror="window.broken = 1">'
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], [name], name=name)],
        name,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3])],
    )
    path = tmp_path / "markup.onnx"
    onnx.save_model(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path
    )
    playground.drop(path).compile()
    for pane in ("text", "node", "kernels", "memory", "timing", "loops"):
        shown = playground.show_pane(pane)
        if pane == "memory":  # no values are live from the input to the result
            expect(shown).to_contain_text("The arena is empty")
    assert playground.page.evaluate("window.broken") is None
    assert playground.page.locator("img").count() == 0


def test_presets_of_other_compilers_are_called_imitations(playground: Playground) -> None:
    preset = playground.part("preset")
    group = preset.locator("optgroup[label='Imitations of other compilers']")
    expect(group.locator("option[value=xla]")).to_have_text(re.compile("^xla, like XLA"))
    expect(group.locator("option[value=O3]")).to_have_count(0)
    preset.select_option("xla")
    expect(playground.part("preset-words")).to_contain_text("An imitation of XLA")
