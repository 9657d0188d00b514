"""Tests of prefetching packed constants that do not fit in L1, cache line by cache line."""

from __future__ import annotations

import pytest

from compiler.compute.builder import Handle, Lowering
from compiler.errors import CompileError
from compiler.ir import affine
from compiler.loops.nodes import Kernel, Loop, Prefetch, Statement, walk_statements
from compiler.schedule.policies.tiles import LINE_BYTES
from compiler.schedule.policy import schedule
from compiler.schedule.writing.physical import nest_of
from compiler.targets.options import CodeOptions
from compiler.targets.target import by_name
from tests.compiler.schedule.test_policy import computation


def product(k: Lowering, a: Handle, b: Handle, y: Handle) -> None:
    m, n = k.axes(y.shape, "mn")
    d = k.axis(b.shape[0], "d")
    k.assign(y[m, n], k.sum(a[m, d] * b[d, n], over=(d,)))


def kernel(rows: int, depth: int, target: str) -> Kernel:
    shapes = [f"f32[{rows},{depth}]", f"f32[{depth},96]"]
    c = computation(shapes, f"f32[{rows},96]", product)
    return schedule(c, frozenset("B"), CodeOptions(by_name(target))).kernel


def test_a_turn_asks_for_every_line_of_a_later_one() -> None:
    for target in ("x86-64-v4", "aarch64"):
        made = kernel(23, 1200, target)
        b = made.buffers["B"]
        loops = [s for s in walk_statements(made.body) if isinstance(s, Loop)]
        iteration, ask = next((s, t) for s in loops for t in s.body if _asks(t))
        line, n_lines = (ask.var, ask.extent) if isinstance(ask, Loop) else ("", 1)
        asked = ask.body[0] if isinstance(ask, Loop) else ask
        assert isinstance(asked, Prefetch)
        place = sum(e * n for e, n in zip(asked.index, b.strides, strict=True))
        per_turn = _at(place, iteration.var, 1, line) - _at(place, iteration.var, 0, line)
        lines = [_at(place, iteration.var, 0, line, i) for i in range(n_lines)]
        assert lines[0] % per_turn == 0
        assert lines[0] * 4 >= 8192
        assert [n - lines[0] for n in lines] == list(range(0, per_turn, LINE_BYTES // 4))


def test_a_strip_that_stays_in_the_first_cache_is_not_asked_for() -> None:
    assert "prefetch" not in str(kernel(23, 40, "x86-64-v4"))
    assert "prefetch" not in str(kernel(1, 1200, "x86-64-v4")), (
        "a single row gains nothing by prefetching"
    )


def test_tiles_of_rows_share_the_lines_of_the_next_strip_where_registers_are_few() -> None:
    made = kernel(32, 1200, "x86-64-v3")  # five tiles of six rows, and one of two
    b = made.buffers["B"]
    loops = [s for s in walk_statements(made.body) if isinstance(s, Loop)]
    iteration, asked = next((s, t) for s in loops for t in s.body if isinstance(t, Prefetch))
    rows = next(s for s in loops if any(t is iteration for t in s.body))
    place = sum(e * n for e, n in zip(asked.index, b.strides, strict=True))
    strip, line = 1200 * 16, LINE_BYTES // 4
    fixed = dict.fromkeys(affine.symbols(place), 0)
    asked_for = {
        affine.substitute(place, {**fixed, rows.var: r, iteration.var: k}) // line * line
        for r in range(4)
        for k in range(1200)
    }
    assert asked_for == set(range(strip, 2 * strip, line))
    assert "prefetch" not in str(kernel(300, 1200, "x86-64-v3")), "many tiles need no prefetch"


def test_iterations_share_lines_only_of_what_all_of_them_read() -> None:
    shapes = ["f32[7,40]", "f32[40,96]"]
    c = computation(shapes, "f32[7,96]", product)
    nest = nest_of(c.stages[0], c.tensors).reorder("n", "m", "d")
    assert nest.prefetch("B", "d", 40, "m", 4).entries[-1].share == 4
    with pytest.raises(CompileError, match="iterations of n read different elements of B"):
        nest.prefetch("B", "d", 40, "n", 4)
    with pytest.raises(CompileError, match="m does not run outside n"):
        nest.prefetch("B", "n", 1, "m", 4)


def _asks(s: Statement) -> bool:
    """Return whether a statement prefetches a line, or several in adjacent lanes."""
    return isinstance(s, Prefetch) or (
        isinstance(s, Loop) and s.kind == "unroll" and isinstance(s.body[0], Prefetch)
    )


def _at(place: affine.Expr, iteration: str, at: int, line: str, number: int = 0) -> int:
    values = dict.fromkeys(affine.symbols(place), 0)
    found = affine.substitute(place, {**values, iteration: at, line: number})
    assert isinstance(found, int)
    return found
