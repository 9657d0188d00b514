"""Tests of independent chains of kernels, which run in parallel if this is faster."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

import compiler
from compiler.runtime import build
from compiler.runtime.inputs import random_inputs
from compiler.runtime.thunks.branches import sections
from compiler.targets.options import CodeOptions
from tests.platforms import needs_own_threads

pytestmark = needs_own_threads


def chain(name: str, source: str, n: int, sizes: tuple[int, int]) -> str:
    """Return consecutive small products, none of which is large enough to be shared."""
    rows, columns = sizes
    lines: list[str] = []
    for i in range(n):
        made = f"{name}{i}"
        lines.append(f"{made}: f32[{rows},{columns}] = matmul({source}, w{columns})")
        source = made
    return "\n".join(lines)


TWO = f"""graph g(x: f32[24,40], z: f32[21,48], w40: f32[40,40], w48: f32[48,48]) {{
  {chain("a", "x", 5, (24, 40))}
  {chain("b", "z", 4, (21, 48))}
  s: f32[24] = reduce_sum(a4, axes=[1], keepdims=false)
  t: f32[21] = reduce_sum(b3, axes=[1], keepdims=false)
  y: f32[45] = concat(s, t, axis=0)
  return y, a2
}}"""

ONE = f"""graph g(x: f32[24,40], w40: f32[40,40]) {{
  {chain("a", "x", 9, (24, 40))}
  return a8
}}"""

BESIDE = "in parallel, in about"


def test_branches_run_at_once_and_give_what_one_thread_gives():
    graph = compiler.parse(TWO)
    inputs = random_inputs(graph)
    expected = compiler.compile(graph).run(inputs)
    for threads in (2, 3):
        program = compiler.compile(graph, threads=threads)
        (note,) = [n for n in program.notes if n.startswith(BESIDE)]
        assert note.count("matmul") == 9
        assert note.count("|") == 1
        assert "side_by_side.0.thread" in str(program.emit("llvm"))
        for _ in range(100):
            found = program.run(inputs)
            assert all(np.array_equal(found[k], expected[k]) for k in expected)


def test_a_chain_is_no_branch():
    graph = compiler.parse(ONE)
    assert not any(n.startswith(BESIDE) for n in compiler.compile(graph, threads=2).notes)


def test_one_thread_and_openmp_do_one_after_the_other(monkeypatch: pytest.MonkeyPatch):
    asked: list[CodeOptions] = []

    def seen(thunks, views, graph, options):  # type: ignore[no-untyped-def]
        asked.append(options)
        found = sections(thunks, views, graph, options)
        assert found
        assert not sections(thunks, views, graph, dataclasses.replace(options, forking="gomp"))
        assert not sections(thunks, views, graph, dataclasses.replace(options, threads=1))
        return found

    monkeypatch.setattr(build, "sections", seen)
    compiler.compile(compiler.parse(TWO), threads=2)
    assert asked


def test_what_branches_keep_does_not_overlap():
    """The values of all branches are live while any branch runs."""
    graph = compiler.parse(TWO)
    plan = compiler.compile(graph, threads=2).memory
    one = compiler.compile(graph).memory
    assert plan.peak_bytes > one.peak_bytes
    found = {c: [b for b in plan.buffers if b.values[0].startswith(c)] for c in "ab"}
    assert all(found.values())
    for a, b in itertools.product(found["a"], found["b"]):
        assert a.limit <= b.offset or b.limit <= a.offset


def test_large_branches_are_shared_one_after_the_other():
    graph = compiler.parse(
        """graph g(x: f32[300,200], z: f32[260,200], w: f32[200,240]) {
          a: f32[300,240] = matmul(x, w)
          b: f32[260,240] = matmul(z, w)
          return a, b
        }"""
    )
    assert not any(n.startswith(BESIDE) for n in compiler.compile(graph, threads=2).notes)
