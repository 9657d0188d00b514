from __future__ import annotations

import numpy as np

from compiler.check.errors import PLACES, error_of
from compiler.check.findings import Finding, first_moved, first_wrong
from compiler.check.stepwise import Wanted, begin_check
from compiler.options import Options
from compiler.passes.rules.calls import o
from compiler.runtime.compare import Difference
from tests.compiler.passes.numbers import graph
from tests.faults.fault import instead

MODEL = graph("""
graph g(x: f32[3,5]) {
  const c: f32[5] = literal(3.0,7.0,11.0,13.0,17.0)
  a: f32[3,5] = sin(x)
  b: f32[3,5] = neg(a)
  e: f32[3,5] = neg(b)
  y: f32[3,5] = div(e, c)
  return y
}
""")
OPTIONS = Options("remove_noops,algebraic_simplification,dead_code_elimination")


def test_every_stage_is_told_before_the_next_is_looked_at() -> None:
    said: list[str] = []
    check = begin_check(
        MODEL, OPTIONS, wanted=Wanted(by_node=True), tell=lambda step, _: said.append(step)
    )
    stages = check.stages()
    assert next(stages).stage == "imported"
    assert "algebraic_simplification" not in said
    found = list(stages)
    assert [f.stage for f in found] == [
        "remove_noops",
        "algebraic_simplification",
        "dead_code_elimination",
    ]
    assert "algebraic_simplification" in said


def test_the_pass_that_moves_the_numbers_is_named_and_by_how_much() -> None:
    check = begin_check(MODEL, OPTIONS, wanted=Wanted(by_node=True))
    found = list(check.stages())
    assert first_moved(found) == 2  # a division by a constant became a product
    assert 0 < found[2].moved < 1e-6
    assert [f.moved for f in found if f.stage != "algebraic_simplification"] == [0.0, 0.0, 0.0]
    assert first_wrong(found, check.allowed) is None
    assert [f.mark(1e-4, check.allowed) for f in found] == ["ok"] * 4
    nodes = found[2].nodes
    assert nodes is not None
    assert nodes.moved == {"y"}
    assert found[0].nodes is not None
    assert found[0].nodes.moved == frozenset()


def test_the_first_pass_outside_of_its_allowance_is_named() -> None:
    with instead("drop_double_negation", lambda x: o.neg(x))():
        check = begin_check(MODEL, OPTIONS, wanted=Wanted(by_node=True))
        found = list(check.stages())
    assert first_wrong(found, check.allowed) == first_moved(found) == 2
    assert found[2].mark(1e-4, check.allowed) == "wrong"


def test_errors_that_cannot_be_told_in_numbers_are_wrong() -> None:
    nan = Difference("y", np.nan, 1.0, np.nan)
    assert Finding("p", (nan,), 0.0).mark(1e-4, 1e-4) == "wrong"
    assert Finding("p", (), 0.0, objection="the graph cannot be computed").mark(1.0, 1.0) == "wrong"


def test_elements_are_counted_by_their_distance() -> None:
    wide = np.array([1.0, 1.5, 3.0, 1e3], np.float64)
    made = (wide * (1 + np.array([0.0, 3e-7, 0.0, 1e-3]))).astype(np.float32)
    error = error_of("y", made, wide)
    assert error is not None
    assert len(error.counts) == len(PLACES) + 1
    assert (error.counts[0], sum(error.counts), error.counts[-1]) == (2, 4, 1)
