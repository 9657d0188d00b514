"""Browser tests of the panes of the playground inside lessons."""

from __future__ import annotations

import re
from typing import cast

from playwright.sync_api import Frame, Page, Request, Response, Route, expect

from tests.browser.accessibility import Inspector, wider_than_screen
from tests.browser.conftest import Watch
from tests.browser.playground import COMPILE_MS
from tests.browser.reader import Reader

LESSON, STEP = "70-fusion", 3
"""A lesson, and its step with the view of the pane Kernels with the node y."""
PAGE_OF_VIEW = re.compile(r"/embed(#|$)")
# The position is relative to the step, because the window may scroll.
_BOX = """
(each) => {
  const {y, width, height} = each.getBoundingClientRect();
  return [y - each.closest(".lesson-step").getBoundingClientRect().y, width, height];
}
"""
_ADD_FRAMES = """
(addresses) => {
  for (const address of addresses) {
    const frame = document.createElement("iframe");
    frame.src = address;
    document.querySelector(".lesson-step:not([hidden])").append(frame);
  }
}
"""


def at_view(page: Page) -> Reader:
    """Open the step with the view; the lesson has run, and its pictures have their final size."""
    reader = Reader(page, LESSON, keys=False)
    page.goto(f"/learn/{LESSON}#step-{STEP}")
    reader.wait_for_run()
    uncover(reader)
    drawings = reader.step.locator(".lab-drawing")
    expect(drawings).not_to_have_count(0)
    expect(drawings.locator(".picture")).to_have_count(drawings.count())
    return reader


def uncover(reader: Reader) -> None:
    """Show the results of the step that a prediction covers, unless the reader has decided."""
    covers = reader.step.get_by_role("button", name="Show without a prediction")
    if covers.count():
        covers.first.click()


def shown(reader: Reader) -> Frame:
    """Bring the view of the step into sight, and return its frame when it shows its pane."""
    place = reader.step.locator(".view")
    place.scroll_into_view_if_needed()
    expect(place).to_have_attribute("data-state", "shown", timeout=COMPILE_MS)
    handle = reader.step.locator(".view-frame").element_handle()
    assert handle is not None
    frame = handle.content_frame()
    assert frame is not None
    expect(frame.locator("[data-part=embed]")).to_be_visible()
    return frame


def test_a_view_shows_its_pane_with_the_selection_in_a_place_of_fixed_size(page: Page) -> None:
    reader = at_view(page)
    place = reader.step.locator(".view")
    place.scroll_into_view_if_needed()
    before = place.evaluate(_BOX)
    frame = shown(reader)
    expect(frame.locator("[data-part=pane-title]")).to_have_text("Kernels")
    selected = frame.locator("#pane tr[data-selected]")
    expect(selected).to_have_count(1)
    expect(selected).to_be_visible()
    expect(frame.locator("[data-part=pass]")).to_contain_text("fuse")
    assert place.evaluate(_BOX) == before, "the text around the view has moved"
    # The link follows the reader, and opens the same job.
    link = reader.step.get_by_role("link", name="Open in the playground")
    expect(link).to_have_attribute("href", re.compile(r"^/#v=1&.*job=.*pane=kernels.*select=y"))
    frame.get_by_role("button", name="Graph").click()
    expect(frame.locator("[data-part=stage]")).to_have_attribute("data-layout", "ready")
    frame.get_by_label("Previous pass").click()
    expect(link).not_to_have_attribute("href", re.compile("stage="))


def test_a_prediction_covers_the_view_of_its_graph(page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    reader = Reader(page, LESSON, keys=False)
    page.goto(f"/learn/{LESSON}#step-{STEP}")
    reader.wait_for_run()
    lab = reader.step.locator("section.lab[data-kind=view]")
    lab.scroll_into_view_if_needed()
    expect(lab).to_contain_text("A prediction comes first")
    expect(lab.locator("iframe")).to_have_count(0)
    assert not [url for url in asked if PAGE_OF_VIEW.search(url)]
    lab.get_by_role("button", name="Go to the question").click()
    expect(page.locator("#predict-guess_traffic")).to_be_visible()
    page.goto(f"/learn/{LESSON}#step-{STEP}")
    uncover(reader)
    shown(reader)


def test_views_out_of_sight_load_nothing_and_a_view_asks_for_one_job(page: Page) -> None:
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request))
    reader = Reader(page, LESSON, keys=False)
    page.goto(f"/learn/{LESSON}#step-1")
    reader.wait_for_run()
    page.goto(f"/learn/{LESSON}#step-{STEP + 1}")
    expect(reader.step).to_have_attribute("data-step", str(STEP))
    assert not [r.url for r in asked if "/embed" in r.url]
    asked.clear()
    page.goto(f"/learn/{LESSON}#step-{STEP}")
    uncover(reader)
    shown(reader)
    starts = [r.url.split("/api/v1")[1] for r in asked if r.method == "POST"]
    assert [each for each in starts if each.startswith("/jobs")] == ["/jobs?reuse=1"]


def test_views_of_the_same_program_share_one_compilation(page: Page) -> None:
    reader = at_view(page)
    shown(reader)
    jobs: list[str] = []

    def note(response: Response) -> None:
        if response.url.endswith("/jobs?reuse=1"):
            jobs.append(response.json()["id"])

    page.on("response", note)
    address = str(reader.step.locator(".view-frame").get_attribute("src"))
    # A program that nobody has compiled, in two panes at the same time.
    new = address.replace("pipeline=fuse", "pipeline=fuse,remove_noops,fuse")
    assert new != address
    page.evaluate(_ADD_FRAMES, [new, new.replace("pane=kernels", "pane=asm")])
    frames = page.locator(".lesson-step:not([hidden]) > iframe")
    for i in range(2):
        expect(frames.nth(i).content_frame.locator("[data-part=embed]")).to_be_attached(
            timeout=COMPILE_MS
        )
    assert len(jobs) == 2
    assert len(set(jobs)) == 1


def test_a_view_that_cannot_load_says_so_in_its_place_and_loads_again(
    page: Page, watch: Watch
) -> None:
    watch.expect("ERR_INTERNET_DISCONNECTED")
    reader = at_view(page)
    place = reader.step.locator(".view")
    page.route(PAGE_OF_VIEW, lambda route: route.abort("internetdisconnected"))
    place.scroll_into_view_if_needed()
    expect(place.get_by_role("alert")).to_contain_text("the view could not be loaded")
    box = place.evaluate(_BOX)
    assert Inspector(page).in_both_themes(".lesson-article") == []
    page.unroute(PAGE_OF_VIEW)
    again = place.get_by_role("button", name="Try again")
    again.focus()
    page.keyboard.press("Enter")
    shown(reader)
    expect(reader.step.locator(".view-frame")).to_be_focused()
    assert place.evaluate(_BOX) == box


def test_a_compilation_that_fails_is_an_error_in_the_place_of_the_view(
    page: Page, watch: Watch
) -> None:
    watch.expect("answer 429|429")
    problem = {"code": "E-LIMIT-RATE", "message": "at most 600 such requests are accepted"}

    def refuse(route: Route) -> None:
        route.fulfill(status=429, json={"version": 1, "error": problem})

    page.route("**/jobs?reuse=1", refuse)
    reader = at_view(page)
    place = reader.step.locator(".view")
    place.scroll_into_view_if_needed()
    expect(place.get_by_role("alert")).to_contain_text(problem["message"])
    expect(place.locator("iframe")).to_have_count(0)
    # The link still opens the playground.
    link = reader.step.get_by_role("link", name="Open in the playground")
    expect(link).to_have_attribute("href", re.compile("^/#v=1&.*select=y"))
    page.unroute("**/jobs?reuse=1")
    place.get_by_role("button", name="Try again").click()
    shown(reader)


def test_a_view_follows_the_theme_and_is_accessible_at_two_widths(page: Page) -> None:
    for width in (1440, 390):
        page.set_viewport_size({"width": width, "height": 844})
        reader = at_view(page)
        frame = shown(reader)
        assert wider_than_screen(page) <= 0
        assert frame.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        outer, inner = Inspector(page), Inspector(cast(Page, frame))
        assert outer.in_both_themes(".lesson-article") == []
        button = page.get_by_role("button", name="Switch between light and dark")
        for _ in range(2):
            button.click()
            theme = page.evaluate("getComputedStyle(document.documentElement).colorScheme")
            expect(frame.locator("html")).to_have_css("color-scheme", theme)
            found = inner.violations() + inner.unreachable()
            assert found == [], (width, theme)


def test_the_pane_of_a_view_runs_a_job_of_its_own(page: Page) -> None:
    asked: list[str] = []
    page.on("request", lambda r: asked.append(r.url) if r.method == "POST" else None)
    page.goto("/embed#v=1&screen=walk&model=sample:digits_mlp&pipeline=fuse&pane=devices")
    expect(page.locator("#pane [data-part=body]")).to_have_attribute(
        "data-placed", re.compile("gpu"), timeout=COMPILE_MS
    )
    assert len(asked) == 2
    assert asked[1].endswith("/placements")


def test_a_reader_starts_a_job_again_that_a_pane_could_not_start(page: Page, watch: Watch) -> None:
    watch.expect("answer 429|429")
    problem = {"code": "E-LIMIT-RATE", "message": "at most 600 such requests are accepted"}

    def refuse(route: Route) -> None:
        route.fulfill(status=429, json={"version": 1, "error": problem})

    page.route("**/placements", refuse)
    page.goto(
        "/embed#v=1&screen=walk&model=sample:digits_mlp&pipeline=dead_code_elimination,fuse&pane=devices"
    )
    pane = page.locator("#pane")
    expect(pane.get_by_role("alert")).to_contain_text(problem["message"], timeout=COMPILE_MS)
    expect(pane).to_contain_text("a job of its own")
    page.unroute("**/placements")
    pane.get_by_role("button", name="Run it here").click()
    expect(pane.locator("[data-part=body]")).to_have_attribute(
        "data-placed", re.compile("gpu"), timeout=COMPILE_MS
    )


def test_the_address_of_a_view_without_a_model_says_so(page: Page) -> None:
    page.goto("/embed")
    expect(page.get_by_role("alert")).to_contain_text("names no model")


def test_the_keyboard_reaches_a_view_and_leaves_it(page: Page) -> None:
    reader = at_view(page)
    frame = shown(reader)
    reader.step.locator("h2").focus()
    slider = frame.get_by_label("Pass", exact=True)
    reader.reach(slider)
    page.keyboard.press("Home")
    expect(frame.locator("[data-part=embed]")).to_have_attribute("data-stage", "0")
    reader.reach(reader.step.get_by_role("link", name="Open in the playground"))


def test_paper_has_the_words_of_a_view_without_its_frame(page: Page) -> None:
    reader = at_view(page)
    shown(reader)
    page.emulate_media(media="print")
    expect(reader.step.locator(".view")).to_be_hidden()
    expect(reader.step.get_by_role("link", name="Open in the playground")).to_be_visible()
