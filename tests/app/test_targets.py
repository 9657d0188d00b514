"""Tests of target jobs: the code of a kernel for other machines, from a child process."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from compiler.codegen.listing import CLASSES
from compiler.targets.target import names
from tests.app.conftest import started, submit, wait


def kernel_of(client: FlaskClient, job: str, words: str) -> dict[str, Any]:
    rows = client.get(f"/api/v1/jobs/{job}/result").get_json()["kernels"]
    return next(k for k in rows if k["words"] == words)


def make(client: FlaskClient, job: str, kernel: int) -> dict[str, Any]:
    return started(client, f"/jobs/{job}/targets", kernel=kernel)


def test_a_kernel_has_code_for_every_target(real: FlaskClient, compiled: str) -> None:
    kernel = kernel_of(real, compiled, "contraction")["kernel"]
    made = make(real, compiled, kernel)
    assert (made["kind"], made["state"]) == ("targets", "succeeded")
    at = f"/api/v1/jobs/{made['id']}/targets"
    found = real.get(at).get_json()
    assert (found["job"], found["kernel"]) == (compiled, kernel)
    assert [row["target"] for row in found["rows"]] == names()
    rows = {row["target"]: row for row in found["rows"]}
    for name, row in rows.items():
        code = real.get(f"{at}/{name}").get_json()
        assert not row["because"]
        assert sum(row["counts"].values()) == row["n_instructions"] > 50
        assert list(row["counts"]) == list(CLASSES)
        assert row["n_bytes"] > row["n_instructions"]
        assert len(code["links"]["asm"]) in (0, code["asm"].count("\n") + 1)
        assert len(code["links"]["llvm"]) == code["llvm"].count("\n") + 1
    assert rows["x86-64"]["counts"]["fma"] == 0 < rows["x86-64-v3"]["counts"]["fma"]
    assert [rows[n]["widest_bytes"] for n in ("x86-64", "x86-64-v3", "x86-64-v4")] == [16, 32, 64]
    assert rows["wasm32-simd128"]["n_registers"] is None
    assert make(real, compiled, kernel)["id"] == made["id"]


@pytest.mark.parametrize("body", [{}, {"kernel": -1}, {"kernel": True}, {"kernel": 0, "x": 1}, []])
def test_a_wrong_request_is_told_what_was_needed(client: FlaskClient, body: Any) -> None:
    job = wait(client, submit(client)["id"])["id"]
    answer = client.post(f"/api/v1/jobs/{job}/targets", json=body)
    assert answer.status_code == 400
    assert answer.get_json()["error"]["code"] == "E-REQUEST-BODY"


def test_what_is_not_there_is_told(real: FlaskClient, compiled: str) -> None:
    posted = real.post(f"/api/v1/jobs/{compiled}/targets", json={"kernel": 99})
    assert posted.status_code == 404
    assert "there is no kernel 99" in posted.get_json()["error"]["message"]
    assert real.get(f"/api/v1/jobs/{compiled}/targets").status_code == 409
    assert real.get(f"/api/v1/jobs/{compiled}/targets/pdp-11").status_code == 404
    assert real.get(f"/api/v1/jobs/{compiled}/targets/aarch64").status_code == 409
