"""Tests of the line-by-line diff of two kernels, of two jobs or of a single job."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.app.conftest import compiled_job
from tests.app.schema import check_shape

MODEL = {"model": {"sample": "digits_mlp"}, "shapes": {"image": [1, 1, 8, 8]}}


@pytest.fixture(scope="module")
def results(real: FlaskClient) -> list[Any]:
    """The results of one model, compiled with all passes and with none."""
    found = []
    for pipeline in ("default", "O0"):
        job = compiled_job(real, **MODEL, pipeline=pipeline)
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
    check_shape(diff, "KernelDiff")
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
