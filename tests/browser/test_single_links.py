"""Tests of single states that a link restores, also if the server has evicted their data."""

from __future__ import annotations

import gzip
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from benchmarks.made import blocks
from tests.browser.conftest import Watch
from tests.browser.links import elsewhere, said, shared, written
from tests.browser.playground import COMPILE_MS, Playground, compiled_once


def test_colours_by_device_come_without_the_pane_that_places(
    page: Page, browser: Browser, server: str
) -> None:
    playground = Playground(page).walk("digits_cnn")
    pane = playground.show_pane("devices")
    pane.locator("[data-part=platform]").select_option("two-sockets")
    expect(pane.locator("[data-part=body]")).to_have_attribute(
        "data-placed", "two-sockets iterated -1", timeout=COMPILE_MS
    )
    playground.part("color").select_option("device")
    legend = playground.part("legend").locator("[data-class]")
    expect(legend.first).to_contain_text("socket0")
    wanted = legend.all_inner_texts()
    playground.show_pane("steps")
    link = shared(page)
    with elsewhere(browser, server, link) as again:
        expect(again.part("legend").locator("[data-class]")).to_have_text(wanted)
        expect(again.part("no-colors")).to_be_hidden()
    with elsewhere(browser, server, link.replace("/s/", "/embed/s/")) as embedded:
        expect(embedded.part("legend").locator("[data-class]")).to_have_text(wanted)


def test_an_edge_and_what_lies_over_a_small_window_come_back(
    page: Page, browser: Browser, server: str
) -> None:
    playground = Playground(page).walk("digits_cnn")
    playground.press("End")
    playground.part("search").fill("conv2")
    playground.part("search").press("Enter")
    playground.part("canvas").focus()
    page.keyboard.press("e")
    page.keyboard.press("Enter")
    expect(playground.pane.locator(".verdicts [aria-current]")).to_have_count(1)
    written(page, "edge")
    page.set_viewport_size({"width": 390, "height": 800})
    page.locator("button[data-over=map]").click()
    written(page, "over")
    address = said(page)
    with elsewhere(browser, server, shared(page), width=390) as again:
        assert said(again.page) == address
        over = again.page.locator("button[data-over=map]")
        expect(over).to_have_attribute("aria-pressed", "true")
        expect(again.pane.locator(".verdicts [aria-current]")).to_have_count(1)
        # The URL is written a moment after a change; nothing else has changed by then.
        again.page.locator("button[data-over=map]").click()
        expect(again.page).not_to_have_url(re.compile("over="))
        assert said(again.page)["camera"] == address["camera"]


def test_rules_that_were_left_out_are_left_out_elsewhere(
    page: Page, browser: Browser, server: str
) -> None:
    rules = "&without=batch_norm_is_affine&without=fuse"
    playground = Playground(page).open(f"#v=1&screen=walk&model=sample:digits_cnn{rules}")
    playground.wait_for_walk()
    with elsewhere(browser, server, shared(page)) as again:
        assert said(again.page)["without"] == ["batch_norm_is_affine", "fuse"]
        again.page.get_by_role("button", name="Share this view").click()
        command = again.page.locator("[data-part=command]")
        expect(command).to_have_value(re.compile("--without batch_norm_is_affine --without fuse"))
        report = again.page.locator("[data-part=report-command]")
        expect(report).to_have_value(re.compile(r"report digits_cnn .* --view 'v=1&.*'$"))


def test_schedules_that_are_gone_are_said_and_done_without(page: Page, watch: Watch) -> None:
    watch.expect("404")
    gone = f"20260101-{'0' * 20}"
    Playground(page).walk(f"digits_mlp&tuned={gone}")
    expect(page.locator(".link-note")).to_contain_text("no longer keeps")
    expect(page).not_to_have_url(re.compile("tuned="))


def test_what_a_job_of_another_version_made_is_not_shown(
    page: Page, watch: Watch, data_folder: Path
) -> None:
    watch.expect("404")
    playground = Playground(page).walk("digits_mlp")
    playground.press("End")
    playground.show_pane("kernels")
    written(page, "pane=kernels", "stage")
    fragment, wanted = page.evaluate("location.hash"), said(page)
    job = re.search("[#&]job=([^&]+)", fragment)
    assert job
    # The same job in the form of an earlier version of the program.
    older = f"20260101-{'f' * 20}"
    folder = data_folder / "jobs" / older
    shutil.copytree(data_folder / "jobs" / job[1], folder)
    with closing(sqlite3.connect(data_folder / "compilarium.db", timeout=30)) as connection:
        connection.row_factory = sqlite3.Row
        row = dict(connection.execute("SELECT * FROM jobs WHERE id = ?", (job[1],)).fetchone())
        row |= {"id": older, "serial": -1, "form": "older"}
        marks = ", ".join("?" * len(row))
        names = ", ".join(row)
        connection.execute(f"INSERT INTO jobs ({names}) VALUES ({marks})", [*row.values()])
        connection.commit()
    empty = gzip.compress(b'{"version": 1, "stages": []}')  # an obsolete form
    (folder / str(row["attempt"]) / "parts" / "result.json.gz").write_bytes(empty)
    page.goto("about:blank")
    page.goto(f"/{fragment.replace(job[1], older)}")
    playground.wait_for_walk()
    expect(page.locator("#pane tbody tr")).not_to_have_count(0)
    assert said(page) == wanted
    assert older not in page.evaluate("location.hash"), "the result comes from another job"


def test_a_step_far_down_comes_with_what_it_explains(
    page: Page, browser: Browser, server: str, tmp_path: Path
) -> None:
    path = tmp_path / "long.onnx"
    path.write_bytes(blocks(30))
    playground = Playground(page).follow(compiled_once(browser, server, path))
    fuse = page.locator("[data-stage]").filter(has=page.get_by_text("fuse", exact=True))
    fuse.click()
    playground.pane.locator("[data-step='120']").click()
    written(page, "step", "select")
    with elsewhere(browser, server, shared(page)) as again:
        step = again.pane.locator("[data-step='120']")
        expect(step).to_have_attribute("aria-expanded", "true")
        expect(again.pane.locator(".step-more")).to_be_in_viewport(ratio=0.95)
