from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from compiler.check import stepwise, yardstick
from compiler.check.errors import Error
from compiler.check.findings import Finding, Verdict
from compiler.check.model import check_model
from compiler.check.nodes import by_node
from compiler.check.rewrites import Rewrites, judge_rewrites
from compiler.check.shrink import shrunk
from compiler.check.stepwise import Wanted
from compiler.ir.graph import Graph
from compiler.passes import RULES, run_pipeline
from compiler.passes.engine.rewrite import apply_rules
from compiler.passes.rules.calls import o
from compiler.reference import reference
from compiler.runtime.compare import Difference
from compiler.runtime.inputs import random_inputs
from compiler.trace import Event, Log
from tests.compiler.passes.networks import NETWORKS
from tests.compiler.passes.numbers import graph
from tests.faults.fault import exchanged, instead


@pytest.mark.parametrize("name", RULES)
def test_the_example_of_every_rule_is_a_right_rewrite(name: str) -> None:
    """The kinds of inputs must include values that can reveal a fault."""
    rewrites, rule = Rewrites(), RULES[name]
    before, _ = rule.example_graphs()
    log = Log(watch=rewrites.watch)
    after = apply_rules(before, [rule], log)
    rewrites.progress(Event("pass", before, after, 0.0, steps=tuple(log.steps)))
    judged = list(judge_rewrites(rewrites))
    assert judged
    assert all(j.n_inputs for j in judged)
    assert [j.objection for j in judged if not j.ok] == []


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_pass(name: str) -> None:
    verdict = check_model(NETWORKS[name], wanted=Wanted(every_rewrite=True, by_node=True))
    assert verdict.ok
    assert verdict.yardstick == "reference"
    assert not verdict.narrow
    assert {"random", "special", "extreme"} <= set(verdict.kinds)
    assert len(verdict.rewrites) > 0
    last = verdict.findings[-1]
    assert last.stage == "program"
    assert all(e.ulps < 1e4 and e.relative < 1e-4 for e in last.wide)
    assert all(n.first_wrong is None for n in verdict.nodes)


HIDDEN = graph("""
graph hidden(x: f32[3,5]) {
  const top: f32[] = literal(1.0)
  a: f32[3,5] = exp(x)
  b: f32[3,5] = neg(a)
  c: f32[3,5] = neg(b)
  s: f32[3,5] = max(c, top)
  t: f32[3,5] = min(s, top)
  return t
}
""")


def test_a_fault_that_no_result_shows_is_found_in_its_rewrite() -> None:
    with instead("drop_double_negation", lambda x: o.neg(x))():
        verdict = check_model(HIDDEN, pipeline="algebraic_simplification")
    assert not verdict.ok
    (wrong,) = [j for j in verdict.rewrites if not j.ok]
    assert wrong.rewrite.step.rule == "drop_double_negation"
    assert wrong.rewrite.step.at == "c"
    assert wrong.rewrite.step.source.startswith("passes/rules/")
    assert "neg" in str(wrong.rewrite.before)
    assert not any(f.objection for f in verdict.findings)


def test_the_first_wrong_value_is_named() -> None:
    g = graph("""
    graph g(x: f32[3,5]) {
      a: f32[3,5] = exp(x)
      b: f32[3,5] = neg(a)
      c: f32[3,5] = neg(b)
      d: f32[3,5] = sin(c)
      e: f32[3,5] = tanh(d)
      return e
    }
    """)
    with instead("drop_double_negation", lambda x: o.sin(x))():
        after, _ = run_pipeline(g, "algebraic_simplification")
    (nodes,) = by_node(g, random_inputs(g), [("algebraic_simplification", after)], 1e-4)
    assert nodes.first_wrong is not None
    assert nodes.first_wrong.name == "c"
    assert [e.name for e in nodes.errors] == ["a", "c", "d", "e"]


def test_a_rule_that_rounds_more_than_it_declares_is_found() -> None:
    g = graph("""
    graph g(x: f32[3,5]) {
      const c: f32[5] = literal(3.0,7.0,11.0,13.0,17.0)
      y: f32[3,5] = div(x, c)
      return y
    }
    """)
    assert check_model(g, pipeline="algebraic_simplification").ok
    with exchanged(RULES["divide_by_constant"], error=0.0):
        verdict = check_model(g, pipeline="algebraic_simplification")
    assert [j.rewrite.step.rule for j in verdict.rewrites if not j.ok] == ["divide_by_constant"]


def test_a_pass_that_breaks_down_fails_the_check() -> None:
    def fails(**given: object) -> Graph:
        raise IndexError("the axis does not exist")

    with instead("drop_double_negation", fails)():
        verdict = check_model(HIDDEN)
    assert not verdict.ok
    assert "IndexError: the axis does not exist" in verdict.broken
    assert verdict.program is None


def stages(verdict_findings: Sequence[object]) -> list[str]:
    return [f.stage for f in verdict_findings]  # type: ignore[attr-defined]


def test_what_stays_narrow_is_told() -> None:
    g = graph("""
    graph g(x: f32[3]) {
      a: i32[3] = bitcast(x, to=i32)
      return a
    }
    """)
    verdict = check_model(g, pipeline="none")
    assert verdict.ok
    assert verdict.narrow == ("a",)
    assert stages(verdict.findings) == ["imported", "program"]


def test_overflow_in_another_order_is_rounding_and_a_wrong_factor_is_not() -> None:
    g = graph("""
    graph g(x: f32[3,4]) {
      const a: f32[4] = literal(1e20,1e20,1e-20,1.0)
      const b: f32[4] = literal(1e-20,1e-10,1e20,3.0)
      m: f32[3,4] = mul(x, a)
      y: f32[3,4] = mul(m, b)
      return y
    }
    """)
    assert check_model(g, pipeline="algebraic_simplification", wanted=Wanted(every_rewrite=True)).ok
    with instead("merge_multiplications", lambda x, a, b: o.mul(x, a.stored.array()))():
        assert not check_model(g, pipeline="algebraic_simplification").ok


def test_rewrites_are_judged_on_what_the_model_computes_too() -> None:
    g = NETWORKS["shapes"]
    rewrites = Rewrites()
    run_pipeline(g, "simplify", watch=rewrites.watch, progress=rewrites.progress)
    judged = list(judge_rewrites(rewrites, [random_inputs(g)]))
    assert judged
    assert all(j.ok and j.n_inputs for j in judged)


def test_large_tensors_are_judged_on_small_ones() -> None:
    g = graph("""
    graph g(x: f32[1,3,112,96]) {
      const w: f32[4,3,3,3] = splat(0.125)
      const s: f32[4,1,1] = literal(1.0,2.0,-0.5,0.25)
      c: f32[1,4,112,96] = conv(x, w, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
      y: f32[1,4,112,96] = mul(c, s)
      return y
    }
    """)
    rewrites = Rewrites()
    run_pipeline(g, "fold_affine", watch=rewrites.watch, progress=rewrites.progress)
    (rewrite,) = rewrites.found
    small = shrunk(rewrite.before, rewrite.after)
    assert small is not None
    assert [str(v.type) for v in small[0].inputs] == ["f32[1,3,6,5]"]
    assert [str(v.type) for v in small[1].outputs] == ["f32[1,4,6,5]"]
    assert all(j.ok and j.n_inputs >= 5 for j in judge_rewrites(rewrites))
    # A size that a constant contains is not replaced: equal numbers may have different meanings.
    named = graph("""
    graph g(x: f32[400,112]) {
      const to: i64[2] = literal(112,400)
      y: f32[112,400] = reshape(x, to)
      return y
    }
    """)
    assert shrunk(named, named) is None


@pytest.mark.parametrize(
    ("itself", "error", "fine"),
    [(1e-7, 5e-5, True), (1e-7, 3.9e-3, False), (3.9e-3, 3.9e-3, True), (3.9e-3, 9e-3, False)],
)
def test_steps_that_rounding_moves_the_model_by_are_allowed(
    itself: float, error: float, fine: bool
) -> None:
    found = Difference("y", error, 1.0, error)
    away = Error("y", itself, itself, 1.0)
    verdict = Verdict(
        "reference",
        "",
        (Finding("imported", (), 0.0, wide=(away,)), Finding("program", (found,), 0.0)),
        1e-4,
        None,
    )
    assert verdict.ok is fine


def test_a_yardstick_that_alone_says_something_else_gives_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    g = graph("""
    graph g(x: f32[2,3]) {
      y: f32[2,3] = relu(x)
      return y
    }
    """)

    def right(inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        return reference(g, inputs)

    def wrong(inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        return {k: v + 0.5 for k, v in right(inputs).items()}

    monkeypatch.setattr(yardstick, "run_reference", lambda _, inputs: (wrong(inputs), ""))
    monkeypatch.setattr(stepwise, "load", lambda _: g)
    assert not check_model(b"").ok
    assert not check_model(b"", peers={"third": wrong}).ok
    verdict = check_model(b"", peers={"third": right})
    assert verdict.ok
    assert verdict.yardstick == "reference"
    assert verdict.note.endswith("from third and our reference, which agree")


@pytest.mark.parametrize(
    ("itself", "error", "in_codes", "fine"),
    [
        (0.3, 0.3, False, False),
        (0.3, 0.3, True, False),
        (0.012, 0.003, False, False),
        (0.012, 0.003, True, True),
        (1e-7, 0.003, True, True),
        (1e-7, 0.009, True, False),
    ],
)
def test_what_is_far_off_in_itself_allows_no_more_but_for_steps_of_codes(
    itself: float, error: float, in_codes: bool, fine: bool
) -> None:
    found = Difference("y", error, 1.0, error)
    away = Error("y", itself, itself, 1.0)
    first = Finding("imported", (), 0.0, wide=(away,))
    second = Finding("program", (found,), 0.0)
    verdict = Verdict("reference", "", (first, second), 1e-4, None, in_codes=in_codes)
    assert verdict.ok is fine


@pytest.mark.parametrize(
    ("taken", "made", "in_codes"),
    [("f32", "u8", True), ("i32", "i8", True), ("u8", "f32", False), ("i8", "u8", False)],
)
def test_steps_are_allowed_only_where_a_node_rounds_to_codes(
    taken: str, made: str, in_codes: bool
) -> None:
    g = graph(f"graph g(x: {taken}[3,5]) {{\n y: {made}[3,5] = cast(x, to={made})\n return y\n}}")
    assert check_model(g, pipeline="none").in_codes is in_codes
