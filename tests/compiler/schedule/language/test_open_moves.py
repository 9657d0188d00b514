"""Tests of random schedules of computations with open sizes: correct for every size."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

from compiler.compute.evaluate import evaluate
from compiler.compute.text import parse_computation
from compiler.loops.interpret import interpret
from compiler.loops.sizes import with_sizes
from compiler.loops.verify import verify_kernel
from compiler.schedule.language.replay import replay, replay_lines
from tests.compiler.schedule.language.test_random_moves import (
    OPTIONS,
    Case,
    random_schedule,
    refused,
)
from tests.physical_arrays import memory_for

OPEN = {
    "product": """
    computation dense(A: f32[N,7], B: f32[7,M]) -> Y: f32[N,M] {
      Y[m, n] = reduce_add([k], mul(A[m, k], B[k, n]))  for m<N, n<M, k<7
    }""",
    "depth": """
    computation dense(A: f32[3,N], B: f32[N,5]) -> Y: f32[3,5] {
      Y[m, n] = reduce_add([k], mul(A[m, k], B[k, n]))  for m<3, n<5, k<N }""",
    "turned": """
    computation iteration(A: f32[N,M]) -> Y: f32[M,N] {
      Y[i, j] = mul(A[j, i], f32(2.0))  for i<M, j<N }""",
}


@pytest.mark.parametrize("name", OPEN)
def test_random_schedules_are_right_for_every_size(name: str) -> None:
    computation = parse_computation(OPEN[name])
    case = Case(computation, frozenset(), {}, {})
    n_run = 0
    for seed in range(12):
        lines = random_schedule(random.Random(seed), case)
        with refused() as codes:
            kernel = replay_lines(lines, computation, frozenset(), OPTIONS).kernel
            verify_kernel(kernel)
            for n, m in ((1, 3), (10, 6), (29, 18)):
                sizes = {s: v for s, v in {"N": n, "M": m}.items() if s in kernel.sizes}
                known = parse_computation(OPEN[name].replace("N", str(n)).replace("M", str(m)))
                rng = np.random.default_rng(seed)
                memory = {
                    b.name: rng.normal(size=b.shape).astype(np.float32)
                    for b in with_sizes(kernel, sizes).params
                }
                given = {i: memory[i] for i in known.inputs}
                interpret(kernel, memory, sizes)
                wanted = evaluate(known, given)
                np.testing.assert_allclose(memory["Y"], wanted["Y"], rtol=1e-4, atol=1e-5)
            n_run += 1
        assert codes in ([], ["E-SCHEDULE-MOVE"], ["E-LIMIT-CODE"])
    assert n_run >= 4


BLOCK_OF_ROWS = """
Y: split(x, 12, xb, xr)
Y: split(xr, 4, xro, xri)
Y: split(o, 8, oo, ol)
Y: reorder(n, xb, oo, xro, kx, i, xri, ol)
Y: vectorize(ol)
Y: unroll(xri)
Y: cache_read(X, xb)
Y: pack(W)
Y: prefetch(W, i, 6, xro, 2)
"""

CONVOLUTION = """
computation conv(X: f32[N,3,2*M+1], W: f32[19,3,3]) -> Y: f32[N,19,M] {
  Y[n, o, x] = reduce_add([kx, i], mul(X[n, i, 2*x+kx], W[o, i, kx]))
    for n<N, o<19, x<M, kx<3, i<3
}"""


@pytest.mark.parametrize("n_rows", [1, 2, 3, 4, 7, 11, 12, 13, 24, 34])
def test_every_remainder_of_an_open_block_copies_its_own_rows(n_rows: int) -> None:
    open_rows = parse_computation(CONVOLUTION)
    made = replay(BLOCK_OF_ROWS, open_rows, frozenset({"W"}), OPTIONS)
    verify_kernel(made.kernel)
    known = parse_computation(CONVOLUTION.replace("N", "2").replace("M", str(n_rows)))
    rng = np.random.default_rng(n_rows)
    arrays = {
        name: rng.normal(size=known.tensors[name].static_shape).astype(np.float32)
        for name in known.inputs
    }
    kernel = with_sizes(made.kernel, {"N": 2, "M": n_rows})
    memory = memory_for(replace(made, kernel=kernel), known.tensors, arrays)
    interpret(kernel, memory)
    wanted = evaluate(known, arrays)
    np.testing.assert_allclose(memory["Y"], wanted["Y"], rtol=1e-4, atol=1e-5)


def test_an_open_number_of_tiles_prefetches_the_parts_in_turn() -> None:
    lines = """
    Y: split(m, 4, mo, mi)
    Y: reorder(n, mo, mi, k)
    Y: prefetch(B, k, 6, mo, 2)
    """
    kernel = replay(lines, parse_computation(OPEN["product"]), frozenset(), OPTIONS).kernel
    assert "prefetch B[(k+mo%2)//2+3*(mo%2)+6, n]" in str(kernel)
