from __future__ import annotations

import itertools
import os
import signal
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from compiler.bisect import probe as probing
from compiler.bisect.probe import Outcome, Probe, Settings, everything, ratio_of_minima
from compiler.bisect.run import bisect
from compiler.bisect.search import first_few, only_passes, search
from compiler.passes import PASSES, RULES
from compiler.passes.pipeline.text import parse_pipeline
from compiler.passes.rules.calls import o
from compiler.trace import Decision
from tests.compiler.passes.networks import NETWORKS
from tests.compiler.passes.numbers import graph
from tests.faults.fault import body, exchanged, instead

DEFAULT = parse_pipeline("default")

SEVERAL = graph("""
graph several(x: f32[3,5]) {
  a: f32[3,5] = neg(x)
  b: f32[3,5] = neg(a)
  c: f32[3,5] = sin(b)
  d: f32[3,5] = relu(c)
  e: f32[3,5] = relu(d)
  f: f32[3,5] = neg(e)
  g: f32[3,5] = neg(f)
  h: f32[3,5] = tanh(g)
  return h
}
""")


@pytest.mark.parametrize("name", NETWORKS)
def test_a_right_compiler_breaks_nothing(name: str) -> None:
    answer = search(Probe.of(NETWORKS[name], Settings(DEFAULT)))
    assert not answer.broken
    assert answer.stable


def test_one_rewrite_of_several_by_one_rule_is_named() -> None:
    """The rule is wrong for one value only."""

    def wrong_after_relu(old: Any) -> Any:
        return lambda x: o.neg(x) if x.name in ("d", "e") else old(x=x)

    with body("drop_double_negation", wrong_after_relu)():
        answer = search(Probe.of(SEVERAL, Settings(DEFAULT)))
    assert answer.rules == ("drop_double_negation",)
    assert [d.at for d in answer.decisions] == ["g"]
    assert answer.wrong_alone == ("drop_double_negation",)
    assert answer.last == answer.decisions[0]
    assert answer.n_before_last > 0


def test_a_hidden_fault_is_found_in_the_rewrite_itself() -> None:
    """A later relu hides the fault from the results."""
    g = graph("""
    graph g(x: f32[3,5]) {
      const top: f32[] = literal(1.0)
      a: f32[3,5] = exp(x)
      b: f32[3,5] = neg(a)
      c: f32[3,5] = neg(b)
      s: f32[3,5] = max(c, top)
      t: f32[3,5] = min(s, top)
      return t
    }
    """)
    with instead("drop_double_negation", lambda x: o.neg(x))():
        answer = search(
            Probe.of(g, Settings(parse_pipeline("remove_noops,algebraic_simplification")))
        )
    assert (answer.kind, answer.way) == ("wrong", "rewrites")
    assert "drop_double_negation" in answer.rules


def test_what_differs_from_run_to_run_is_told() -> None:
    turns = iter([True, False] * 50)

    def sometimes(old: Any) -> Any:
        return lambda x: o.neg(x) if next(turns) else old(x)

    g = graph("""
    graph g(x: f32[3,5]) {
      a: f32[3,5] = neg(x)
      b: f32[3,5] = neg(a)
      c: f32[3,5] = exp(b)
      return c
    }
    """)
    with body("drop_double_negation", sometimes)():
        answer = search(Probe.of(g, Settings(DEFAULT)))
    assert not answer.stable
    assert "two runs differ" in answer.detail


@contextmanager
def pass_with(name: str, fn: Any) -> Generator[None]:
    declared = PASSES[name]
    before = declared.fn
    object.__setattr__(declared, "fn", fn)
    try:
        yield
    finally:
        object.__setattr__(declared, "fn", before)


def test_a_pass_that_does_not_ask_is_named() -> None:
    def wrong(graph: Any, log: Any, **options: Any) -> Any:
        return globals()["graph"]("""
        graph several(x: f32[3,5]) {
          h: f32[3,5] = exp(x)
          return h
        }
        """)

    with pass_with("resolve_foreign", wrong):
        answer = search(Probe.of(SEVERAL, Settings(DEFAULT)))
    assert answer.kind == "wrong"
    assert answer.passes == ("resolve_foreign",)
    assert not answer.decisions


def test_until_looks_for_one_kind_of_failure() -> None:
    with instead("drop_relu_of_positive", lambda x: o.neg(x))():
        assert search(Probe.of(SEVERAL, Settings(DEFAULT, until="wrong"))).broken
        assert not search(Probe.of(SEVERAL, Settings(DEFAULT, until="crash"))).broken


def kill_at(place: str) -> Any:
    def kills(old: Any) -> Any:
        def run(**got: Any) -> Any:
            if got["x"].name == place:
                os.kill(os.getpid(), signal.SIGSEGV)
            return old(**got)

        return run

    return kills


def test_a_rewrite_that_kills_the_process_is_survived() -> None:
    with body("drop_relu_of_positive", kill_at("d"))():
        answer = search(Probe.of(SEVERAL, Settings(DEFAULT, limit_seconds=200)))
    assert answer.kind == "crash"
    assert "SIGSEGV" in answer.detail


def test_a_rewrite_that_never_ends_is_ended() -> None:
    def waits(old: Any) -> Any:
        def run(**got: Any) -> Any:
            time.sleep(600)
            return old(**got)

        return run

    with body("drop_relu_of_positive", waits)():
        probe = Probe.of(SEVERAL, Settings(DEFAULT, limit_seconds=0.5))
        outcome = probe.ask(everything)
    assert outcome.kind == "crash"
    assert "0.5 seconds" in outcome.detail


def test_the_compiled_program_is_judged_where_that_is_asked_for() -> None:
    with instead("drop_relu_of_positive", lambda x: o.neg(x))():
        settings = Settings(DEFAULT, program=True, ways=())
        answer = search(Probe.of(SEVERAL, settings))
    assert (answer.kind, answer.way) == ("wrong", "program")
    assert answer.rules == ("drop_relu_of_positive",)
    assert not search(Probe.of(SEVERAL, Settings(DEFAULT, program=True))).broken


def test_what_makes_a_program_slower_is_named() -> None:
    """The rule replaces a cheap node with an expensive one."""
    g = graph("""
    graph g(x: f32[64,64], w: f32[64,64]) {
      a: f32[64,64] = neg(x)
      b: f32[64,64] = neg(a)
      c: f32[64,64] = identity(b)
      d: f32[64,64] = tanh(c)
      return d
    }
    """)

    def slow(x: Any) -> Any:
        made = x
        for _ in range(40):
            made = o.matmul(made, x)
        return made

    with instead("drop_double_negation", slow)():
        settings = Settings(DEFAULT, until="slow", ratio=2.0)
        answer = search(Probe.of(g, settings))
    assert answer.kind == "slow"
    assert answer.rules == ("drop_double_negation",)


def test_the_ratio_of_minima_is_that_of_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(probing, "perf_counter", lambda: clock[0])
    disturbed = itertools.cycle([0.5, 0.25, 0.0, 3.0, 0.0])

    def taking(seconds: float) -> None:
        clock[0] += seconds + next(disturbed)

    ratio = ratio_of_minima(lambda: taking(0.5), lambda: taking(0.125), 0.1)
    assert ratio == 4


def test_gates_let_the_first_few_through() -> None:
    gate = first_few(2)
    asked = [Decision("p", "r", str(i)) for i in range(4)]
    assert [gate(d) for d in asked] == [True, True, False, False]


def test_a_pipeline_is_cut_to_some_passes() -> None:
    pipeline = parse_pipeline("dead_code_elimination,simplify,fuse,simplify")
    assert str(only_passes(pipeline, ["simplify"])) == "simplify,simplify"


def test_failures_are_alike_by_kind_and_way() -> None:
    assert Outcome("wrong", "a", "results").same_failure(Outcome("wrong", "b", "results"))
    assert not Outcome("wrong", "a", "results").same_failure(Outcome("wrong", "a", "passes"))
    assert not Outcome().same_failure(Outcome())


def test_a_rule_of_larger_error_than_it_declares_is_found() -> None:
    """The rule is correct, but its error budget is set to zero, below its rounding."""
    g = graph("""
    graph g(x: f32[3,5]) {
      const a: f32[5] = literal(1.1,2.3,-0.7,0.3,9.1)
      const b: f32[5] = literal(0.9,0.1,3.7,1.3,7.1)
      c: f32[3,5] = mul(x, a)
      y: f32[3,5] = mul(c, b)
      return y
    }
    """)
    assert not bisect(g, Settings(DEFAULT), reduce_seconds=0).answer.broken
    with exchanged(RULES["merge_multiplications"], error=0.0):
        answer = bisect(g, Settings(DEFAULT), reduce_seconds=0).answer
    assert answer.rules == ("merge_multiplications",)


def test_what_moves_the_numbers_is_found_though_rounding_explains_it() -> None:
    """Both folds round differently from the model; neither is wrong."""
    g = graph("""
    graph g(x: f32[3,5]) {
      const a: f32[5] = literal(0.1, 0.7, -0.3, 1.9, 0.2)
      const b: f32[5] = literal(3.1, -0.9, 0.3, 0.6, 7.7)
      c: f32[3,5] = add(x, a)
      d: f32[3,5] = add(c, b)
      e: f32[3,5] = tanh(d)
      return e
    }
    """)
    assert not search(Probe.of(g, Settings(DEFAULT))).broken
    moved = Settings(DEFAULT, moved=0.0, ways=("results",))
    answer = search(Probe.of(g, moved))
    assert answer.kind == "wrong"
    assert len(answer.decisions) == 1
    assert "moved by" in answer.detail
    assert not search(Probe.of(g, replace(moved, moved=0.5))).broken
