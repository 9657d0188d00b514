"""Tests of the load: what it counts of a server with known faults, and a short real run."""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import monotonic
from typing import Any
from xml.etree import ElementTree

import onnx
import pytest

from benchmarks.load.__main__ import parser, play
from benchmarks.load.client import Browser
from benchmarks.load.lesson import Called, Lesson, Over
from benchmarks.load.models import small_model
from benchmarks.load.picture import svg, windows
from benchmarks.load.processes import Use, below
from benchmarks.load.report import lines
from benchmarks.load.sampling import Sample, Spent
from benchmarks.load.servers import Served, reachable
from benchmarks.load.site import Site, explore
from benchmarks.load.student import Student
from benchmarks.load.tally import Compilation, Request, Tally, percentile, slope
from benchmarks.load.verdict import Criterion, Run, criteria, growth, to_json
from tests.benchmarks.load.fake_server import Fake, Fault, running

REPOSITORY = Path(__file__).resolve().parents[3]
LIMIT_S = 120.0


def asked(fake: Fake, work: Callable[[Browser], Awaitable[Any]]) -> Tally:
    """Let a browser work at a fake server, and return its tally."""

    async def whole() -> Tally:
        browser = Browser(fake.url, Tally(), monotonic())
        async with asyncio.timeout(LIMIT_S):
            await work(browser)
        await browser.close()
        return browser.tally

    return asyncio.run(whole())


def short(*words: str) -> argparse.Namespace:
    """Return the options of a short lesson."""
    return parser().parse_args(["--students", "4", "--minutes", "0.07", "--pace", "0.01", *words])


# The client.


def test_a_request_takes_at_least_the_time_of_the_server() -> None:
    with running(Fake(delay_s=0.15)) as fake:
        tally = asked(fake, lambda browser: browser.get("/api/v1/about"))
    (request,) = tally.requests
    assert request.seconds >= 0.15
    assert (request.kind, request.status, request.is_error) == ("api", 200, False)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Fault(1, 500, "E-SERVER-BUG"), "GET /api/v1/about: 500 E-SERVER-BUG"),
        (Fault(1, 404, "E-REQUEST-UNKNOWN"), "GET /api/v1/about: 404 E-REQUEST-UNKNOWN"),
        (Fault(1, 0), "GET /api/v1/about:  Closed"),
        (Fault(1, 429, "E-LIMIT-RATE"), None),
    ],
)
def test_an_error_is_counted_with_its_code(fault: Fault, error: str | None) -> None:
    with running(Fake({"GET /api/v1/about": fault})) as fake:
        tally = asked(fake, lambda browser: browser.get("/api/v1/about"))
    assert tally.errors() == (Counter([error]) if error else Counter())
    assert tally.limited() == (fault.status == 429)


def test_an_absent_server_is_an_error_of_each_request() -> None:
    fake = Fake()
    with running(fake):
        pass
    tally = asked(fake, lambda browser: browser.get("/"))
    assert tally.errors() == Counter(["GET /:  ConnectionRefusedError"])


def test_a_browser_keeps_its_cookie_and_its_connection_and_what_is_immutable() -> None:
    async def visit(browser: Browser) -> None:
        for _ in range(2):
            await browser.get("/", "html")
            await browser.get("/static/dist/main.js?v=1", "static")
        await browser.get("/static/dist/main.js?v=1", "static", again=True)
        assert len(browser._idle) == 1

    with running(Fake()) as fake:
        asked(fake, visit)
    assert fake.cookies == {"", "session=1"}
    assert fake.answered == {("GET /", 200): 2, ("GET /static", 200): 1, ("GET /static", 304): 1}


def test_a_request_is_repeated_if_the_server_has_closed_an_idle_connection() -> None:
    async def visit(browser: Browser) -> None:
        await browser.get("/api/v1/about")
        assert (await browser.get("/api/v1/about")).is_good

    with running(Fake({"GET /api/v1/about": Fault(2, 0)})) as fake:
        tally = asked(fake, visit)
    assert [request.status for request in tally.requests] == [200, 200]
    assert fake.answered["GET /api/v1/about", 0] == 1


def test_the_files_of_the_page_are_those_that_it_names_and_imports() -> None:
    found: list[Any] = []

    async def look(browser: Browser) -> None:
        found.append(await explore(browser))

    with running(Fake()) as fake:
        asked(fake, look)
    files = "/static/dist/"
    assert found[0].first == (
        f"{files}icon.svg?v=1", f"{files}main.js?v=1", f"{files}chunks/common.js",
    )  # fmt: skip
    assert found[0].later == (
        f"{files}worker.js?v=1", f"{files}reader.js?v=1", f"{files}chunks/walk.js",
    )  # fmt: skip


# The lesson.


def test_the_lesson_has_no_more_compilations_than_seats() -> None:
    async def crowd() -> Lesson:
        lesson = Lesson(10.0, 3, seed=1)

        async def sit() -> None:
            async with lesson.seat():
                await asyncio.sleep(0.001)

        await asyncio.gather(*(sit() for _ in range(12)))
        return lesson

    lesson = asyncio.run(crowd())
    assert lesson.n_most() == 3
    assert lesson.active[-1][1] == 0


def test_the_teacher_calls_as_many_students_as_there_are_free_seats() -> None:
    async def teach() -> list[type]:
        lesson = Lesson(100.0, 3, seed=1)

        async def wait() -> type:
            try:
                await lesson.pause(100.0)
            except (Called, Over) as e:
                return type(e)
            return type(None)

        waiting = [asyncio.create_task(wait()) for _ in range(7)]
        await asyncio.sleep(0)
        async with lesson.seat():
            lesson.call()
        lesson.call()
        lesson.end()
        return await asyncio.gather(*waiting)

    assert Counter(asyncio.run(teach())) == {Called: 5, Over: 2}


def test_each_model_of_a_student_is_small_and_valid_and_another_one() -> None:
    models = [small_model(seed) for seed in range(24)]
    for model in models:
        onnx.checker.check_model(onnx.load_from_string(model), full_check=True)
    assert len(set(models)) == 24
    assert max(map(len, models)) < 300_000
    assert small_model(5) == models[5]


# Whole lessons at a fake server.


def lesson_at(fake: Fake, *words: str) -> Run:
    async def whole() -> Run:
        async with asyncio.timeout(LIMIT_S):
            return await play(Served(fake.url), short(*words))

    with running(fake):
        return asyncio.run(whole())


def test_the_tally_of_a_class_is_that_of_the_server() -> None:
    faults = {
        "GET /api/v1/samples": Fault(2, 500, "E-SERVER-BUG"),
        "GET /static": Fault(11, 404, "E-REQUEST-UNKNOWN"),
        "POST /api/v1/uploads": Fault(4, 429, "E-LIMIT-RATE"),
        "GET /api/v1/jobs/ID/events": Fault(5, 503, "E-LIMIT-QUEUE"),
        "GET /api/v1/jobs/ID/neighbours": Fault(2, 409, "E-RESULT-ABSENT"),
    }
    fake = Fake(faults)
    run = lesson_at(fake)
    counted = Counter((f"{r.method} {r.route}", r.status) for r in run.tally.requests)
    before_and_after = {("GET /", 200): 1, ("GET /static", 200): 2, ("GET /metrics", 200): 1}
    assert counted + Counter(before_and_after) == fake.answered
    wrong = {route: n for (route, status), n in counted.items() if status in (404, 409, 500, 503)}
    errors = run.tally.errors()
    assert sum(wrong.values()) == sum(errors.values()) > 0
    assert errors["GET /api/v1/samples: 500 E-SERVER-BUG"] == wrong["GET /api/v1/samples"]
    assert run.tally.limited() == counted["POST /api/v1/uploads", 429]
    assert criteria(run)[0].is_met is False
    assert len(fake.cookies - {""}) == 5, "four students, and the exploration of the page"


def compiling_at(fake: Fake) -> Tally:
    """Let one student compile once."""

    async def compile_once(browser: Browser) -> None:
        student = Student(browser, Site((), ()), Lesson(100.0, 3, seed=1), seed=4)
        await student._compile({"kind": "compile"}, reuse=False)

    with running(fake):
        return asked(fake, compile_once)


def test_a_compilation_is_counted_with_the_requests_of_the_page() -> None:
    fake = Fake()
    tally = compiling_at(fake)
    (found,) = tally.compilations
    assert (found.outcome, found.n_active) == ("finished", 1)
    assert 0 < found.waited_s <= found.seconds
    assert tally.compile_seconds() == [found.seconds]
    of_job = {route.removeprefix("GET /api/v1/jobs/ID/") for route, _ in fake.answered}
    assert of_job >= {"events", "result", "union", "provenance", "neighbours", "stages/ID/delta"}
    assert tally.errors() == Counter()


def test_a_failed_job_is_an_error() -> None:
    tally = compiling_at(Fake(outcome="failed"))
    assert tally.errors() == Counter(["a failed job: E-LIMIT-CRASH"])
    assert not tally.compile_seconds()


def test_a_refused_stream_is_an_error_and_is_opened_again() -> None:
    tally = compiling_at(
        Fake({"GET /api/v1/jobs/ID/events": Fault(1, 503, "E-LIMIT-QUEUE")}, state="succeeded")
    )
    assert tally.errors() == Counter(["GET /api/v1/jobs/ID/events: 503 E-LIMIT-QUEUE"])
    assert tally.compilations[0].outcome == "finished"


# Figures.


@pytest.mark.parametrize(
    ("share", "expected"), [(0.5, 50.0), (0.95, 95.0), (0.99, 99.0), (1.0, 100.0)]
)
def test_percentiles_of_a_hundred_numbers(share: float, expected: float) -> None:
    assert percentile(map(float, range(100, 0, -1)), share) == expected


def test_figures_without_numbers_are_not_numbers() -> None:
    assert math.isnan(percentile([], 0.5))
    assert math.isnan(slope([(1.0, 2.0)]))


def made_run(page_s: float, compile_s: float, mb_per_hour: float, n_active: int = 30) -> Run:
    """Return a run of ten minutes with these figures."""
    tally = Tally()
    tally.requests += [
        Request("api", "GET", "/api/v1/about", i, page_s * (1 if i % 50 else 9), 200)
        for i in range(1, 600)
    ]
    tally.compilations += [
        Compilation(i, compile_s, 0.5 * compile_s, "finished", n_active) for i in range(0, 600, 6)
    ]
    tally.compilations.append(Compilation(9, 99.0, 0.0, "cancelled", n_active))
    lesson = Lesson(600.0, 30, seed=1)
    lesson.active += [(0.0, 0), (60.0, 30), (120.0, 5)]

    def sample(at_s: float) -> Sample:
        spike = 500_000_000 if at_s == 300.0 else 0
        pss = int(400e6 + mb_per_hour * 1e6 * at_s / 3600) + spike
        return Sample(at_s, {"web": Use(1, pss, 20), "child": Use(2, 10**9, 5)}, {"jobs": 10**6})

    samples = [sample(5.0 * i) for i in range(121)]
    return Run({}, tally, lesson, samples, [0.001], Spent(0.1, 1.2, 0.0), {"compile succeeded": 3})


def met(found: list[Criterion]) -> list[bool | None]:
    return [each.is_met for each in found]


def test_the_criteria_of_a_good_run_and_of_bad_ones() -> None:
    assert met(criteria(made_run(0.02, 2.0, 10.0))) == [True, True, True, True]
    assert met(criteria(made_run(0.4, 2.0, 10.0))) == [True, False, True, True]
    assert met(criteria(made_run(0.02, 3.5, 10.0))) == [True, True, False, True]
    assert met(criteria(made_run(0.02, 2.0, 30.0))) == [True, True, True, False]
    assert met(criteria(made_run(0.02, 2.0, 10.0, n_active=29))) == [True, True, None, True]


def test_a_spike_of_memory_does_not_change_the_slope() -> None:
    grown = growth(made_run(0.02, 2.0, 12.0).samples)
    assert grown is not None
    assert grown.per_hour == pytest.approx(12e6, rel=1e-3)
    assert grown.share == pytest.approx(12 / 401, rel=0.01)


def test_the_report_has_the_figures_of_the_run() -> None:
    text = "\n".join(lines(made_run(0.02, 2.0, 10.0)))
    assert "599 requests" in text
    assert "page requests: p50 20, p95 20, p99 180 ms of 599" in text
    assert "30 active meanwhile: p50 2000, p95 2000, p99 2000 ms of 100" in text
    assert "30 or more during 10.0% of the time" in text
    assert "slope +10.0 MB per hour" in text
    assert text.count(" met: ") == 4


def test_the_json_of_a_run_has_its_figures_and_series() -> None:
    found = json.loads(json.dumps(to_json(made_run(0.02, 2.0, 10.0)), allow_nan=False))
    assert found["requests"]["page"]["p95_ms"] == 20.0
    assert found["compilations"]["active_30"]["n"] == 100
    assert len(found["series"]["samples"]) == 121


def test_the_picture_is_an_svg_with_a_panel_for_each_figure() -> None:
    run = made_run(0.02, 2.0, 10.0)
    drawn = ElementTree.fromstring(svg(run))
    words = [each.text for each in drawn.iter("{http://www.w3.org/2000/svg}text")]
    for title in ("page requests (ms)", "compilations (s)", "active compilations"):
        assert title in words
    assert windows([(0.0, 1.0), (0.5, 3.0), (2.5, 7.0)], 1.0, 0.5) == [(0.5, 1.0), (2.5, 7.0)]


def test_a_process_tree_has_the_descendants_of_its_roots() -> None:
    command = [sys.executable, "-c", "import subprocess; subprocess.run(['sleep', '60'])"]
    with subprocess.Popen(command, start_new_session=True) as process:
        end_s = monotonic() + LIMIT_S
        try:
            while len(found := below([process.pid])) < 2 and monotonic() < end_s:
                pass
        finally:
            os.killpg(process.pid, 9)
    assert len(found) == 2
    assert {each.parent for each in found.values()} == {os.getpid(), process.pid}


@pytest.mark.parametrize(
    ("url", "inside"),
    [
        ("", ""),
        ("postgresql+psycopg://u:p@localhost/d", "postgresql+psycopg://u:p@10.203.77.254/d"),
        (
            "postgresql+psycopg://u:p@db.example:5433/d",
            "postgresql+psycopg://u:p@db.example:5433/d",
        ),
        ("postgresql+psycopg:///d?host=/run/pg", "postgresql+psycopg:///d?host=/run/pg"),
    ],
)
def test_namespaces_reach_a_database_of_this_machine(url: str, inside: str) -> None:
    assert reachable(url).replace("%2F", "/") == inside


# A real server.


def test_three_students_meet_no_error_at_a_real_server(tmp_path: Path) -> None:
    file, picture = tmp_path / "load.json", tmp_path / "load.svg"
    words = ["--students", "3", "--minutes", "0.16", "--pace", "0.2", "--call", "4"]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "benchmarks.load", *words),
            *("--json", str(file), "--picture", str(picture)),
        ],
        cwd=REPOSITORY,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=380,
    )
    assert file.exists(), done.stdout + done.stderr
    found = json.loads(file.read_text())
    assert not found["requests"]["errors"], done.stdout + done.stderr
    assert found["requests"]["n"] > 20
    samples = found["series"]["samples"]
    assert samples[-1]["uses"].keys() >= {"server", "web", "supervisor", "fork server"}
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")
