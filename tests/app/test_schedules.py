"""Tests of edited schedules over HTTP: checks of texts, and runs against the original."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from app.wire.schedules import CHARACTERS
from compiler.schedule.language.move import MOVES
from tests.app.conftest import compiled_job, started, submit, wait
from tests.app.schema import check_shape


@pytest.fixture(scope="module")
def compiled(real: FlaskClient) -> dict[str, Any]:
    """The job of a model compiled for known sizes, its largest kernel, and the schedule."""
    job = compiled_job(real, shapes={"image": [1, 1, 8, 8]})
    rows = real.get(f"/api/v1/jobs/{job}/result").get_json()["kernels"]
    kernel = max(rows, key=lambda k: k["flops"])["kernel"]
    text = real.get(f"/api/v1/jobs/{job}/kernels/{kernel}/schedule").get_json()["text"]
    return {"job": job, "kernel": kernel, "text": text}


def checked(client: FlaskClient, of: dict[str, Any], text: str) -> dict[str, Any]:
    at = f"/api/v1/jobs/{of['job']}/kernels/{of['kernel']}/schedule/check"
    answer = client.post(at, json={"text": text})
    assert answer.status_code == 200, answer.get_json()
    check_shape(answer.get_json(), "CheckedSchedule")
    return answer.get_json()


def run(client: FlaskClient, of: dict[str, Any], text: str) -> dict[str, Any]:
    return started(client, f"/jobs/{of['job']}/schedules", kernel=of["kernel"], text=text)


def test_the_moves_are_told_with_their_words(real: FlaskClient) -> None:
    found = real.get("/api/v1/moves").get_json()
    check_shape(found, "Moves")
    assert {m["name"] for m in found["moves"]} == set(MOVES)
    split = next(m for m in found["moves"] if m["name"] == "split")
    assert [p["kind"] for p in split["parameters"]] == ["loop", "number", "new loop", "new loop"]


def test_a_schedule_is_checked_as_somebody_types(
    real: FlaskClient, compiled: dict[str, Any]
) -> None:
    right = checked(real, compiled, compiled["text"])
    assert right["problems"] == []
    assert right["n_moves"] == len(compiled["text"].strip().split("\n"))
    begins = next(n for n in right["nests"] if n["line"] == 0)
    first = begins["loops"][0]
    wrong = f"Y: split({first}, 2, a, b)\n  Y: unroll(b, missing)\nY: spilt(a, 2)\nnonsense"
    found = checked(real, compiled, wrong)["problems"]
    places = [(p["where"]["line"], p["where"]["column"], p["where"]["length"]) for p in found]
    assert places == [(2, 16, len("missing")), (3, 4, len("spilt")), (4, 9, 1)]
    assert "there is no loop 'missing'" in found[0]["message"]
    assert "did you mean 'split'" in found[1]["message"]


def test_an_edited_kernel_is_run_beside_its_own(
    real: FlaskClient, compiled: dict[str, Any]
) -> None:
    plain = "// no moves\n"
    done = run(real, compiled, plain)
    assert (done["kind"], done["state"]) == ("schedule", "succeeded"), done["error"]
    found = real.get(f"/api/v1/jobs/{done['id']}/schedules").get_json()
    check_shape(found, "EditedKernel")
    assert found["text"] == plain
    assert found["original"]["schedule"] == compiled["text"]
    assert found["edited"]["schedule"] == ""
    assert found["original"]["asm"] != found["edited"]["asm"]
    assert found["outputs"]
    assert all(o["agrees"] for o in found["outputs"])
    times = found["times"]
    assert times["low"] <= times["ratio"] <= times["high"]
    assert times["rounds"] >= 5


def test_the_same_text_gives_the_same_code(real: FlaskClient, compiled: dict[str, Any]) -> None:
    done = run(real, compiled, compiled["text"])
    found = real.get(f"/api/v1/jobs/{done['id']}/schedules").get_json()
    assert found["edited"]["asm"] == found["original"]["asm"]
    assert all(o["max_abs_error"] == 0 for o in found["outputs"])


def test_a_mistake_and_too_much_code_fail_with_their_reason(
    real: FlaskClient, compiled: dict[str, Any]
) -> None:
    error = run(real, compiled, "Y: unroll(nowhere)")["error"]
    assert (error["code"], error["where"]["line"]) == ("E-SCHEDULE-MOVE", 1)
    loops = next(n for n in checked(real, compiled, "")["nests"] if n["line"] == 0)["loops"]
    bomb = f"Y: unroll({', '.join(loops)})"
    error = run(real, compiled, bomb)["error"]
    assert error["code"] == "E-LIMIT-CODE"
    assert checked(real, compiled, bomb)["problems"][0]["code"] == "E-LIMIT-CODE"


def test_a_kernel_for_open_sizes_is_compiled_and_not_run(real: FlaskClient) -> None:
    job = compiled_job(real)
    rows = real.get(f"/api/v1/jobs/{job}/result").get_json()["kernels"]
    of = {"job": job, "kernel": next(k["kernel"] for k in rows if "schedule" in k["parts"])}
    done = run(real, of, "")
    found = real.get(f"/api/v1/jobs/{done['id']}/schedules").get_json()
    assert found["times"] is None or found["because"] == ""


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"kernel": -1, "text": ""},
        {"kernel": 0, "text": 3},
        {"kernel": 0, "text": "x" * (CHARACTERS + 1)},
    ],
)
def test_a_wrong_request_is_told_what_was_needed(client: FlaskClient, body: Any) -> None:
    job = wait(client, submit(client)["id"])["id"]
    answer = client.post(f"/api/v1/jobs/{job}/schedules", json=body)
    assert answer.status_code == 400
    assert answer.get_json()["error"]["code"] == "E-REQUEST-BODY"


def test_what_is_not_there_is_told(real: FlaskClient, compiled: dict[str, Any]) -> None:
    at = f"/api/v1/jobs/{compiled['job']}"
    assert real.post(f"{at}/schedules", json={"kernel": 99, "text": ""}).status_code == 404
    assert real.post(f"{at}/kernels/99/schedule/check", json={"text": ""}).status_code == 404
    assert real.get(f"{at}/schedules").status_code == 409
