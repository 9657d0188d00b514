"""Tests of several users: a job waits in the queue, and jobs of closed tabs are cancelled."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.playground import COMPILE_MS, Playground

LEFT_S = 40.0
"""Ample time after which the server has cancelled the jobs of closed tabs."""

_FOLLOW = "(job) => { new EventSource(`/api/v1/jobs/${job}/events`) }"


def state_on_disk(data_folder: Path, job: str) -> str:
    """Return the state of a job without a question to the server, which would show interest."""
    return json.loads((data_folder / "jobs" / job / "job.json").read_text())["state"]


def test_a_closed_tab_frees_its_place_and_the_queue_shows_place_and_time(
    playground: Playground, page: Page, data_folder: Path
) -> None:
    playground.pick("digits_mlp").compile()
    job = re.search(r"job=([\w-]+)", playground.fragment())
    assert job
    # Two tabs of another user occupy both workers.
    tabs, jobs = [], []
    for seed in range(2):
        options = {"budget_seconds": 45, "search": "random", "seed": seed}
        answer = page.request.post(f"/api/v1/jobs/{job[1]}/tuning", data=options)
        jobs.append(answer.json()["id"])
        tab = page.context.new_page()
        tab.goto("/")
        tab.evaluate(_FOLLOW, jobs[-1])
        tabs.append(tab)
    playground.part("change").click()
    playground.pick("digits_cnn")
    playground.part("compile").click()
    expect(playground.part("says")).to_have_text(re.compile("^Waiting: next in the queue"))
    assert {state_on_disk(data_folder, each) for each in jobs} == {"running"}
    closed_s = time.monotonic()
    for tab in tabs:
        tab.close()
    playground.wait_for_walk()
    expect(page.locator(".header-busy")).to_have_count(0, timeout=COMPILE_MS)
    while any(state_on_disk(data_folder, each) == "running" for each in jobs):
        assert time.monotonic() < closed_s + LEFT_S
        time.sleep(0.2)
    assert {state_on_disk(data_folder, each) for each in jobs} == {"cancelled"}
