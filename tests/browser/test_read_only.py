"""Tests of read-only views, embedded or in a report: no visible control starts a job."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, ViewportSize, expect

from tests.browser.conftest import STEP_MS, Watch
from tests.browser.playground import COMPILE_MS, Playground
from tests.browser.serving import REPOSITORY
from tests.browser.traffic import Traffic

PANES = dict(
    re.findall(
        r'\{ id: "(\w+)", group: "\w+", (mount|works|finds): ',
        (REPOSITORY / "static" / "js" / "panes" / "index.js").read_text(encoding="utf-8"),
    )
)
"""Kind of each pane: it only reads, it needs jobs of the server, or it shows findings of related
jobs."""
READING = [name for name, kind in PANES.items() if kind == "mount"]
WORDS = "".join(
    each.read_text(encoding="utf-8") for each in (REPOSITORY / "templates" / "words").iterdir()
)
FINDING = [name for name, kind in PANES.items() if kind == "finds"]
MOST_PRESSED = 12
_LISTEN = """
() => {
  const root = document.documentElement;
  const everything = {subtree: true, childList: true, attributes: true, characterData: true};
  delete root.dataset.changed;
  const observer = new MutationObserver(() => {
    observer.disconnect();
    root.dataset.changed = "";
  });
  observer.observe(document, everything);
}
"""
WINDOW: ViewportSize = {"width": 1280, "height": 800}


@dataclass(frozen=True)
class Shared:
    """A shared walk: the fragment of its state, and the job."""

    fragment: str
    job: str

    def at(self, pane: str) -> str:
        """Return the same state with another pane open."""
        return re.sub(r"(&pane=\w+)?$", f"&pane={pane}", self.fragment, count=1)


@pytest.fixture(scope="module")
def shared(browser: Browser, server: str) -> Shared:
    """A compiled model at a pass with steps, with a selected node and kernel.

    The related jobs that panes show have finished.
    """
    page = browser.new_page(base_url=server)
    page.set_default_timeout(STEP_MS)
    playground = Playground(page).walk("digits_cnn")
    page.locator(".pass-row .pass-name").get_by_text("fuse", exact=True).click()
    playground.part("search").fill("conv2")
    playground.part("search").press("Enter")
    expect(page).to_have_url(re.compile("[#&]at="))
    fragment = page.evaluate("location.hash.slice(1)")
    job = re.search("[#&]job=([^&]+)", "#" + fragment)
    assert job
    found = {
        "numerics": {},
        "placements": {"platform": "gpu"},
        "targets": {"kernel": 0},
        "tuning": {"budget_seconds": 1},
    }
    api = f"{server}/api/v1/jobs"
    started = [page.request.post(f"{api}/{job[1]}/{k}", data=v).json() for k, v in found.items()]
    for each in started:  # the stream ends with the job
        page.request.get(f"{api}/{each['id']}/events", timeout=COMPILE_MS)
        assert page.request.get(f"{api}/{each['id']}").json()["state"] == "succeeded"
    page.context.close()
    kept = [pair for pair in fragment.split("&") if not pair.startswith(("pane=", "job="))]
    return Shared("&".join(kept), job[1])


@pytest.fixture
def watched(browser: Browser, server: str) -> Iterator[tuple[Page, list[Request]]]:
    """An empty page, and its requests that start jobs."""
    context = browser.new_context(base_url=server, viewport=WINDOW, reduced_motion="reduce")
    context.set_default_timeout(STEP_MS)
    page = context.new_page()
    watch = Watch(page, server)
    asked: list[Request] = []
    page.on("request", lambda r: asked.append(r) if r.method != "GET" else None)
    yield page, asked
    context.close()
    watch.finish()


def expect_all_that_is_shown_to_work(page: Page) -> None:
    """Check that the open pane has content, and that every button in it has an effect."""
    pane = page.locator("#pane")
    expect(pane).not_to_be_empty()
    expect(pane.locator(".pane-empty:visible")).to_have_count(0)
    for link in pane.locator("a:visible").all():
        assert link.get_attribute("href"), link.evaluate("each => each.outerHTML")
    # A click may draw the pane again, so buttons are identified by their texts, not positions.
    names = pane.locator("button:visible:enabled").evaluate_all(
        "all => [...new Set(all.map((each) => each.dataset.part || each.className))]"
    )
    for name in names[:MOST_PRESSED]:
        button = pane.locator(
            f':is(button[data-part="{name}"], button[class="{name}"]):not([aria-pressed=true])'
        )
        if button.count() and button.first.is_visible():
            page.evaluate(_LISTEN)
            button.first.click()
            if button.count() and button.last.is_visible():
                button.last.click()  # the first button may select what is already selected
            expect(page.locator("html"), name).to_have_attribute("data-changed", "")
    expect(page.locator(".problem:visible, dialog:visible")).to_have_count(0)


def test_every_pane_is_declared_one_way_or_the_other() -> None:
    rows = (REPOSITORY / "static" / "js" / "panes" / "index.js").read_text(encoding="utf-8")
    assert len(PANES) == rows.count("{ id: ")
    assert {"steps", "profile", "asm"} <= set(READING)
    assert {"numerics", "devices", "tuning", "targets"} == set(FINDING)
    assert "compare" not in READING


def test_an_embedded_view_starts_nothing_with_any_pane(
    shared: Shared, watched: tuple[Page, list[Request]]
) -> None:
    page, asked = watched
    traffic = Traffic(page)
    for pane, kind in PANES.items():
        answer = page.request.post("/api/v1/links", data={"fragment": shared.at(pane)})
        page.goto(f"/embed{answer.json()['path']}")
        expect(page.locator("[data-part=stage]")).to_have_attribute(
            "data-layout", "ready", timeout=COMPILE_MS
        )
        traffic.settle()
        title = page.locator("[data-part=pane-title]").text_content()
        shown = READING[0] if kind == "works" else pane
        assert f'<span data-word="pane.{shown}">{title}</span>' in WORDS
        if kind != "works":
            expect_all_that_is_shown_to_work(page)
    # No related job is stored for a compilation of this test alone, and the view reports this.
    other = shared.at("devices").replace("digits_cnn", "digits_mlp") + "&precision=bf16"
    answer = page.request.post("/api/v1/links", data={"fragment": other})
    page.goto(f"/embed{answer.json()['path']}")
    expect(page.locator("#pane .pane-empty")).to_contain_text(
        "no longer keeps the result", timeout=COMPILE_MS
    )
    # The view requests its own compilation, which the server has stored.
    assert {(r.method, r.url.split("/api/v1")[1]) for r in asked} == {("POST", "/jobs?reuse=1")}


def test_a_report_has_every_pane_but_those_that_need_work(
    shared: Shared, browser: Browser, server: str, tmp_path: Path
) -> None:
    context = browser.new_context(viewport=WINDOW, reduced_motion="reduce", offline=True)
    context.set_default_timeout(STEP_MS)
    page = context.new_page()
    file = tmp_path / "report.html"
    online = browser.new_context(base_url=server)
    answer = online.request.get(
        f"/api/v1/jobs/{shared.job}/report", params={"fragment": shared.fragment}
    )
    file.write_bytes(answer.body())
    online.close()
    watch = Watch(page, file.as_uri())
    page.goto(file.as_uri())
    report = Playground(page)
    report.wait_for_walk()
    opened = []
    for group in page.locator(".pane-groups [data-group]").all():
        group.click()
        for pane in (
            report.part("tabs")
            .locator("[role=tab]")
            .evaluate_all("tabs => tabs.map((tab) => tab.dataset.pane)")
        ):
            opened.append(pane)
            report.show_pane(pane)
            expect_all_that_is_shown_to_work(page)
            hrefs = report.pane.locator("a:visible").evaluate_all(
                "links => links.map((each) => each.getAttribute('href'))"
            )
            assert all(re.match("#|blob:|https://", href) for href in hrefs), (pane, hrefs)
            report.show_pane(pane)
    assert opened == [name for name, kind in PANES.items() if kind != "works"]

    # A truncated file gives an error message.
    file.write_bytes(file.read_bytes().replace(b'id="answers">', b'id="answers">!', 1))
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("this report cannot be read")
    context.close()
    watch.finish()
