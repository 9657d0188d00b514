"""Tests of the work of loops by kind, on Loop IR as text."""

from __future__ import annotations

import pytest

from compiler.diagnosis.work import Work, work_of
from compiler.loops.text import parse_kernel
from compiler.targets.target import by_name

TARGET = by_name("x86-64-v3")  # eight lanes of f32


def work(text: str) -> Work:
    return work_of(parse_kernel(text), TARGET)


def test_vectors_are_counted_once_for_all_lanes() -> None:
    found = work(
        "kernel k(x: f32[3,24] input, y: f32[3,24] output) {"
        " for i in 0..3 { vector j in 0..24 { y[i, j] = neg(x[i, j]) } } }"
    )
    one_read_one_operation_one_store = 3
    assert found.steps == {"vector": 3 * 3 * one_read_one_operation_one_store}
    assert found.idle_lanes == 0


def test_statements_outside_vector_loops_are_scalar() -> None:
    found = work(
        "kernel k(x: f32[5,7] input, y: f32[5,7] output) {"
        " for i in 0..5 { for j in 0..7 { y[i, j] = neg(x[i, j]) } } }"
    )
    assert found.steps == {"scalar": 5 * 7 * 3}


@pytest.mark.parametrize(
    ("read", "kind"), [("x[i, j]", "vector"), ("x[j, i]", "strided"), ("x[i, 0]", "vector")]
)
def test_only_a_stride_between_lanes_counts_as_strided(read: str, kind: str) -> None:
    found = work(
        "kernel k(x: f32[16,16] input, y: f32[16,16] output) {"
        f" for i in 0..16 {{ vector j in 0..16 {{ y[i, j] = {read} }} }} }}"
    )
    assert ("strided" in found.steps) == (kind == "strided")


def test_a_store_with_a_stride_accesses_each_lane() -> None:
    found = work(
        "kernel k(x: f32[9,16] input, y: f32[16,9] output) {"
        " for i in 0..9 { vector j in 0..16 { y[j, i] = x[i, j] } } }"
    )
    assert found.steps == {"vector": 9 * 2, "strided": 9 * 2 * 8}


def test_functions_and_computed_indices_are_kinds_of_their_own() -> None:
    found = work(
        "kernel k(x: f32[40] input, p: i64[8] input, y: f32[8] output, z: f32[8] output) {"
        " vector j in 0..8 { y[j] = exp(tanh(x[j])) }"
        " for j in 0..8 { z[j] = fetch(x, p[j]) } }"
    )
    assert found.steps["function"] == 2 * 30
    assert set(found.functions) == {"exp", "tanh"}
    assert found.steps["computed"] == 8 * 30


def test_rows_shorter_than_vectors_leave_lanes_idle() -> None:
    found = work(
        "kernel k(x: f32[4,10] input, y: f32[4,10] output) {"
        " for i in 0..4 { vector j in 0..10 { y[i, j] = neg(x[i, j]) } } }"
    )
    assert found.idle_lanes == pytest.approx(6 / 16)
