"""Tests of the course's routes and pages: the map, runs of lessons, and verdicts on answers."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

import course
from app.jobs.isolation import is_ours
from app.learn.contents import Item, Row, rows_of
from app.wire.small_graphs import MOST_DRAWN, drawing
from compiler.errors import CompileError
from course.catalogue import PLACES
from course.graphs import read_graph
from tests.app.conftest import MakeApp, started, wait

LESSON, EXERCISE = "70-fusion", "exercise-2"
JUDGE = f"/lessons/{LESSON}/{EXERCISE}/judgements"
EVIL = "<script>alert(1)</script>"


def solution(client: FlaskClient, name: str = f"{LESSON}/{EXERCISE}") -> str:
    return client.get(f"/api/v1/lessons/{name}/solution").get_json()["solution"]


def judged(client: FlaskClient, text: str) -> dict[str, Any]:
    job = started(client, JUDGE, files={"solution.py": text})
    assert job["state"] == "succeeded", job["error"]
    return client.get(f"/api/v1/jobs/{job['id']}/judgement").get_json()


def author_folder(tmp_path: Path, prose: str) -> Path:
    """Return a folder with a lesson of an author, whose text ends with some prose."""
    folder = tmp_path / "75-mine"
    shutil.copytree(Path(course.__file__).parent / "template", folder)
    text = (folder / "lesson.md").read_text().replace("number = 1\n", "number = 75\n")
    (folder / "lesson.md").write_text(f"{text}\n{prose}\n")
    return folder


def test_the_map_has_all_places_and_says_which_are_coming(client: FlaskClient) -> None:
    found = client.get("/api/v1/course").get_json()
    assert {each["number"] for each in found["lessons"]} >= set(PLACES)
    assert next(e for e in found["lessons"] if e["number"] == 70)["name"] == LESSON
    page = client.get("/learn").get_data(as_text=True)
    assert page.count("coming with a later version") == sum(p.coming for p in PLACES.values())
    assert f'href="/learn/{LESSON}"' in page


def test_a_page_has_the_lesson_but_neither_solutions_nor_wrong_ones(client: FlaskClient) -> None:
    page = client.get(f"/learn/{LESSON}").get_data(as_text=True)
    assert 'data-figure="trips.fused.bytes"' in page
    assert 'data-covered="guess_traffic"' in page
    assert "find_sigmoid" in page
    assert "o.sigmoid(x)" not in page.replace("the replacement is o.sigmoid(x).", "")
    assert "any constant in the sum" not in page


def test_an_unknown_lesson_is_not_found(client: FlaskClient) -> None:
    assert client.get("/learn/71-nothing").status_code == 404
    assert client.post("/api/v1/lessons/71-nothing/runs", json={}).status_code == 404
    assert client.get(f"/api/v1/lessons/{LESSON}/exercise-9/solution").status_code == 404


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"files": {}}, "needed the file solution.py"),
        ({"files": {"../x": ""}}, "needed only the fields solution.py"),
        ({"files": {"solution.py": 3}}, "needed a text"),
        ({"files": {"solution.py": ""}, "seed": -1}, "seed: needed"),
        ({"files": {"solution.py": ""}, "exercise": {}}, "needed only the fields"),
    ],
)
def test_a_wrong_request_names_its_field(
    client: FlaskClient, body: dict[str, Any], message: str
) -> None:
    answer = client.post(f"/api/v1{JUDGE}", json=body)
    assert answer.status_code == 400
    assert message in answer.get_json()["detail"]


def test_lessons_of_others_and_answers_need_a_sandbox() -> None:
    ours = {"kind": "lesson", "lesson": LESSON, "digest": "", "seconds": 0.5, "foreign": False}
    assert is_ours(ours)
    assert not is_ours({**ours, "foreign": True})
    assert not is_ours({"kind": "judge", "exercise": "x/y", "files": {"solution.txt": "fuse"}})


def test_a_run_fills_all_figures_and_a_second_one_is_the_same_job(real: FlaskClient) -> None:
    job = started(real, f"/lessons/{LESSON}/runs", seconds=0.01)
    assert job["state"] == "succeeded", job["error"]
    run = real.get(f"/api/v1/jobs/{job['id']}/lesson").get_json()
    assert {b["error"] for b in run["blocks"] if b["error"]} == set()
    assert run["figures"]["trips.saved"] == "4"
    assert " to " in run["figures"]["trips.fused.seconds"], "a time has its interval"
    by_name = {b["name"]: b for b in run["blocks"]}
    assert by_name["guess_product"]["right"] == 1
    assert [n["label"] for n in by_name["fusing"]["drawings"]["after"]["nodes"]] == [
        "x", "neg · exp · add · div", "y",
    ]  # fmt: skip
    assert by_name["fusing"]["passes"][0]["steps"][0]["outcome"] == "applied"
    again = real.post(f"/api/v1/lessons/{LESSON}/runs?reuse=1", json={"seconds": 0.01})
    assert again.get_json()["id"] == job["id"]


def test_a_solution_passes_and_a_wrong_one_has_a_small_counterexample(real: FlaskClient) -> None:
    right = solution(real)
    assert judged(real, right)["verdict"] == "passed"
    found = judged(real, right.replace("o.sigmoid(x)", "o.tanh(x)"))
    assert found["verdict"] == "failed"
    example = next(t["counterexample"] for t in found["tests"] if "counterexample" in t)
    assert len(read_graph(example["graph"], "graph").nodes) <= 5
    assert "elements differ" in example["differs"]
    assert {n["label"] for n in example["drawings"]["answer"]["nodes"]} >= {"tanh"}


def test_the_code_of_an_answer_runs_in_a_sandbox_of_its_own(real: FlaskClient) -> None:
    text = "import os\nprint(sorted(os.listdir('/')), os.listdir('/proc').count('1'))\n"
    found = judged(real, text + solution(real))
    assert found["verdict"] == "passed"
    assert "'code'" in found["output"]
    assert "'in'" not in found["output"]
    wrong = judged(real, "raise ValueError('at line one')\n")
    assert (wrong["verdict"], wrong["error"]["where"]["line"]) == ("error", 1)


def test_an_endless_loop_is_a_timeout(real: FlaskClient) -> None:
    assert judged(real, "while True: pass\n")["verdict"] == "timeout"


def test_a_lesson_of_an_author_is_shown_escaped_and_read_anew(
    make_app: MakeApp, tmp_path: Path
) -> None:
    folder = author_folder(tmp_path, f"{EVIL} and [a link](javascript:alert(1))")
    client = make_app(lessons=str(folder)).test_client()
    page = client.get("/learn/75-mine")
    assert page.status_code == 200
    text = page.get_data(as_text=True)
    assert EVIL not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "javascript:alert" not in text.replace("(javascript:alert(1))", "")
    job = client.post("/api/v1/lessons/75-mine/runs", json={}).get_json()
    assert job["request"]["foreign"]
    old = (folder / "lesson.md").read_text()
    (folder / "lesson.md").write_text(f"{old}\nA second sentence.\n")
    assert "A second sentence." in client.get("/learn/75-mine").get_data(as_text=True)
    newer = client.post("/api/v1/lessons/75-mine/runs", json={}).get_json()
    assert newer["request"]["digest"] != job["request"]["digest"]


def test_a_lesson_that_cannot_be_read_shows_file_and_line(
    make_app: MakeApp, tmp_path: Path
) -> None:
    folder = author_folder(tmp_path, "```nothing {name=x}\n```")
    client = make_app(lessons=str(folder)).test_client()
    answer = client.get("/learn/75-mine")
    text = answer.get_data(as_text=True)
    assert answer.status_code == 500
    assert "no kind of block is named" in text
    assert "75-mine/lesson.md, line" in text
    assert client.get("/learn").status_code == 200, "the map needs only the front matter"


def test_a_lesson_of_an_author_runs_in_the_sandbox(
    real: FlaskClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = author_folder(
        tmp_path,
        "```python {name=where}\nimport os\nprint(sorted(os.listdir('/')))\n"
        "print(os.path.exists('" + str(tmp_path) + "'))\n```",
    )
    monkeypatch.setattr(real.application.extensions["library"], "folders", str(folder))
    job = wait(real, real.post("/api/v1/lessons/75-mine/runs", json={}).get_json()["id"])
    assert job["state"] == "succeeded", job["error"]
    run = real.get(f"/api/v1/jobs/{job['id']}/lesson").get_json()
    output = next(b["output"] for b in run["blocks"] if b["name"] == "where")
    assert "'in'" in output
    assert output.strip().endswith("False")


def test_the_glossary_leads_to_lessons_that_exist(client: FlaskClient) -> None:
    page = client.get("/glossary").get_data(as_text=True)
    assert '<a href="/learn/70-fusion">Lesson: Fusion: memory is the bottleneck</a>' in page
    for name in {part.split('"')[0] for part in page.split('href="/learn/')[1:]}:
        assert client.get(f"/learn/{name}").status_code == 200


def test_text_and_panes_make_rows() -> None:
    kinds = "prose graph experiment prose predict view prose exercise"
    rows = list(rows_of([Item(kind) for kind in kinds.split()]))
    assert [_kinds(row) for row in rows] == [
        ["prose", ["graph", "experiment"], "prose", "predict"],
        [["view"], "prose"],
        ["exercise"],
    ]
    assert [row.n_text for row in rows] == [3, 1, 1]
    assert rows[2].is_wide


def _kinds(row: Row) -> list[Any]:
    return [[i.kind for i in x] if isinstance(x, list) else x.kind for x in row.items]


def test_a_large_graph_is_not_drawn() -> None:
    lines = [f"  y{i} = neg({f'y{i - 1}' if i else 'x'})" for i in range(MOST_DRAWN + 1)]
    text = "\n".join(["graph large(x: f32[2,3]) {", *lines, f"  return y{MOST_DRAWN}", "}"])
    assert drawing(read_graph(text, "large")) == {"dot": "", "nodes": [], "n_more": MOST_DRAWN + 1}


def test_a_drawing_has_an_edge_for_each_operand() -> None:
    graph = read_graph("graph g(x: f32[2,3]) {\n a = exp(x)\n y = add(a, x)\n return y\n}", "g")
    dot = drawing(graph)["dot"]
    for edge in ("i0 -> n0", "n0 -> n1", "i0 -> n1", "n1 -> r0"):
        assert edge in dot


def test_the_library_names_an_exercise_that_is_absent(client: FlaskClient) -> None:
    with pytest.raises(CompileError, match="has no exercise 'exercise-9'"):
        client.application.extensions["library"].exercise(LESSON, "exercise-9")
