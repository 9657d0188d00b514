"""Random schedules of computations whose sizes only a run tells: right for every size."""

from __future__ import annotations

import random

import numpy as np
import pytest

from compiler.compute.evaluate import evaluate
from compiler.compute.text import parse_computation
from compiler.loops.interpret import interpret
from compiler.loops.sizes import with_sizes
from compiler.loops.verify import verify_kernel
from compiler.schedule.language.replay import replay_lines
from tests.compiler.schedule.language.test_random_moves import (
    OPTIONS,
    Case,
    random_schedule,
    refused,
)

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
