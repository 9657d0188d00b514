"""Tests of kernels assigned to cores by a plan: the results of one thread, for any dependences."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import compiler
from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.memory.check import check_steps
from compiler.runtime.inputs import random_inputs
from compiler.runtime.program import Program
from compiler.runtime.thunks.branches import Section
from tests.platforms import needs_own_threads
from tests.wired_graphs import wired

pytestmark = needs_own_threads


def same_always(program: Program, graph: Graph, times: int = 50) -> None:
    inputs = random_inputs(graph)
    expected = compiler.compile(graph).run(inputs)
    for _ in range(times):
        found = program.run(inputs)
        assert all(np.array_equal(found[k], expected[k]) for k in expected)


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("seed", [1, 2])
def test_results_are_those_of_one_thread(threads: int, seed: int) -> None:
    graph = wired(30, seed)
    program = compiler.compile(graph, threads=threads, spread="branches")
    assert program.fixed is not None
    (section, *_) = program.fixed.sections
    assert 2 <= len(section.chains) <= threads
    assert any(section.after.values())
    assert sorted(i for c in section.chains for i in c) == list(range(section.first, section.end))
    assert "by_plan.0.take" in str(program.emit("llvm"))
    same_always(program, graph)


def orders(section: Section, chance: random.Random) -> list[int]:
    """Return an order in which threads may begin the launches of a section."""
    waits = {i: 0 for i in range(section.first, section.end)}
    for followers in section.after.values():
        for v in followers:
            waits[v] += 1
    found: list[int] = []
    while waits:
        free = [i for i, n in waits.items() if n == 0]
        # The longest-waiting launch, the last in the list, or any: all threads but one may sleep.
        i = chance.choice([free[0], free[-1], chance.choice(free)])
        found.append(i)
        del waits[i]
        for v in section.after.get(i, ()):
            waits[v] -= 1
    return found


def test_no_order_of_the_threads_puts_a_value_over_one_that_is_needed() -> None:
    chance = random.Random(5)
    for seed in range(6):
        graph = wired(40, seed)
        program = compiler.compile(graph, threads=2, spread="branches", order="given")
        assert program.fixed is not None
        assert program.fixed.executable is not None
        placed = program.fixed.executable.arrangement
        kept = sum(b.size for b in placed.plan.buffers)
        assert placed.plan.peak_bytes < 0.7 * kept, "some values share memory"
        plan = placed.plan
        places = {v: (b.offset, b.size) for b in plan.buffers for v in (b.name, *b.values)}
        for _ in range(40):
            numbers = list(range(len(placed.steps)))
            for s in program.fixed.sections:
                numbers[s.first : s.end] = orders(s, chance)
            steps = [placed.steps[i] for i in numbers]
            assert not check_steps(steps, places, placed.views)


def test_several_callers_may_run_it_at_once() -> None:
    graph = wired(20, 3)
    program = compiler.compile(graph, threads=2, spread="branches")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: same_always(program, graph, 20), range(4)))


def test_the_plan_follows_what_was_measured() -> None:
    text = """graph g(x: f32[24,40], w: f32[40,40]) {
      r: f32[24,40] = relu(x)
      a: f32[24,40] = matmul(r, w)
      b: f32[24,40] = matmul(a, w)
      c: f32[24,40] = matmul(x, w)
      d: f32[24,40] = matmul(c, w)
      e: f32[24,40] = matmul(d, w)
      y: f32[24,80] = concat(b, e, axis=1)
      return y
    }"""
    graph = compiler.parse(text)
    for long in ("a", "c"):
        seconds = {"r": 1e-6, "a": 1e-6, "b": 1e-5, "c": 1e-6, "d": 1e-5, "e": 1e-5, long: 1.0}
        program = compiler.compile(
            graph, pipeline="fold_constants", threads=2, spread="branches", seconds=seconds
        )
        assert program.fixed is not None
        made = [k.writes[0] for k in program.kernels]
        sections = program.fixed.sections
        alone = [[made[i] for i in c] for s in sections for c in s.chains]
        # A path with a one-second launch leaves nothing to gain; HEFT may still separate the paths.
        assert not alone or all(len({"a", "c"} & set(c)) <= 1 for c in alone)
    seconds = dict.fromkeys("abcde", 1e-3)
    program = compiler.compile(
        graph, pipeline="fold_constants", threads=2, spread="branches", seconds=seconds
    )
    assert program.fixed is not None
    (section,) = program.fixed.sections
    assert section.at_once == pytest.approx(0.6 * section.in_turn, rel=0.1)
    same_always(program, graph)


def test_a_chain_has_no_sections() -> None:
    lines = "\n".join(f"v{i + 1}: f32[24,40] = matmul(v{i}, w)" for i in range(9))
    text = f"graph g(v0: f32[24,40], w: f32[40,40]) {{\n{lines}\nreturn v9\n}}"
    program = compiler.compile(compiler.parse(text), threads=2, spread="branches")
    assert program.fixed is not None
    assert not program.fixed.sections


def test_branches_are_spread_only_where_that_is_asked_for() -> None:
    graph = wired(20, 1)
    assert "by_plan" not in str(compiler.compile(graph, threads=2).emit("llvm"))
    assert "by_plan" not in str(compiler.compile(graph, spread="branches").emit("llvm"))
    with pytest.raises(CompileError, match="spread must be loops or branches"):
        compiler.compile(graph, spread="everything")


@pytest.mark.parametrize("seconds", [3, {"r": -1.0}, {"r": float("nan")}, {"r": "1"}, {1: 1.0}])
def test_seconds_are_times_by_the_names_of_values(seconds: Any) -> None:
    with pytest.raises(CompileError) as caught:
        compiler.compile(wired(4, 1), threads=2, spread="branches", seconds=seconds)
    assert caught.value.code == "E-OPTION-VALUE"
    assert caught.value.hint
