"""Tests of f32 products computed from bf16 parts: errors, special numbers, and conditions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compiler.compute.evaluate import evaluate
from compiler.compute.text import parse_computation
from compiler.loops.nodes import Loop, walk_statements
from compiler.loops.text import parse_kernel
from compiler.loops.verify import verify_kernel
from compiler.schedule.language.replay import replay
from compiler.schedule.operands.packing import Packing
from compiler.schedule.policy import Scheduled, schedule
from compiler.targets.options import CodeOptions
from compiler.targets.target import by_name, host
from tests.kernel_runs import Array, run_native
from tests.physical_arrays import memory_for, picked_up

EMULATED = replace(host(), name="emulated", emulates_tiles=True)
FAST = CodeOptions(EMULATED, in_parts=True)

CLOSE = 1e-5
"""Error limit relative to the scale of results: that of docs/precision.md, and a hundredth of
bf16's error."""


def product(m: int, n: int, k: int, left: str = "A[m, k]") -> str:
    return f"""
    computation mm(A: f32[{m},{k}], W: f32[{k},{n}], B: f32[{n}]) -> Y: f32[{m},{n}] {{
      Y[m, n] = add(reduce_add([k], mul({left}, W[k, n])), B[n])  for m<{m}, n<{n}, k<{k}
    }}"""


CONVOLUTION = """
    computation cv(X: f32[2,32,6,5]{c16,halo=1x1}, W: f32[70,32,3,3])
    -> Y: f32[2,70,6,5]{c16} {
      Y[n, o, y, x] = reduce_add([i, ky, kx], mul(W[o, i, ky, kx],
        inside([(y+ky-1, 6), (x+kx-1, 5)], X[n, i, y+ky-1, x+kx-1], f32(0.0))))
        for n<2, o<70, y<6, x<5, i<32, ky<3, kx<3
    }"""


def in_tiles(made: Scheduled) -> bool:
    return any(isinstance(s, Loop) and s.kind == "tile" for s in walk_statements(made.kernel.body))


def run(made: Scheduled, text: str, arrays: dict[str, Array], threads: int = 1) -> Array:
    """Return the results of machine code for arrays."""
    c = parse_computation(text)
    verify_kernel(made.kernel)
    assert parse_kernel(str(made.kernel)) == made.kernel
    memory = memory_for(made, c.tensors, arrays)
    run_native(made.kernel, memory, EMULATED, threads=threads)
    return picked_up(memory["Y"], c.tensors["Y"])


def operands(text: str) -> dict[str, Array]:
    c, rng = parse_computation(text), np.random.default_rng(4)
    return {n: rng.standard_normal(c.tensors[n].static_shape).astype(np.float32) for n in c.inputs}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "text", [product(40, 70, 96), product(17, 64, 131), CONVOLUTION], ids=["even", "odd", "conv"]
)
def test_three_products_are_nearly_as_exact_as_f32(text: str, threads: int) -> None:
    c, arrays = parse_computation(text), operands(text)
    made = schedule(c, frozenset("W"), replace(FAST, threads=threads))
    assert in_tiles(made)
    found = run(made, text, arrays, threads)
    wide = {n: a.astype(np.float64) for n, a in arrays.items()}
    wanted = evaluate(parse_computation(text.replace("f32", "f64")), wide)["Y"]
    assert np.abs(found - wanted).max() <= CLOSE * np.abs(wanted).max()


def test_the_schedule_as_text_gives_the_same_kernel() -> None:
    c = parse_computation(product(40, 70, 96))
    made = schedule(c, frozenset("W"), FAST)
    again = replay(made.text, c, frozenset("W"), FAST)
    assert (again.kernel, again.packings) == (made.kernel, made.packings)


@pytest.mark.parametrize(
    ("text", "constants"),
    [
        (product(40, 60, 96), "W"),  # few columns for each number that is split
        (product(9, 70, 96), "W"),  # few rows
        (product(40, 70, 40), "W"),  # short sums
        (product(40, 70, 96), ""),  # not a constant
        (product(40, 70, 96, "max(A[m, k], f32(0.0))"), "W"),  # a value that is rounded first
    ],
)
def test_what_does_not_pay_or_is_no_product_stays_f32(text: str, constants: str) -> None:
    made = schedule(parse_computation(text), frozenset(constants), FAST)
    assert not in_tiles(made)
    assert all(b.dtype.label == "f32" for b in made.kernel.params)


def test_only_where_it_is_asked_for_and_tiles_are_there() -> None:
    c = parse_computation(product(40, 70, 96))
    for options in (CodeOptions(EMULATED), CodeOptions(by_name("x86-64-v4"), in_parts=True)):
        assert not in_tiles(schedule(c, frozenset("W"), options))


def test_special_numbers_never_look_like_results() -> None:
    """If f32 gives an infinity or NaN, parts give an infinity or NaN, in the same rows only."""
    text = product(40, 70, 96)
    c, arrays = parse_computation(text), operands(text)
    a = arrays["A"]
    a[0, 3], a[1, 4], a[2, 5], a[3, 6] = np.inf, -np.inf, np.nan, 3.4e38
    a[4] *= 1e-41
    found = run(schedule(c, frozenset("W"), FAST), text, arrays)
    with np.errstate(invalid="ignore", over="ignore"):
        wanted = evaluate(c, arrays)["Y"]
    assert not np.isfinite(found[:4]).any()
    assert not np.isfinite(wanted[:3]).any()
    assert np.isfinite(found[4:]).all()
    np.testing.assert_array_equal(found[4], arrays["B"])  # denormal numbers become 0
    np.testing.assert_allclose(found[5:], wanted[5:], atol=CLOSE * np.abs(wanted[5:]).max())


def test_a_constant_is_packed_in_parts_that_add_up_to_it() -> None:
    w = np.random.default_rng(1).standard_normal((3, 5)).astype(np.float32)
    made = Packing((2, 4, 5), (2, 2, 2, 5), (1, 0, 2, 3), parts=(1, 0)).apply(w)
    assert made.shape == (2, 2, 2, 5)
    lower, upper = made.transpose(1, 0, 2, 3).reshape(2, 4, 5).astype(np.float64)[:, :3]
    assert np.abs(upper + lower - w).max() <= 2.0**-16 * np.abs(w).max()
    assert np.abs(upper - w).max() <= 2.0**-8 * np.abs(w).max()
