"""Tests of a server where no sandbox can be built: what it refuses, and what still works."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from flask.testing import FlaskClient

from app.config import Settings
from app.jobs.isolation import Isolation, is_ours
from app.jobs.limits import Limits
from app.jobs.task import Task
from app.serve import require_protection
from compiler.errors import CompileError
from sandbox.result import SandboxError
from sandbox.selftest import UNTOLD
from tests.app.conftest import QUICK, MakeApp, jobs_of, started, until, wait

OBSTACLE, FIX = "bubblewrap is not installed", "sudo apt-get install bubblewrap"
REAL = "app.jobs.fork_server_process"
TEXT = b"graph g(x: f32[2]) {\n  y: f32[2] = neg(x)\n  return y\n}"


def reporting(**report: Any) -> list[str]:
    """Return a command that prints this report of a self-test."""
    whole = {"obstacle": "", "fix": "", "findings": [], **report}
    return [sys.executable, "-c", f"print({json.dumps(whole)!r})"]


def finding(*, ok: bool, found: str = "a survivor") -> dict[str, Any]:
    words = "" if ok else found
    return {"ok": ok, "claim": "Nothing survives.", "found": words, "fix": "boot Linux 6"}


ABSENT = reporting(obstacle=OBSTACLE, fix=FIX)


@pytest.fixture
def bare(make_app: MakeApp) -> Callable[..., FlaskClient]:
    """A factory of clients of servers whose self-test reports that bubblewrap is missing."""

    def made(**settings: Any) -> FlaskClient:
        client = make_app(**settings).test_client()
        jobs_of(client).runner.isolation.begin_self_test(ABSENT)
        return client

    return made


@pytest.mark.parametrize(
    ("command", "state", "obstacle", "fix"),
    [
        (reporting(findings=[finding(ok=True)]), "complete", "", ""),
        (ABSENT, "absent", OBSTACLE, FIX),
        (
            reporting(findings=[finding(ok=True), finding(ok=False)]),
            "absent",
            "not true of the sandbox: Nothing survives.",
            "boot Linux 6",
        ),
        (
            [sys.executable, "-c", "raise SystemExit(3)"],
            "absent",
            "the self-test of the sandbox failed: JSONDecodeError",
            "compilarium doctor",
        ),
    ],
)
def test_the_self_test_decides(command, state, obstacle, fix):
    isolation = Isolation()
    isolation.begin_self_test(command)
    verdict = isolation.await_self_test()
    assert (verdict.state, verdict.obstacle, verdict.fix) == (state, obstacle, fix)


@pytest.mark.parametrize(("n_slow", "state"), [(1, "complete"), (9, "absent")])
def test_a_self_test_that_lacks_time_is_repeated(tmp_path, n_slow, state):
    """A busy machine must not have a server without a sandbox until its next start."""
    runs = tmp_path / "runs"
    slow, good = (
        json.dumps({"obstacle": "", "fix": "", "findings": [each]})
        for each in (finding(ok=False, found=f"{UNTOLD}: no message"), finding(ok=True))
    )
    code = (
        f"import pathlib; runs = pathlib.Path({str(runs)!r}); "
        "n = len(runs.read_text()) if runs.exists() else 0; runs.write_text('x' * (n + 1)); "
        f"print({slow!r} if n < {n_slow} else {good!r})"
    )
    isolation = Isolation()
    isolation.begin_self_test([sys.executable, "-c", code])
    assert isolation.await_self_test().state == state
    assert len(runs.read_text()) == min(n_slow + 1, 3)


def test_a_failed_self_test_is_repeated_later() -> None:
    """The machine may have lacked processes or memory when the server started."""
    tested = Isolation()
    tested.begin_self_test(ABSENT)
    assert tested.await_self_test().state == "absent"
    tested.command = reporting()
    assert tested.await_self_test().state == "absent", "not at once"
    tested.again_s = time.monotonic()
    until(lambda: tested.await_self_test().state == "complete")


def test_without_a_sandbox_what_strangers_write_is_refused(bare):
    client = bare()
    answers = [
        client.post("/api/v1/uploads?name=m.onnx", data=b"x"),
        client.post("/api/v1/texts/check", json={"language": "ir", "text": TEXT.decode()}),
    ]
    for answer in answers:
        error = answer.get_json()["error"]
        assert (answer.status_code, error["code"]) == (503, "E-SANDBOX-ABSENT")
        assert OBSTACLE in error["message"]
        assert error["hint"] == FIX
        assert "Retry-After" not in answer.headers, "the obstacle stays until it is removed"


def test_the_page_learns_of_the_obstacle_and_the_remedy(bare, make_app):
    found = bare().get("/api/v1/sandbox").get_json()
    assert found == {"version": 1, "state": "absent", "obstacle": OBSTACLE, "fix": FIX}
    assert make_app().test_client().get("/api/v1/sandbox").get_json()["state"] == "unknown"


def test_only_a_local_server_works_without_a_sandbox() -> None:
    require_protection(Settings(host="127.0.0.1", unsandboxed_local=True))
    with pytest.raises(CompileError, match="unsandboxed-local") as caught:
        require_protection(Settings(host="0.0.0.0", insecure=True, unsandboxed_local=True))
    assert caught.value.code == "E-OPTION-VALUE"


def test_without_a_sandbox_earlier_uploads_are_refused_too(make_app):
    client = make_app().test_client()
    upload = client.post("/api/v1/uploads?name=m.ir", data=TEXT).get_json()["id"]
    wanted = {"kind": "compile", "model": {"upload": upload}}
    made = wait(client, jobs_of(client).submit({**wanted, "pipeline": "none"}, "m").id)
    jobs_of(client).runner.isolation.begin_self_test(ABSENT)
    refused = client.post("/api/v1/jobs", json=wanted)
    assert (refused.status_code, refused.get_json()["error"]["code"]) == (503, "E-SANDBOX-ABSENT")
    with pytest.raises(CompileError, match=OBSTACLE):
        jobs_of(client).submit({"kind": "place", "job": made["id"]}, "m")


def test_without_a_sandbox_samples_are_compiled(bare):
    job = started(
        bare(worker_module=REAL), "/jobs", kind="compile", model={"sample": "digits_cnn"},
        options=QUICK,
    )  # fmt: skip
    assert job["state"] == "succeeded", job["error"]


def test_the_user_of_a_local_server_can_waive_the_sandbox(bare, caplog):
    with caplog.at_level(logging.WARNING, "compilarium.sandbox"):
        client = bare(worker_module=REAL, unsandboxed_local=True)
        isolation = jobs_of(client).runner.isolation
        assert isolation.await_self_test().state == "waived"
    assert "WITHOUT A SANDBOX" in caplog.text
    assert FIX in caplog.text
    upload = client.post("/api/v1/uploads?name=m.ir", data=TEXT).get_json()["id"]
    job = started(client, "/jobs", kind="compile", model={"upload": upload}, options=QUICK)
    assert job["state"] == "succeeded", job["error"]


def test_a_waiver_has_no_effect_where_the_sandbox_works():
    isolation = Isolation(is_waived=True)
    isolation.begin_self_test(reporting())
    assert isolation.await_self_test().state == "complete"


class NoHolder:
    def __init__(self, *_: Any) -> None:
        raise SandboxError(OBSTACLE, FIX)


def test_a_sandbox_that_cannot_be_built_is_never_replaced_silently(monkeypatch, caplog):
    monkeypatch.setattr("app.jobs.isolation.Holder", NoHolder)
    limits = Limits(1.0, 1 << 30, 1 << 20)
    isolation = Isolation()
    with pytest.raises(CompileError) as caught:
        isolation.enclose(Task({"kind": "compile", "model": {"upload": "x"}}, limits))
    assert (caught.value.code, caught.value.hint) == ("E-SANDBOX-ABSENT", FIX)
    assert isolation.verdict.state == "absent"
    assert OBSTACLE in caplog.text
    enclosure, _ = isolation.enclose(Task({"kind": "compile", "model": {"sample": "x"}}, limits))
    assert enclosure.holder is None


def test_a_passing_failure_lets_not_even_samples_out(monkeypatch):
    isolation = Isolation(is_waived=True)
    isolation.begin_self_test(reporting())
    isolation.await_self_test()
    monkeypatch.setattr("app.jobs.isolation.Holder", NoHolder)
    task = Task({"kind": "compile", "model": {"sample": "x"}}, Limits(1.0, 1 << 30, 1 << 20))
    with pytest.raises(CompileError, match=OBSTACLE):
        isolation.enclose(task)
    assert isolation.verdict.state == "complete"


@pytest.mark.parametrize(
    ("request_", "is_own"),
    [
        ({"kind": "compile", "model": {"sample": "a"}, "tuned": ""}, True),
        ({"kind": "place", "job": "x"}, True),
        ({"kind": "run", "job": "x", "inputs": {}}, True),
        ({"kind": "compile", "model": {"upload": "a"}}, False),
        ({"kind": "compile", "model": {"sample": "a"}, "tuned": "x"}, False),
        ({"kind": "run", "job": "x", "inputs": {"a": "b"}}, False),
        ({"kind": "schedule", "job": "x", "text": "split i 4"}, False),
    ],
)
def test_only_shipped_models_with_checked_values_are_ours(request_, is_own):
    assert is_ours(request_) is is_own
