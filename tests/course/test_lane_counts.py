"""Tests of the model of registers, against counts by hand and against LLVM's code."""

from __future__ import annotations

import pytest

from compiler.compute.text import parse_computation
from compiler.runtime.kernel_code import code_of
from compiler.schedule.language.replay import replay
from compiler.targets.options import CodeOptions
from compiler.targets.target import by_name
from course.lane_counts import LaneCounts, lane_counts
from course.loop_counts import scheduled

SCALED = """computation scaled(A: f32[6,50]) -> Y: f32[6,50] {
  Y[i, j] = mul(A[i, j], A[i, j])  for i<6, j<50
}"""


def product(m: int, n: int, k: int) -> str:
    return f"""computation product(A: f32[{m},{k}], B: f32[{k},{n}]) -> Y: f32[{m},{n}] {{
      Y[m, n] = reduce_add([k], mul(A[m, k], B[k, n]))  for m<{m}, n<{n}, k<{k}
    }}"""


def tiled(rows: int, vectors: int, lanes: int) -> str:
    return f"""Y: split(n, {vectors * lanes}, no, nm)
Y: split(nm, {lanes}, nv, nl)
Y: split(m, {rows}, mo, mi)
Y: reorder(no, mo, k, mi, nv, nl)
Y: unroll(mi, nv)
Y: vectorize(nl)
"""


def counted(computation: str, schedule: str, target: str) -> LaneCounts | None:
    kernel = scheduled(schedule, parse_computation(computation), frozenset()).kernel
    return lane_counts(kernel, by_name(target))


def test_counts_by_hand() -> None:
    found = counted(product(12, 32, 7), tiled(6, 2, 8), "x86-64-v3")
    steps = 2 * 2 * 7
    outside = 2 * 2 * 2 * 12  # setting the sums to zero, and storing them
    assert found == LaneCounts(12 + 2 + 1, steps * 12 + outside, steps * (6 + 2))


def test_a_vector_counts_once_for_each_register_of_lanes() -> None:
    whole = "Y: vectorize(j)"
    for target, n in (("x86-64-v4", 4), ("x86-64-v3", 7), ("aarch64", 13)):
        found = counted(SCALED, whole, target)
        assert found is not None
        assert (found.operations, found.loads) == (6 * n, 6 * n)


def test_lanes_that_are_apart_are_loaded_one_by_one() -> None:
    apart = "Y: reorder(j, i)\nY: vectorize(i)"
    found = counted(SCALED, apart, "x86-64-v3")
    assert found is not None
    assert (found.operations, found.loads) == (50, 50 * 6)


def test_sums_of_two_nests_are_never_live_at_once() -> None:
    strips = "Y: split(n, 32, no, nl)\nY: reorder(no, k, m, nl)\nY: unroll(m)\nY: vectorize(nl)"
    found = counted(product(9, 40, 20), strips, "x86-64-v4")
    assert found is not None
    assert found.registers == 9 * 2 + 2 + 1, "the strip of eight columns has its own sums, later"


@pytest.mark.parametrize(
    ("target", "lanes", "rows", "vectors", "fits"),
    [
        ("x86-64-v3", 8, 4, 3, True),
        ("x86-64-v3", 8, 3, 4, False),
        ("x86-64-v3", 8, 7, 2, False),
        ("x86-64-v4", 16, 14, 2, True),
        ("x86-64-v4", 16, 15, 2, False),
        ("aarch64", 4, 5, 5, True),
        ("aarch64", 4, 6, 5, False),
    ],
)
def test_the_model_knows_which_tiles_llvm_spills(
    target: str, lanes: int, rows: int, vectors: int, fits: bool
) -> None:
    machine = by_name(target)
    computation = parse_computation(product(2 * rows, 3 * vectors * lanes, 40))
    text = tiled(rows, vectors, lanes)
    found = lane_counts(scheduled(text, computation, frozenset()).kernel, machine)
    assert found is not None
    code = code_of(replay(text, computation, frozenset(), CodeOptions(machine)), machine)
    needs = found.registers <= machine.n_vector_registers
    assert (needs, code.counts.n_spills == 0) == (fits, fits)
