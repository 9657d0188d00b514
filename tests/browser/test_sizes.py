"""Tests of sizes in the page: the sizes of a compilation in the header, and empty tensors."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from playwright.sync_api import Page, expect

from tests.browser.playground import COMPILE_MS, Playground

NOT_NUMBERS = re.compile(r"NaN|Infinity|undefined|\bnull\b")


@pytest.fixture
def detector(tmp_path: Path) -> Path:
    """A convolution of an image whose last axis has the channels, with all sizes open."""
    weight = numpy_helper.from_array(np.ones((4, 3, 5, 5), np.float32), "w")
    nodes = [
        helper.make_node("Transpose", ["image"], ["t"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["t", "w"], ["c"], strides=[2, 2]),
        helper.make_node("Relu", ["c"], ["boxes"]),
    ]
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", "a", "b", "c"])
    boxes = helper.make_tensor_value_info("boxes", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "detector", [image], [boxes], [weight])
    path = tmp_path / "detector.onnx"
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


def test_the_header_shows_the_sizes_and_warns_of_empty_outputs(
    playground: Playground, page: Page, detector: Path
) -> None:
    playground.drop(detector)
    field = playground.part("shape-fields").locator("input")
    expect(field).to_have_attribute("placeholder", "1,224,224,3", timeout=COMPILE_MS)
    playground.compile()
    header = playground.part("place")
    expect(header).to_contain_text("image 1×224×224×3 (assumed)")
    expect(header).not_to_contain_text("no elements")
    playground.part("change").click()
    expect(field).to_be_visible(timeout=COMPILE_MS)
    field.fill("1,4,4,3")
    playground.compile()
    expect(header).to_contain_text("output boxes has no elements")
    expect(header).to_contain_text("image 1×4×4×3")
    expect(header).not_to_contain_text("assumed")
    expect(playground.show_pane("timing")).to_contain_text("for the sizes image 1×4×4×3")


@pytest.mark.parametrize("width", [1440, 1100, 1024, 390])
def test_a_narrow_header_shortens_the_sizes_and_never_their_mark(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    Playground(page).walk("digits_cnn")
    # A long name stands for many inputs.
    page.locator(".header-dims").evaluate(
        "e => { e.textContent = 'image_'.repeat(30) + ' 1×1×8×8' }"
    )
    mark = page.locator(".header-mark")
    expect(mark).to_have_text("(assumed)")
    inside = (
        "e => { const [a, b] = [e, e.closest('.header-place')].map(x => x.getBoundingClientRect());"
        "const isWhole = e.scrollWidth <= e.clientWidth + 1 && a.width > 40;"
        "return isWhole && a.left >= b.left && a.right <= b.right }"
    )
    assert mark.evaluate(inside)
    if width > 1088:  # 68rem: smaller windows wrap the text and show all of it
        whole = page.locator(".header-whole")
        expect(whole).to_be_hidden()
        page.locator(".header-sizes").focus()
        expect(whole).to_be_visible()
        expect(whole).to_have_text("image 1×1×8×8 (assumed)")


def test_every_pane_shows_an_empty_batch_without_undefined_numbers(
    playground: Playground, page: Page
) -> None:
    playground.pick("digits_cnn")
    playground.part("shape-fields").locator("input").fill("0,1,8,8")
    playground.compile()
    for kind in page.locator("[data-group][aria-pressed]").all():
        kind.click()
        names = [tab.get_attribute("data-pane") for tab in page.locator("[role=tab]:visible").all()]
        for name in names:
            pane = playground.show_pane(name or "")
            page.wait_for_timeout(300)  # lets the pane ask for its data
            assert not NOT_NUMBERS.search(pane.inner_text()), name
