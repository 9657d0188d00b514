"""Tests that a run allocates the memory of its plan and writes only inside.

The test does not rely on the planner: it intercepts allocations and returns memory filled with a
pattern between guard bytes. Every byte that differs from the pattern after a run was written.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import compiler
from compiler.ir.graph import Graph
from compiler.ir.operator import Array
from compiler.memory.buffer import Plan
from compiler.runtime import frame
from compiler.runtime.inputs import random_inputs
from compiler.runtime.program import Program
from compiler.runtime.storage import LINE_BYTES
from tests.models import light_model, ocr_model
from tests.platforms import needs_own_threads
from tests.random_graphs import random_feeds, random_graphs
from tests.wired_graphs import wired

GUARD_BYTES = 4096

PATTERNS = (0xA5, 0x5A)
"""Two patterns, since a written byte may equal the pattern by chance."""

Feeds = Mapping[str, Array]


class Guarded:
    """An allocation between guard bytes, and the entire memory."""

    def __init__(self) -> None:
        self.whole: list[Array] = []

    def __call__(self, nbytes: int) -> Array:
        """Return this many bytes that start at a cache line."""
        room = np.empty(nbytes + 2 * GUARD_BYTES + LINE_BYTES, np.uint8)
        start = -room.ctypes.data % LINE_BYTES
        whole = room[start : start + nbytes + 2 * GUARD_BYTES]
        whole[:] = PATTERNS[0]
        self.whole.append(whole)
        return whole[GUARD_BYTES:-GUARD_BYTES]


def written(whole: Array, pattern: int) -> Array:
    """Return for each byte between the guards whether it was written. Fail if a guard was."""
    changed = whole != pattern
    before, behind = changed[:GUARD_BYTES], changed[-GUARD_BYTES:]
    assert not before.any(), f"{before.sum()} bytes before the arena were written"
    assert not behind.any(), f"{behind.sum()} bytes after the arena were written"
    return changed[GUARD_BYTES:-GUARD_BYTES]


def arena_bytes(plan: Plan) -> int:
    """Return the requested bytes, at least one."""
    return max(plan.peak_bytes, 1)


def planned(plan: Plan) -> Array:
    """Return for each byte of the arena whether a buffer of the plan covers it."""
    found = np.zeros(arena_bytes(plan), bool)
    for b in plan.buffers:
        found[b.offset : b.limit] = True
    return found


def touched(program: Program, feeds: Feeds) -> Array:
    """Run twice in watched memory; return for each byte of the arena whether it was written."""
    plan = program.memory
    memory = Guarded()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frame, "aligned_bytes", memory)
        first = program.run(feeds)
        made_bytes = [w.nbytes - 2 * GUARD_BYTES for w in memory.whole]
        assert made_bytes == [arena_bytes(plan)], "a run allocates one arena of the planned size"
        (whole,) = memory.whole
        found = written(whole, PATTERNS[0])
        whole[:] = PATTERNS[1]
        again = program.run(feeds)
        found |= written(whole, PATTERNS[1])
        assert len(memory.whole) == 1, "the next run reuses the arena"
    for name, value in first.items():
        same = np.asarray(again[name]).tobytes() == np.asarray(value).tobytes()
        assert same, f"{name} depends on bytes that the run did not write"
    assert not (found & ~planned(plan)).any(), "bytes between buffers were written"
    return found


def used_to_the_end(program: Program, feeds: Feeds) -> None:
    """Check that runs respect the plan and write the last cache line of the arena."""
    found = touched(program, feeds)
    assert found[-LINE_BYTES:].any(), "runs do not write the end of the arena"


MODELS = {
    "squeezenet": (light_model("squeezenet"), {}),
    "ocr": (ocr_model("ch_ppocr_mobile_v2.0_cls_infer"), {"x": (1, 3, 48, 192)}),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_keep_to_the_plan(name: str) -> None:
    path, shapes = MODELS[name]
    graph = compiler.load(path)
    program = compiler.compile(graph, inputs=shapes, trace=False)
    used_to_the_end(program, random_inputs(graph, 1, shapes))


WAYS = {
    "plain": {},
    "bf16": {"precision": "bf16"},
    "threads": {"threads": 3},
    "branches": {"threads": 2, "spread": "branches"},
}


@pytest.mark.parametrize("way", WAYS)
@needs_own_threads
def test_threads_branches_and_precisions_keep_to_the_plan(way: str) -> None:
    graph = wired(30, 2)
    touched(compiler.compile(graph, **WAYS[way]), random_inputs(graph))


def test_a_program_within_a_limit_asks_for_no_more() -> None:
    down = [f"d{i}: f32[48,48] = matmul({f'd{i - 1}' if i else 'x'}, w)" for i in range(6)]
    up = [f"u{i}: f32[48,48] = matmul({f'u{i + 1}' if i < 4 else 'd5'}, d{i})" for i in range(5)]
    body = "\n  ".join([*down, *reversed(up)])
    graph = compiler.parse(f"graph g(x: f32[48,48], w: f32[48,48]) {{\n  {body}\n  return u0\n}}")
    free = compiler.compile(graph, "fuse")
    limit_bytes = free.memory.peak_bytes * 7 // 10
    limited = compiler.compile(graph, "fuse", memory_limit_bytes=limit_bytes)
    assert touched(limited, random_inputs(graph)).size <= limit_bytes


@settings(
    max_examples=40,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(random_graphs(max_steps=14))
def test_random_graphs_keep_to_the_plan(graph: Graph) -> None:
    touched(compiler.compile(graph, trace=False), random_feeds(graph, 1))


def test_what_is_written_outside_is_seen() -> None:
    memory = Guarded()
    memory(100)[3:5] = 0
    (whole,) = memory.whole
    assert list(written(whole, PATTERNS[0]).nonzero()[0]) == [3, 4]
    whole[GUARD_BYTES + 100] = 0
    with pytest.raises(AssertionError, match="1 bytes after the arena were written"):
        written(whole, PATTERNS[0])
