"""Tests of the bytes that the first load of the page sends over the network."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.playground import Playground
from tests.browser.traffic import Traffic

FIRST_LOAD_BYTES = 130_000


def test_the_first_load_is_small_and_the_rest_follows_the_first_action(page: Page) -> None:
    sizes: dict[str, int] = {}
    urls: dict[str, str] = {}
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.on(
        "Network.requestWillBeSent", lambda e: urls.update({e["requestId"]: e["request"]["url"]})
    )
    session.on(
        "Network.loadingFinished",
        lambda e: sizes.update({urls[e["requestId"]]: int(e["encodedDataLength"])}),
    )
    traffic = Traffic(page)
    playground = Playground(page).open()
    expect(playground.part("preset")).to_have_value("default")
    page.wait_for_load_state("networkidle")
    traffic.settle()
    assert set(sizes) == set(urls.values())
    assert any("main.js" in url for url in sizes)
    assert not any("worker.js" in url or "chunks/walk" in url for url in sizes)
    assert sum(sizes.values()) <= FIRST_LOAD_BYTES, sorted(sizes.items(), key=lambda row: -row[1])
    page.mouse.move(200, 200)
    page.wait_for_load_state("networkidle")
    traffic.settle()
    assert any("chunks/walk" in url for url in urls.values())
