"""Tests that short links, embedded views and reports restore a view."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from app.quotas import Quota
from app.samples import samples
from app.store.blobs.folder import FolderBlobs
from app.uploads import UploadStore
from tests.browser.conftest import Watch
from tests.browser.playground import COMPILE_MS, Playground
from tests.browser.serving import served

JOBS = {"job", "other"}


def state_of(page: Page) -> list[tuple[str, str]]:
    """Return the fields of the page's URL, except for the ids of jobs."""
    fragment = page.evaluate("location.hash.slice(1)")
    return sorted(pair for pair in parse_qsl(fragment) if pair[0] not in JOBS)


def make_link(page: Page) -> str:
    """Share the view, and return the short link."""
    page.get_by_role("button", name="Share this view").click()
    page.get_by_role("button", name="Make a short link").click()
    field = page.locator("#share-dialog [data-part=short]")
    expect(field).to_have_value(re.compile(r"/s/\w{8}$"))
    link = field.input_value()
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    return link


def look_closely(playground: Playground) -> None:
    """Set a pass, selection, zoom, pane, colours and steps."""
    page = playground.page
    page.locator(".pass-row .pass-name").get_by_text("fuse", exact=True).click()
    playground.part("color").select_option("bytes")
    page.locator("[data-view=after]").click()
    playground.part("search").fill("conv")
    playground.part("search").press("Enter")
    playground.part("zoom-in").click()
    playground.show_pane("memory")
    expect(page).to_have_url(re.compile("pane=memory"))


def in_a_window(browser: Browser, address: str) -> Page:
    """Open an empty page in a new context, without data of other pages."""
    return browser.new_page(
        base_url=address, viewport={"width": 1280, "height": 800}, reduced_motion="reduce"
    )


@pytest.fixture
def shared_with(
    browser: Browser, server: str, page: Page
) -> Iterator[Page]:  # another user, without state and storage
    made = in_a_window(browser, server)
    watch = Watch(made, server)
    yield made
    made.context.close()
    watch.finish()


def test_a_short_link_restores_the_whole_state(page: Page, shared_with: Page) -> None:
    playground = Playground(page).walk("digits_cnn")
    compare = playground.show_pane("compare")
    compare.locator("[data-part=preset]").select_option("O0")
    compare.locator("[data-part=run]").click()
    expect(compare.locator(".compare-measured")).to_be_visible(timeout=COMPILE_MS)
    look_closely(playground)
    link = make_link(page)
    assert len(link.split("/", 3)[3]) + 1 <= 12
    assert make_link(page) == link
    wanted = state_of(page)
    assert {"model", "stage", "select", "at", "pane", "color", "camera", "view"} <= {
        k for k, _ in wanted
    }

    shared_with.goto(link)
    again = Playground(shared_with)
    again.wait_for_walk()
    expect(shared_with).to_have_url(re.compile(r"/#.*job="))
    assert state_of(shared_with) == wanted
    zooms = [p.locator("[data-part=stage]").get_attribute("data-zoom") for p in (page, shared_with)]
    assert zooms[0] == zooms[1]
    second = again.show_pane("compare").locator(".compare-measured")
    expect(second).to_be_visible(timeout=COMPILE_MS)


def test_a_link_to_an_upload_outlives_jobs_uploads_and_the_server(
    browser: Browser, tmp_path: Path
) -> None:
    model = tmp_path / "mine.onnx"
    shutil.copy(samples()["digits_mlp"].path, model)
    with served(tmp_path) as address:
        page = in_a_window(browser, address)
        playground = Playground(page).open().drop(model)
        expect(playground.part("says")).to_contain_text("mine.onnx")
        playground.compile()
        playground.press("End")
        playground.show_pane("asm")
        path = "/" + make_link(page).split("/", 3)[3]
        wanted = state_of(page)
        page.context.close()
    shutil.rmtree(tmp_path / "data" / "jobs")
    UploadStore(
        FolderBlobs(tmp_path / "data"), limit_bytes=1, limit_s=1.0, quota=Quota(0), pinned_bytes=0
    ).prune()
    with served(tmp_path) as address:
        page = in_a_window(browser, address)
        watch = Watch(page, address)
        page.goto(address + path)
        Playground(page).wait_for_walk()
        expect(page).to_have_url(re.compile(r"/#.*job="))
        assert state_of(page) == wanted
        expect(page.locator("header h1")).to_have_text("mine.onnx")
        page.context.close()
        watch.finish()


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Serve an HTML file as another site, and return its URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://localhost:{server.server_port}/page.html", tmp_path / "page.html"
    server.shutdown()
    server.server_close()
    thread.join()


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def test_a_view_can_be_embedded_by_another_site_and_only_be_read_there(
    page: Page, browser: Browser, server: str, elsewhere: tuple[str, Path]
) -> None:
    playground = Playground(page).walk("digits_cnn")
    look_closely(playground)
    link = make_link(page)
    page.get_by_role("button", name="Share this view").click()
    page.get_by_role("button", name="Make a short link").click()
    field = page.locator("#share-dialog [data-part=embed]")
    expect(field).to_have_value(re.compile("^<iframe "))
    address, file = elsewhere
    small = re.sub(r'width="\d+" height="\d+"', 'width="480" height="320"', field.input_value())
    file.write_text(f'<!doctype html><link rel=icon href="data:,">{small}<iframe src="{server}/">')

    context = browser.new_context(reduced_motion="reduce", viewport={"width": 900, "height": 700})
    outer = context.new_page()
    problems: list[str] = []
    outer.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
    outer.goto(address)
    frame = outer.frame_locator("iframe").first
    expect(frame.locator("[data-part=stage]")).to_have_attribute(
        "data-layout", "ready", timeout=COMPILE_MS
    )
    at = frame.locator("[data-part=embed]")
    stage = page.locator('.pass-row[aria-current="step"]').get_attribute("data-stage")
    expect(at).to_have_attribute("data-stage", stage)
    frame.get_by_label("Previous pass").click()
    expect(at).not_to_have_attribute("data-stage", stage)
    frame.get_by_label("Pass", exact=True).press("End")
    expect(frame.locator("[data-part=pass]")).to_contain_text("choose_algorithms")
    frame.get_by_role("button", name="Memory").click()
    expect(frame.locator("#pane")).to_be_visible()
    expect(frame.locator("[data-part=graph]")).to_be_hidden()
    for name in ("Compile", "Run B", "Change model or passes", "Share this view"):
        expect(frame.get_by_role("button", name=name)).to_have_count(0)
    href = frame.get_by_role("link", name="Open in Compilarium").get_attribute("href") or ""
    assert href.startswith("/#")
    assert "model=sample:digits_cnn" in href
    # The playground forbids framing; no other error may occur.
    refused = [p for p in problems if "frame-ancestors 'none'" in p]
    assert len(refused) == 1
    assert problems == refused
    assert link.startswith(server)
    context.close()


def test_a_report_opens_from_disk_and_asks_nobody(
    page: Page, browser: Browser, tmp_path: Path
) -> None:
    playground = Playground(page).walk("digits_cnn")
    look_closely(playground)
    wanted = dict(state_of(page))
    page.get_by_role("button", name="Share this view").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the report").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert file.name == "digits_cnn.report.html"
    assert file.stat().st_size < 2_000_000

    context = browser.new_context(
        viewport={"width": 1280, "height": 800}, reduced_motion="reduce", offline=True
    )
    saved = context.new_page()
    watch = Watch(saved, file.as_uri())
    saved.goto(file.as_uri())
    report = Playground(saved)
    report.wait_for_walk()
    restored = dict(state_of(saved))
    restored.pop("check", None)  # a report contains earlier checks of the same model
    assert restored == wanted
    for pane in ("steps", "text", "node", "stack", "memory", "kernels", "timing", "asm"):
        report.show_pane(pane)
        expect(report.pane).not_to_be_empty()
    for _ in report.walk_all():
        pass
    saved.get_by_role("button", name="Origin of this report").click()
    about = saved.locator("#about-dialog")
    expect(about).to_contain_text("compilarium compile digits_cnn")
    expect(about).to_contain_text(re.compile("[0-9a-f]{64}"))
    assert saved.locator("[data-pane=compare], [data-group=compare]").count() == 0
    context.close()
    watch.finish()


def test_a_link_of_another_version_says_so_and_opens_all_the_same(page: Page) -> None:
    fragment = "v=1&screen=walk&model=sample:digits_mlp&stage=2"
    answer = page.request.post("/api/v1/links", data={"fragment": fragment}).json()

    def of_an_older_one(route: Route) -> None:
        text = route.fetch().text()
        assert f'"made_with": "{answer["made_with"]}"' in text
        old = f'"made_with": "{answer["made_with"]}"'
        route.fulfill(body=text.replace(old, '"made_with": "0.0.1"'), content_type="text/html")

    page.route(f"**{answer['path']}", of_an_older_one)
    page.goto(answer["path"])
    note = page.locator(".link-note")
    versions = f"made with Compilarium 0.0.1; this is Compilarium {answer['program']}"
    expect(note).to_contain_text(versions)
    Playground(page).wait_for_walk()
    note.get_by_role("button", name="Close").click()
    expect(note).to_have_count(0)


def test_an_unknown_link_says_so_and_leaves_a_page_to_use(page: Page, watch: Watch) -> None:
    watch.expect("404")
    page.goto("/s/abcdefgh")
    expect(page.get_by_role("alert")).to_contain_text("there is no link 'abcdefgh'")
    expect(page.locator("[data-sample]").first).to_be_visible()
