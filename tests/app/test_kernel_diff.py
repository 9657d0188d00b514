"""The texts of two kernels over the wire, line by line: of two jobs, or of one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from app import create_app
from app.api import ROUTES
from app.api.openapi import description
from tests.app.conftest import wait
from tests.app.schema import check

COMPILE = {
    "kind": "compile",
    "model": {"sample": "digits_mlp"},
    "shapes": {"image": [1, 1, 8, 8]},
    "options": {"measure": False, "check": False, "accuracy": False},
}


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    """A client of an application whose children do real work; all tests here share it."""
    app = create_app({"data_folder": tmp_path_factory.mktemp("data"), "keep_spare_child": False})
    yield app.test_client()
    app.extensions["jobs"].stop()


@pytest.fixture(scope="module")
def results(real: FlaskClient) -> list[Any]:
    """One model compiled with all passes and with none."""
    found = []
    for pipeline in ("default", "O0"):
        job = real.post("/api/v1/jobs", json={**COMPILE, "pipeline": pipeline}).get_json()["id"]
        assert wait(real, job)["state"] == "succeeded"
        found.append(real.get(f"/api/v1/jobs/{job}/result").get_json())
    return found


def test_kernels_of_two_jobs_are_told_apart_old_against_new(real, results):
    old, new = results
    first, second = (
        next(k["kernel"] for k in each["kernels"][1:] if "asm" in k["parts"]) for each in results
    )
    before = real.get(f"/api/v1/jobs/{old['job']}/kernels/{first}/asm").get_json()["text"]
    after = real.get(f"/api/v1/jobs/{new['job']}/kernels/{second}/asm").get_json()["text"]
    diff = real.get(
        f"/api/v1/jobs/{new['job']}/kernels/{second}/asm/diff",
        query_string={"against": old["job"], "kernel": first, "context": 1000},
    ).get_json()
    described = description(ROUTES)
    check(diff, described["components"]["schemas"]["KernelDiff"], described)
    assert diff["against"] == {"job": old["job"], "kernel": first}
    assert [r[3] for r in diff["rows"] if r[0] in " -"] == before.split("\n")
    assert [r[3] for r in diff["rows"] if r[0] in " +"] == after.split("\n")
    assert diff["n_removed"] > 0


def test_a_kernel_is_the_same_as_itself(real, results):
    path = f"/api/v1/jobs/{results[0]['job']}/kernels/1/loops/diff"
    same = real.get(path).get_json()
    assert (same["n_added"], same["n_removed"]) == (0, 0)


@pytest.mark.parametrize(
    ("part", "query", "status"),
    [
        ("asm", "against=nothing", 404),
        ("asm", "kernel=999", 404),
        ("asm", "kernel=-1", 400),
        ("asm", "context=2000", 400),
        ("bits", "", 404),
    ],
)
def test_what_is_not_there_is_said(real, results, part, query, status):
    path = f"/api/v1/jobs/{results[0]['job']}/kernels/1/{part}/diff?{query}"
    assert real.get(path).status_code == status
