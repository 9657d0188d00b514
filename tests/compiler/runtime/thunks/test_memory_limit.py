"""Tests of programs with a memory limit: results equal bit for bit, and the cost reported."""

from __future__ import annotations

import random

import numpy as np
import pytest

import compiler
from compiler.errors import CompileError
from compiler.ir.verify import verify
from compiler.runtime.inputs import random_inputs
from compiler.runtime.thunks.memory_limit import _Search

SIZE = 64


def hourglass(depth: int) -> str:
    """Return a chain of products that are read again in reverse order, one through a view."""
    lines = [
        f"d{i}: f32[{SIZE},{SIZE}] = matmul({f'd{i - 1}' if i else 'x'}, w)" for i in range(depth)
    ]
    last = f"d{depth - 1}"
    for i in reversed(range(depth - 1)):
        source = f"d{i}"
        if i == 1:
            lines.append(f"flat: f32[{SIZE * SIZE}] = reshape(d1, whole)")
            lines.append(f"square: f32[{SIZE},{SIZE}] = reshape(flat, sides)")
            source = "square"
        lines.append(f"u{i}: f32[{SIZE},{SIZE}] = matmul({last}, {source})")
        last = f"u{i}"
    constants = [
        f"const whole: i64[1] = literal({SIZE * SIZE})",
        f"const sides: i64[2] = literal({SIZE},{SIZE})",
    ]
    body = "\n  ".join([*constants, *lines])
    shape = f"f32[{SIZE},{SIZE}]"
    return f"graph g(x: {shape}, w: {shape}) {{\n  {body}\n  return {last}\n}}"


@pytest.mark.parametrize("share", [0.8, 0.7, 0.5])
def test_the_arena_stays_within_the_limit_and_results_keep_every_bit(share: float):
    graph = compiler.parse(hourglass(6))
    inputs = random_inputs(graph)
    free = compiler.compile(graph, "fuse")
    limit_bytes = int(free.memory.peak_bytes * share)
    program = compiler.compile(graph, "fuse", memory_limit_bytes=limit_bytes)
    assert program.memory.peak_bytes <= limit_bytes
    verify(program.graph)
    assert len(program.kernels) > len(free.kernels)
    expected, found = free.run(inputs), program.run(inputs)
    assert all(np.array_equal(found[k], expected[k]) for k in expected)
    assert program.trace is not None
    event = next(e for e in program.trace.events if e.name == "memory limit")
    assert "recomputed" in event.words
    assert "predicted extra time" in event.words
    assert len(event.after.nodes) > len(event.before.nodes)


def test_a_limit_that_is_met_anyway_changes_nothing():
    graph = compiler.parse(hourglass(4))
    free = compiler.compile(graph, "fuse")
    program = compiler.compile(graph, "fuse", memory_limit_bytes=free.memory.peak_bytes)
    assert len(program.kernels) == len(free.kernels)
    assert program.trace is not None
    assert "nothing is recomputed" in program.trace.events[-2].words


def test_a_limit_that_cannot_be_met_is_an_error_that_says_what_can():
    graph = compiler.parse(hourglass(6))
    with pytest.raises(CompileError) as e:
        compiler.compile(graph, "fuse", memory_limit_bytes=1000)
    assert e.value.code == "E-LIMIT-ARENA"
    smallest = int(e.value.message.split()[-2])
    program = compiler.compile(graph, "fuse", memory_limit_bytes=smallest)
    assert program.memory.peak_bytes <= smallest


@pytest.mark.parametrize("seed", [2, 3, 5, 6, 11])
def test_nothing_is_found_below_the_smallest_that_is_named(seed: int):
    """The error names the same bytes for any limit; these suffice, one byte less does not."""
    graph = compiler.parse(random_sums(seed))
    free = compiler.compile(graph, "none").memory.peak_bytes

    def smallest(limit_bytes: int) -> int:
        with pytest.raises(CompileError, match="smallest arena found") as e:
            compiler.compile(graph, "none", memory_limit_bytes=limit_bytes)
        return int(e.value.message.split()[-2])

    named = smallest(0)
    assert named <= free
    limited = compiler.compile(graph, "none", memory_limit_bytes=named)
    assert limited.memory.peak_bytes <= named
    assert smallest(named - 1) == named
    inputs = random_inputs(graph)
    expected, found = compiler.reference(graph, inputs), limited.run(inputs)
    assert all(np.allclose(found[k], expected[k], rtol=1e-4) for k in expected)


def test_the_limit_that_is_named_is_met_also_where_nothing_is_found_within_it(
    monkeypatch: pytest.MonkeyPatch,
):
    """A plan found within a lower limit is not always found again within its own size."""
    graph = compiler.parse(hourglass(6))
    with pytest.raises(CompileError) as e:
        compiler.compile(graph, "fuse", memory_limit_bytes=0)
    named = int(e.value.message.split()[-2])
    within = _Search.within
    monkeypatch.setattr(
        _Search, "within", lambda self, limit: None if limit == named else within(self, limit)
    )
    program = compiler.compile(graph, "fuse", memory_limit_bytes=named)
    assert program.memory.peak_bytes <= named


def random_sums(seed: int) -> str:
    """Return sums, slices and products of one or two earlier values each."""
    chance = random.Random(seed)
    n_columns = {"x": 64}
    lines: list[str] = []
    for i in range(chance.randint(8, 24)):
        a = chance.choice(list(n_columns)[-6:])
        alike = [v for v, n in n_columns.items() if n == n_columns[a]]
        kind = chance.choice(["add", "mul", "wider"])
        n = n_columns[a]
        if kind == "wider" and n < 256:
            lines.append(f"v{i}: f32[8,{2 * n}] = concat({a}, {chance.choice(alike)}, axis=1)")
            n *= 2
        else:
            op = "mul" if kind == "mul" else "add"
            lines.append(f"v{i}: f32[8,{n}] = {op}({a}, {chance.choice(alike)})")
        n_columns[f"v{i}"] = n
    text = "\n  ".join(lines)
    read = {word.strip("(),") for line in lines for word in line.partition("=")[2].split()}
    results = ", ".join(v for v in n_columns if v not in read)
    return f"graph g(x: f32[8,64]) {{\n  {text}\n  return {results}\n}}"


@pytest.mark.parametrize("limit_bytes", [-1, "8MB", 1.5, True])
def test_what_is_no_number_of_bytes_is_refused(limit_bytes: object):
    with pytest.raises(CompileError, match="number of bytes"):
        compiler.compile(compiler.parse(hourglass(3)), memory_limit_bytes=limit_bytes)  # type: ignore[arg-type]


def test_open_sizes_are_limited_when_they_are_known():
    graph = compiler.parse(
        "graph g(x: f32[N,64], w: f32[64,64]) {\n"
        "  a: f32[N,64] = matmul(x, w)\n  b: f32[N,64] = matmul(a, w)\n"
        "  c: f32[N,64] = add(a, b)\n  return c\n}"
    )
    program = compiler.compile(graph, "fuse", memory_limit_bytes=100)
    assert program.is_open
    with pytest.raises(CompileError, match="arena"):
        program.run({"x": np.ones((9, 64), np.float32), "w": np.ones((64, 64), np.float32)})
    inputs = {"x": np.ones((0, 64), np.float32), "w": np.ones((64, 64), np.float32)}
    assert program.run(inputs)["c"].shape == (0, 64)
