"""Tests of the graph view: colours, saved drawings, and the first graph of a running job."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.playground import COMPILE_MS, Playground
from tests.models import light_model


def test_nodes_are_coloured_by_time_and_a_link_restores_it(page: Page) -> None:
    playground = Playground(page).walk("digits_cnn")
    playground.press("End")
    stage = playground.part("stage")
    playground.press("o")
    expect(stage).to_have_attribute("data-color", "time")
    classes = playground.part("legend").locator("[data-class]")
    expect(classes.first).to_contain_text("≥")
    expect(page).to_have_url(re.compile("color=time"))
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    playground.wait_for_walk()
    expect(playground.part("color")).to_have_value("time")
    expect(classes.first).to_be_visible()
    playground.part("color").select_option("dtype")
    expect(classes.first).to_contain_text("f32")


@pytest.mark.parametrize(
    ("kind", "holds"),
    [
        ("svg", lambda data: data.startswith(b"<svg") and b"conv" in data and b"oklab" not in data),
        ("png", lambda data: data.startswith(b"\x89PNG")),
        ("dot", lambda data: data.startswith(b"digraph") and b"conv" in data),
    ],
)
def test_the_drawing_is_saved(
    page: Page, tmp_path: Path, kind: str, holds: Callable[[bytes], bool]
) -> None:
    playground = Playground(page).walk("digits_cnn")
    playground.part("export").locator("summary").press("Enter")
    with page.expect_download() as saved:
        page.locator(f"[data-export={kind}]").press("Enter")
    path = tmp_path / "file"
    saved.value.save_as(path)
    assert saved.value.suggested_filename.endswith(f".{kind}")
    assert holds(path.read_bytes())


def test_the_menu_of_files_closes_when_something_else_is_pressed(page: Page) -> None:
    playground = Playground(page).walk("digits_mlp")
    menu = playground.part("export")
    menu.locator("summary").click()
    expect(menu).to_have_attribute("open", "")
    playground.part("canvas").first.click(position={"x": 5, "y": 100})
    expect(menu).not_to_have_attribute("open", "")


def test_the_legend_gives_way_to_the_table(page: Page) -> None:
    playground = Playground(page).walk("digits_mlp")
    expect(playground.part("legend")).to_be_visible()
    playground.part("table").first.click()
    expect(playground.part("legend")).to_be_hidden()


def test_the_first_graph_is_there_while_the_job_runs_and_the_job_can_be_stopped(
    playground: Playground, page: Page
) -> None:
    playground.drop(light_model("densenet121"))
    expect(playground.part("compile")).to_be_enabled()
    playground.part("compile").click()
    stage = playground.part("stage")
    expect(stage).to_have_attribute("data-drawn", re.compile("^[1-9]"), timeout=COMPILE_MS)
    halt = playground.part("halt")
    expect(halt).to_be_visible()
    halt.click()
    expect(halt).to_be_hidden()
    expect(playground.part("place")).to_contain_text("stopped before the end")
    expect(stage).to_have_attribute("data-layout", "ready")
