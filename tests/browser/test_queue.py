"""Tests of several users: a job waits in the queue, and jobs of closed tabs are cancelled."""

from __future__ import annotations

import itertools
import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from playwright.sync_api import Page, expect

from app.store.jobs.record import shown
from tests.browser.playground import COMPILE_MS, Playground

LEFT_S = 40.0
"""Ample time after which the server has cancelled the jobs of closed tabs."""

_FOLLOW = "(job) => { new EventSource(`/api/v1/jobs/${job}/events`) }"


def stored_state(data_folder: Path, job: str) -> str:
    """Return the state of a job without a question to the server, which would show interest."""
    with closing(sqlite3.connect(data_folder / "compilarium.db", timeout=30)) as connection:
        (state,) = connection.execute("SELECT state FROM jobs WHERE id = ?", (job,)).fetchone()
    return shown(state)


def many_products(path: Path) -> Path:
    """Save a model of 80 different matrix products, whose tuning uses its whole time."""
    widths = range(33, 33 + 81)
    nodes, weights, last = [], [], "x"
    for i, (k, n) in enumerate(itertools.pairwise(widths)):
        weights.append(numpy_helper.from_array(np.full((k, n), 1 / k, np.float32), f"w{i}"))
        nodes.append(helper.make_node("MatMul", [last, f"w{i}"], [f"m{i}"]))
        nodes.append(helper.make_node("Relu", [f"m{i}"], [f"r{i}"]))
        last = f"r{i}"
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [11, widths[0]])
    y = helper.make_tensor_value_info(last, TensorProto.FLOAT, [11, widths[-1]])
    graph = helper.make_graph(nodes, "products", [x], [y], weights)
    opsets = [helper.make_opsetid("", 21)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return path


def test_a_closed_tab_frees_its_place_and_the_queue_shows_place_and_time(
    playground: Playground, page: Page, data_folder: Path, tmp_path: Path
) -> None:
    playground.drop(many_products(tmp_path / "products.onnx")).compile()
    job = re.search(r"job=([\w-]+)", playground.fragment())
    assert job
    playground.part("change").click()
    playground.pick("digits_cnn")
    # Two tabs of another user occupy both workers. One search at a time runs on a machine.
    tabs = [page.context.new_page() for _ in range(2)]
    for tab in tabs:
        tab.goto("/")
    jobs = []
    asked = {
        "tuning": {"budget_seconds": 45, "search": "random"},
        "run": {"inputs": {}, "seconds": 10},
    }
    for (kind, options), tab in zip(asked.items(), tabs, strict=True):
        answer = page.request.post(f"/api/v1/jobs/{job[1]}/{kind}", data=options)
        jobs.append(answer.json()["id"])
        tab.evaluate(_FOLLOW, jobs[-1])
    playground.part("compile").click()
    expect(playground.part("says")).to_have_text(re.compile("^Waiting: next in the queue"))
    assert {stored_state(data_folder, each) for each in jobs} == {"running"}
    closed_s = time.monotonic()
    for tab in tabs:
        tab.close()
    playground.wait_for_walk()
    expect(page.locator(".header-busy")).to_have_count(0, timeout=COMPILE_MS)
    while any(stored_state(data_folder, each) == "running" for each in jobs):
        assert time.monotonic() < closed_s + LEFT_S
        time.sleep(0.2)
    search, run = (stored_state(data_folder, each) for each in jobs)
    assert search == "cancelled"
    assert run in ("cancelled", "succeeded")
