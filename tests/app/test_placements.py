"""Tests of placement jobs: requests over HTTP, and schedules from a child process."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from app.wire import placements
from compiler.place.place import SCHEDULERS
from compiler.place.place import place as schedule
from compiler.place.platform_text import load_platform
from compiler.place.tasks_text import parse_tasks
from tests.app.conftest import jobs_of, started, submit, wait
from tests.app.direct import replace_part
from tests.app.schema import check_shape

QUICK = [s.name for s in SCHEDULERS.values() if s.is_quick]


def place(client: FlaskClient, job: str, **fields: Any) -> dict[str, Any]:
    return started(client, f"/jobs/{job}/placements", **fields)


def test_schedulers_stand_side_by_side_and_each_schedule_can_be_read(real, compiled):
    placing = place(real, compiled, platform="npu", scheduler="cp_sat", ahead=1)
    assert (placing["kind"], placing["state"]) == ("place", "succeeded")
    at = f"/api/v1/jobs/{placing['id']}/placements"
    found = real.get(at).get_json()
    assert (found["job"], found["platform"], found["ahead"]) == (compiled, "npu", 1)
    assert [r["scheduler"] for r in found["rows"]] == ["cp_sat", *QUICK]
    nodes = {k["node"] for k in real.get(f"/api/v1/jobs/{compiled}/result").get_json()["kernels"]}
    for row in found["rows"]:
        made = real.get(f"{at}/{row['scheduler']}").get_json()
        assert made["makespan_seconds"] == row["makespan_seconds"] >= found["bound_seconds"]
        assert {t["task"] for t in made["tasks"]} == nodes
        assert {m["task"] for m in made["moves"]} <= nodes
        assert any(x["is_critical"] for x in made["tasks"])
        for memory, course in made["held_bytes"].items():
            assert max(n for _, n in course) == made["peak_bytes"][memory]
        assert made["peak_bytes"]["sram"] <= 8388608


TASKS = """
tasks chain {
  given x: 1000000 bytes
  weight w: 2000000 bytes
  h: 1000000 bytes = a(x, w) as conv, 900000000000 flops, 3000000 read, 1000000 written <- Conv_0
  y: 1000000 bytes = b(h) as relu, 1 flops, 1000000 read, 1000000 written <- Relu_1
  return y
}
"""


def test_a_schedule_with_transfers_has_the_described_shape():
    tasks = parse_tasks(TASKS)
    made = schedule(tasks, load_platform("npu"), scheduler="peft")
    payload = placements.placement("peft", tasks, made)
    check_shape(payload, "Placement")
    assert {(m["datum"], m["task"]) for m in payload["moves"]} >= {("x", "a"), ("w", "a")}


def test_the_same_again_is_answered_with_the_job_that_has_done_it(real, compiled):
    first = place(real, compiled, platform="gpu")
    assert (
        place(real, compiled, platform="gpu", scheduler="iterated", ahead=None)["id"] == first["id"]
    )
    assert place(real, compiled, platform="gpu", ahead=0)["id"] != first["id"]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "platform: needed one of board, "),
        ({"platform": "/etc/passwd"}, "platform: needed one of board, "),
        ({"platform": ["gpu"]}, "platform"),
        ({"platform": "gpu", "scheduler": "hefty"}, "scheduler: needed one of iterated, "),
        ({"platform": "gpu", "scheduler": ["heft"]}, "scheduler"),
        ({"platform": "gpu", "ahead": -1}, "ahead: needed null or a number"),
        ({"platform": "gpu", "ahead": True}, "ahead"),
        ({"platform": "gpu", "contention": 1}, "contention: needed true or false"),
        ({"platform": "gpu", "compiled": "/"}, "needed only the fields"),
        ([], "the request: needed an object"),
    ],
)
def test_a_wrong_request_is_told_what_was_needed(client, fields, says):
    job = wait(client, submit(client)["id"])["id"]
    answer = client.post(f"/api/v1/jobs/{job}/placements", json=fields)
    assert answer.status_code == 400
    assert answer.get_json()["error"]["code"] == "E-REQUEST-BODY"
    assert says in answer.get_json()["error"]["message"]


def test_what_was_not_compiled_cannot_be_placed(client):
    answer = client.post("/api/v1/jobs/nothing/placements", json={"platform": "gpu"})
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (404, "E-REQUEST-UNKNOWN")
    job = wait(client, submit(client)["id"])["id"]  # this job has no kernels
    answer = client.post(f"/api/v1/jobs/{job}/placements", json={"platform": "gpu"})
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (409, "E-RESULT-ABSENT")
    for path in ("placements", "placements/heft"):
        answer = client.get(f"/api/v1/jobs/{job}/{path}")
        assert answer.status_code == 409
    answer = client.get(f"/api/v1/jobs/{job}/placements/hefty")
    assert answer.status_code == 404


def test_a_scheduler_that_refuses_leaves_the_others_their_rows(real, compiled):
    kept = jobs_of(real).find(compiled).folder
    many = "\n".join(f"  v{i}: 8 bytes = t{i}()" for i in range(401))
    text = f"tasks many {{\n{many}\n}}"
    assert len(parse_tasks(text).tasks) == 401
    replace_part(kept, "tasks", {"version": 1, "text": text})
    placing = place(real, compiled, platform="two-cores", scheduler="cp_sat")
    assert placing["state"] == "succeeded"
    rows = real.get(f"/api/v1/jobs/{placing['id']}/placements").get_json()["rows"]
    assert [r["problem"] is None for r in rows] == [False] + [True] * len(QUICK)
    assert rows[0]["problem"]["code"].startswith("E-")
    answer = real.get(f"/api/v1/jobs/{placing['id']}/placements/cp_sat")
    assert answer.status_code == 409


def test_platforms_and_schedulers_come_with_their_words(client):
    found = client.get("/api/v1/platforms").get_json()
    assert {"board", "gpu", "npu", "two-cores"} <= {p["name"] for p in found["platforms"]}
    assert all(x["words"] for x in (*found["platforms"], *found["schedulers"]))
    assert [s["name"] for s in found["schedulers"]] == list(SCHEDULERS)
