"""Tests of Python in the page: verdicts, endless answers, and pages without Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route

import hatch_build
from course.judging import judge_in_process
from tests.browser.conftest import Watch
from tests.browser.judging_page import REPOSITORY, JudgingPage, bundled
from tests.course.exercises.kinds import SAMPLES

LOADING_MS = 300_000
"""Timeout of the first judgement, which loads Python; it only ends a test that hangs."""
LOOP = "def run(graph, log):\n    while True:\n        pass\n"
CALL = "import itertools\ndef run(graph, log):\n    return sum(itertools.repeat(0))\n"
"""An endless call inside the interpreter, which runs no code of the answer."""


@pytest.fixture(scope="session")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return bundled(tmp_path_factory.mktemp("judging"))


@pytest.fixture
def judging(page: Page, scripts: Path) -> JudgingPage:
    page.set_default_timeout(LOADING_MS)
    return JudgingPage(page, scripts).open()


@pytest.fixture
def python_files() -> None:
    """Fail where the build made no Python for the page: then these tests would test nothing."""
    found = REPOSITORY / hatch_build.PYTHON / "python.json"
    assert json.loads(found.read_text())["available"], "run `python hatch_build.py python`"


def request_of(kind: str, answer: str) -> dict[str, Any]:
    exercise = {"id": f"x/{kind}", "kind": kind, "settings": SAMPLES[kind].settings}
    files = {"solution.py": answer, "solution.txt": answer}
    return {"version": 1, "exercise": exercise, "files": files, "seed": 3}


@pytest.mark.usefixtures("python_files")
def test_the_page_gives_the_verdicts_of_the_judge(judging: JudgingPage) -> None:
    """Solutions of all kinds, and all wrong answers of two kinds, with tests, messages and
    places; only figures with rounding may differ."""
    answers = [(kind, sample.solution) for kind, sample in SAMPLES.items()]
    for kind in ("write_rule", "write_pass"):
        answers += [(kind, wrong) for wrong, _ in SAMPLES[kind].wrong]
    stages: list[list[str]] = []
    for kind, answer in answers:
        request = request_of(kind, answer)
        expected, got = judge_in_process(request), judging.judge(request)
        assert summary(got["answer"]) == summary(expected), (kind, answer)
        stages.append(got["stages"])
    assert stages[0][-1] == "ready"
    assert all(each == ["ready"] for each in stages[1:])  # one worker judged all of them


def summary(answer: dict[str, Any]) -> dict[str, Any]:
    tests = [(t["name"], t["passed"], "counterexample" in t) for t in answer["tests"]]
    scores = [(s["name"], s["value"], s["goal"], s["reached"]) for s in answer["scores"]]
    error = answer.get("error", {})
    place = {k: error.get("where", {}).get(k) for k in ("source", "line")}
    return {"verdict": answer["verdict"], "tests": tests, "scores": scores,
            "code": error.get("code"), "message": error.get("message"), "where": place}  # fmt: skip


@pytest.mark.usefixtures("python_files")
def test_an_endless_loop_is_stopped_at_its_line(judging: JudgingPage) -> None:
    found = judging.judge(request_of("write_pass", LOOP), seconds=2)["answer"]
    assert (found["verdict"], found["error"]["code"]) == ("timeout", "E-LIMIT-SECONDS")
    where = found["error"]["where"]
    assert where["source"] == "solution.py"
    assert where["line"] in (2, 3)
    again = judging.judge(request_of("write_pass", SAMPLES["write_pass"].solution))
    assert again["answer"]["verdict"] == "passed"
    assert again["stages"] == ["ready"]  # the same worker


@pytest.mark.usefixtures("python_files")
def test_an_endless_call_ends_its_worker_and_the_page_stays_usable(
    judging: JudgingPage, page: Page
) -> None:
    assert judging.judge(request_of("write_pass", SAMPLES["write_pass"].solution))["answer"]
    page.evaluate("() => { window.ticks = 0; setInterval(() => window.ticks++, 50); }")
    found = judging.judge(request_of("write_pass", CALL), seconds=2)["answer"]
    assert (found["verdict"], found["error"]["code"]) == ("timeout", "E-LIMIT-SECONDS")
    assert page.evaluate("window.ticks") >= 10
    again = judging.judge(request_of("write_pass", SAMPLES["write_pass"].solution))
    assert again["answer"]["verdict"] == "passed"
    assert again["stages"] != ["ready"]  # another worker


@pytest.mark.usefixtures("python_files")
def test_an_error_names_the_line_of_the_answer(judging: JudgingPage) -> None:
    code = "def run(graph, log):\n    nodes = graph.nodes\n    return nodes[99]\n"
    error = judging.judge(request_of("write_pass", code))["answer"]["error"]
    assert "IndexError" in error["message"]
    assert (error["where"]["source"], error["where"]["line"]) == ("solution.py", 3)


def test_without_python_the_server_is_asked_to_judge(
    page: Page, scripts: Path, watch: Watch
) -> None:
    asked: list[str] = []

    def answer(route: Route) -> None:
        asked.append(route.request.url)
        route.fulfill(json={"version": 1, "available": False})

    page.route("**/static/dist/python/python.json", answer)
    page.on("request", lambda request: asked.append(request.url))
    judging = JudgingPage(page, scripts).open()
    found = judging.judge(request_of("write_pass", SAMPLES["write_pass"].solution))
    assert found["isNoPython"] is True
    assert "no Python for the page" in found["problem"]
    assert not [url for url in asked if "python.js?" in url or url.endswith("python.js")]


@pytest.mark.usefixtures("python_files")
def test_a_damaged_package_leaves_the_judgement_to_the_server(
    page: Page, scripts: Path, watch: Watch
) -> None:
    watch.expect("answer 404")
    page.route("**/static/dist/python/packages.zip", lambda route: route.fulfill(status=404))
    page.set_default_timeout(LOADING_MS)
    judging = JudgingPage(page, scripts).open()
    found = judging.judge(request_of("write_pass", SAMPLES["write_pass"].solution))
    assert found["isNoPython"] is True
    assert "404" in found["problem"]
