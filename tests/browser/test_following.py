"""Tests of following a job: without a free event stream, and leaving it before its end."""

from __future__ import annotations

import re
from collections import Counter
from time import monotonic

from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import Watch
from tests.browser.playground import COMPILE_MS, Playground

EVENTS = re.compile(r"/events$")


def test_without_a_stream_the_job_is_asked_after_now_and_then(page: Page, watch: Watch) -> None:
    asked: list[str] = []
    start_s = monotonic()

    def refuse(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(status=503, body="{}", content_type="application/json")

    told: Counter[str] = Counter()

    def still_running(route: Route) -> None:
        told[route.request.url] += 1
        if route.request.method != "GET" or told[route.request.url] > 2:
            return route.continue_()
        return route.fulfill(json={**route.fetch().json(), "state": "running"})

    page.route(EVENTS, refuse)
    page.route(re.compile(r"/jobs/[\w-]+$"), still_running)  # even if the job ends quickly
    watch.expect("503")
    playground = Playground(page).open().pick("digits_mlp")
    with page.expect_response(lambda each: told[each.url] > 2, timeout=COMPILE_MS):
        playground.part("compile").click()
    playground.wait_for_walk()
    expect(page.locator(".pass-row").nth(3)).to_be_visible(timeout=COMPILE_MS)
    # Requests follow at once, after 1 s, 2 s, 4 s, and then every 8 s.
    most = 5 + (monotonic() - start_s) // 8
    assert 3 <= max(Counter(asked).values()) <= most


def test_a_search_for_a_placement_can_be_ended_and_begun_again(page: Page) -> None:
    playground = Playground(page).walk("digits_cnn")
    pane = playground.show_pane("devices")
    expect(playground.part("busy")).to_have_text("", timeout=COMPILE_MS)
    again = playground.part("again")
    expect(again).to_be_hidden()
    # The page does not learn about the end of the job before its next request.
    page.route(EVENTS, lambda _: None)
    playground.part("scheduler").select_option("cp_sat")
    again.click()
    expect(pane).to_contain_text("Cancelled.")
    page.unroute(EVENTS)
    expect(again).to_have_text("Place again")
    playground.part("scheduler").select_option("heft")
    expect(playground.part("busy")).to_have_text("", timeout=COMPILE_MS)
    expect(again).to_be_hidden()


def test_a_job_that_passed_a_limit_says_so_below_its_passes(page: Page) -> None:
    message = "the job was stopped after its limit of 60 s"

    def stop(route: Route) -> None:
        result = route.fetch().json()
        error = {"code": "E-LIMIT-SECONDS", "message": message}
        route.fulfill(json={**result, "complete": False, "state": "failed", "error": error})

    page.route(re.compile(r"/result$"), stop)
    playground = Playground(page).open().pick("digits_mlp")
    playground.part("compile").click()
    expect(page.locator("#walk-problem")).to_contain_text(message, timeout=COMPILE_MS)
    page.keyboard.press("Escape")
    expect(page.locator(".passes-stopped")).to_contain_text(message)
    expect(page.locator(".pass-row").nth(3)).to_be_visible()
    page.unroute_all(behavior="wait")  # the job continues, and its result is requested again
