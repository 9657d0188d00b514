"""The drawing beyond looking at it: stages as ONNX files."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator
from playwright.sync_api import Page, expect

from app.samples import find_sample
from tests.browser.playground import Playground

NOT_IN_ONNX = """graph g(x: f32[2,3]) {
  h: f32[2,3] = relu(x)
  y: f8e8m0[2,3] = cast(h, to=f8e8m0)
  return y
}
"""


@pytest.fixture
def playground(page: Page) -> Playground:
    return Playground(page).open()


def test_the_shown_stage_is_saved_as_a_model_with_equal_numbers(
    playground: Playground, page: Page, tmp_path: Path
) -> None:
    playground.pick("digits_cnn").compile()
    playground.press("End")
    menu = playground.part("export")
    menu.locator("summary").press("Enter")
    with page.expect_download() as saved:
        page.locator("[data-onnx=functions]").press("Enter")
    assert saved.value.suggested_filename.endswith(".onnx")
    path = tmp_path / "model.onnx"
    saved.value.save_as(path)
    said = playground.part("saving")
    expect(said).to_have_attribute("data-saving", "written")
    expect(said).to_contain_text("The checker of onnx accepts it.")
    model = onnx.load(path)
    assert model.functions
    feeds = {"image": np.random.default_rng(3).random((1, 1, 8, 8), dtype=np.float32)}
    wanted = onnx.load(find_sample("digits_cnn").path)
    got = [
        np.asarray(next(iter(ReferenceEvaluator(each).run(None, feeds))))
        for each in (model, wanted)
    ]
    np.testing.assert_allclose(*got, rtol=1e-4, atol=1e-5)
    said.get_by_text("Close").click()
    expect(said).to_be_hidden()


def test_a_stage_that_onnx_cannot_say_is_refused_with_its_node(
    playground: Playground, page: Page, tmp_path: Path
) -> None:
    path = tmp_path / "model.ir"
    path.write_text(NOT_IN_ONNX)
    playground.drop(path)
    expect(playground.part("compile")).to_be_enabled()
    playground.compile()
    playground.part("export").locator("summary").click()
    page.locator("[data-onnx=operators]").click()
    said = playground.part("saving")
    expect(said).to_have_attribute("data-saving", "refused")
    expect(said).to_contain_text("E-EXPORT-OPERATOR")
    said.get_by_text("Show the node").click()
    expect(page).to_have_url(re.compile("at=y"))
