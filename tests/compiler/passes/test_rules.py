"""Tests of the rewrite engine: preserved properties, refusals, and the number of attempts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any as Anything

import numpy as np
import pytest

import compiler
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import Operand, Tensor
from compiler.ir.verify import verify
from compiler.passes.engine import rewrite
from compiler.passes.engine.pattern import Any, AnyAttr, Number
from compiler.passes.engine.rewrite import apply_rules
from compiler.passes.engine.rule import ROUNDINGS, RULES, Because, Rule, Skip, rule
from compiler.passes.rules.bits import BITS
from compiler.passes.rules.calls import o
from compiler.passes.rules.neutral import NEUTRAL
from compiler.trace import Log
from tests.compiler.passes.numbers import (
    applied,
    assert_same_results,
    declined,
    graph,
    random_inputs,
)

X, Y = Any("x"), Any("y")


@pytest.fixture(autouse=True)
def _own_rules() -> Iterator[None]:
    before = dict(RULES)
    yield
    RULES.clear()
    RULES.update(before)


def made(pattern: Operand, body: Anything, **options: Anything) -> Rule:
    body.__name__ = options.pop("name", "tried")
    body.__doc__ = "A rule of this test."
    RULES.pop(body.__name__, None)
    return rule(pattern, example="", near_miss="", **options)(body)


def run(g: Graph, *tried: Rule, **options: Anything) -> tuple[Graph, Log]:
    log = Log()
    after = apply_rules(g, tried, log, **options)
    verify(after)
    return after, log


TWO = """
graph g(x: f32[2,3]) {
  a: f32[2,3] = neg(x) @ "first node" <- one
  b: f32[2,3] = exp(a) <- two, three
  c: f32[2,3] = relu(b)
  return c
}
"""


def test_a_replacement_keeps_name_type_and_all_origins() -> None:
    merge = made(o.exp(o.neg(X)), lambda x: o.sigmoid(o.abs(x)))
    after, log = run(graph(TWO), merge)
    assert [n.op for n in after.nodes] == ["abs", "sigmoid", "relu"]
    inner, outer, _ = after.nodes
    assert outer.output == "b"
    assert outer.origins == inner.origins == ("one", "two", "three")
    (step,) = log.steps
    assert (step.rule, step.at, step.took) == ("tried", "b", ("a", "b"))
    assert set(step.made) == {inner.output, "b"}
    assert "2 nodes" in step.because


def test_a_reason_with_numbers_is_kept() -> None:
    merge = made(o.exp(o.neg(X)), lambda x: Because(o.abs(x), "17 reasons"))
    _, log = run(graph(TWO), merge)
    assert log.steps[0].because == "17 reasons"


def test_results_keep_their_names_when_a_value_replaces_them() -> None:
    drop = made(o.neg(o.neg(X)), lambda x: x)
    after, _ = run(
        graph(
            """
            graph g(x: f32[3]) {
              a: f32[3] = neg(x)
              b: f32[3] = neg(a)
              return y=b, b
            }
            """
        ),
        drop,
    )
    assert [(r.name, r.value) for r in after.results] == [("y", "x"), ("b", "x")]
    assert after.nodes == ()


def test_a_constant_takes_the_place_of_the_root() -> None:
    zero = made(o.sub(X, X), lambda x: np.zeros(x.type.static_shape, np.float32))
    after, log = run(
        graph("graph g(x: f32[3]) { a: f32[3] = sub(x, x) b: f32[3] = relu(a) return b }"), zero
    )
    assert after.constants["a"].array().tolist() == [0, 0, 0]
    assert after.constants["a"].origins == ("a",)
    assert log.steps[0].made == ("a",)


def test_a_skip_is_recorded_once_with_its_reason() -> None:
    never = made(o.exp(X), lambda x: Skip("not on a Saturday"))
    other = made(o.neg(X), lambda x: o.abs(x), name="other")
    after, log = run(graph(TWO), never, other)
    assert applied(log.steps) == ["other"]
    assert declined(log.steps, "tried") == ["not on a Saturday"]
    assert [n.op for n in after.nodes] == ["abs", "exp", "relu"]


def test_declined_steps_can_be_left_out() -> None:
    never = made(o.exp(X), lambda x: Skip("no"))
    log = Log(keep_declined=False)
    apply_rules(graph(TWO), [never], log)
    assert log.steps == []


def test_a_replacement_of_another_type_is_declined_and_leaves_nothing_behind() -> None:
    wrong = made(o.exp(X), lambda x: o.transpose(o.abs(o.relu(x)), perm=[1, 0]))
    g = graph(TWO)
    after, log = run(g, wrong)
    assert after is g
    assert declined(log.steps, "tried") == ["b is f32[2,3], but its replacement is f32[3,2]"]


def test_a_value_of_another_type_is_declined() -> None:
    wrong = made(o.add(X, 0), lambda x: x)
    g = graph(
        """
        graph g(x: f32[3]) {
          const zero: f32[2,3] = splat(0.0)
          a: f32[2,3] = add(x, zero)
          return a
        }
        """
    )
    after, log = run(g, wrong)
    assert after is g
    assert "its replacement is f32[3]" in declined(log.steps, "tried")[0]


SHARED = """
graph g(x: f32[2,3]) {
  a: f32[2,3] = neg(x)
  b: f32[2,3] = exp(a)
  c: f32[2,3] = relu(a)
  return b, c
}
"""


def test_a_rule_that_wants_the_inside_alone_is_declined_when_it_is_shared() -> None:
    alone = made(o.exp(o.neg(X)), lambda x: o.sigmoid(x), single_use=True)
    g = graph(SHARED)
    after, log = run(g, alone)
    assert after is g
    assert declined(log.steps, "tried") == ["a has 2 uses, so it would be computed twice"]


def test_a_rule_that_wants_the_inside_alone_is_declined_when_it_is_a_result() -> None:
    alone = made(o.exp(o.neg(X)), lambda x: o.sigmoid(x), single_use=True)
    _, log = run(graph(SHARED.replace("return b, c", "return b, a")), alone)
    assert "a is also a result" in declined(log.steps, "tried")[0]


def test_other_rules_leave_shared_nodes_for_their_other_readers() -> None:
    free = made(o.exp(o.neg(X)), lambda x: o.sigmoid(x))
    g = graph(SHARED)
    after, _ = run(g, free)
    assert [n.op for n in after.nodes] == ["neg", "sigmoid", "relu"]


def test_a_rule_fires_once_the_other_reader_is_gone() -> None:
    alone = made(o.exp(o.neg(X)), lambda x: o.sigmoid(x), single_use=True)
    other = made(o.relu(o.neg(X)), lambda x: o.abs(x), name="other")
    after, log = run(graph(SHARED), alone, other)
    assert applied(log.steps) == ["other", "tried"]
    assert [n.op for n in after.nodes] == ["sigmoid", "abs"]


def test_inexact_rules_can_be_switched_off() -> None:
    inexact = made(o.exp(o.neg(X)), lambda x: o.sigmoid(x), error=ROUNDINGS)
    g = graph(TWO)
    after, log = run(g, inexact, inexact=False)
    assert after is g
    assert "inexact rules are disabled" in declined(log.steps, "tried")[0]


def test_a_rule_without_end_stops_at_the_budget_and_says_so() -> None:
    forth = made(o.neg(X), lambda x: o.abs(x), name="forth")
    back = made(o.abs(X), lambda x: o.neg(x), name="back")
    g = graph("graph g(x: f32[3]) { a: f32[3] = neg(x) return a }")
    _, log = run(g, forth, back, at_most=7)
    assert len(applied(log.steps)) == 7
    assert log.steps[-1].rule == "budget"
    assert "7 rewrites" in log.steps[-1].because


def test_once_leaves_what_a_rewrite_makes_alone() -> None:
    forth = made(o.neg(X), lambda x: o.abs(x), name="forth")
    back = made(o.abs(X), lambda x: o.neg(x), name="back")
    g = graph("graph g(x: f32[3]) { a: f32[3] = neg(x) return a }")
    after, _ = run(g, forth, back, until="once")
    assert [n.op for n in after.nodes] == ["abs"]


def test_a_further_output_that_is_read_keeps_its_node() -> None:
    first = made(o.split(X, axis=AnyAttr("a"), sizes=AnyAttr("s")), lambda x, a, s: Skip("seen"))
    g = graph(
        """
        graph g(x: f32[5]) {
          a: f32[2], b: f32[3] = split(x, axis=0, sizes=[2,3])
          return a, b
        }
        """
    )
    _, log = run(g, first)
    assert declined(log.steps, "tried") == ["the additional output b of a has readers"]


def test_dead_nodes_are_left_to_dead_code_removal() -> None:
    merge = made(o.neg(X), lambda x: o.abs(x))
    g = graph("graph g(x: f32[3]) { a: f32[3] = neg(x) b: f32[3] = relu(x) return b }")
    after, log = run(g, merge)
    assert after is g
    assert log.steps == []


def test_a_body_that_does_not_take_the_placeholders_is_refused() -> None:
    with pytest.raises(AssertionError, match="the pattern binds"):
        made(o.neg(X), lambda y: y)
    with pytest.raises(AssertionError, match="declared twice"):
        rule(o.neg(X), example="", near_miss="")(RULES["abs_of_negated"].body)


@pytest.mark.parametrize("rule", [*NEUTRAL, *BITS], ids=lambda r: r.name)
def test_the_source_of_a_row_is_its_line(rule: Rule) -> None:
    file, _, line = rule.source.partition(":")
    text = (Path(compiler.__file__).parent / file).read_text(encoding="utf-8")
    assert any(f'"{rule.name}"' in row for row in text.splitlines()[int(line) - 1 :][:2])


def test_the_type_to_give_is_handed_over_on_request() -> None:
    def body(n: float, x: Tensor, t: object) -> Operand:
        return Skip(f"{t} from {n}")

    seen = made(o.mul(X, Number("n")), body, result="t")
    _, log = run(
        graph(
            """
            graph g(x: f32[N,3]) {
              const c: f32[] = literal(2.5)
              a: f32[N,3] = mul(c, x)
              return a
            }
            """
        ),
        seen,
    )
    assert declined(log.steps, "tried") == ["f32[N,3] from 2.5"]


def chain(n: int) -> Graph:
    lines = [f"t{i + 1}: f32[2,3,4] = relu(t{i})" for i in range(n)]
    return graph("graph g(t0: f32[2,3,4]) {\n" + "\n".join(lines) + f"\nreturn t{n}\n}}")


def test_the_work_grows_with_the_number_of_nodes_and_not_faster() -> None:
    calls: Counter[int] = Counter()

    def body(x: Tensor) -> Operand:
        calls[n] += 1
        return o.relu(x)

    merge = made(o.relu(o.relu(X)), body)
    for n in (200, 800):
        g = chain(n)
        after, _ = run(g, merge)
        assert len(after.nodes) == 1
        assert_same_results(g, after, random_inputs(g), error=0)
    assert calls[800] <= 5 * calls[200]


def fan(n: int) -> Graph:
    """Return many readers of one value and one constant, all of which are rewritten."""
    lines = ["const one: f32[] = literal(1.0)", "s: f32[5] = exp(x)"]
    for i in range(n):
        lines += [f"a{i}: f32[5] = mul(s, one)", f"b{i}: f32[5] = neg(a{i})"]
    results = ", ".join(f"b{i}" for i in range(n))
    return graph("graph g(x: f32[5]) {\n" + "\n".join(lines) + f"\nreturn {results}\n}}")


def test_shared_values_do_not_make_every_rewrite_look_at_every_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    visits: Counter[int] = Counter()
    visit = rewrite._Engine.visit

    def counting(self: rewrite._Engine, node: Node) -> list[str]:
        visits[n] += 1
        return visit(self, node)

    monkeypatch.setattr(rewrite._Engine, "visit", counting)
    drop, other = RULES["drop_multiply_by_one"], made(o.neg(X), lambda x: Skip("no"))
    for n in (100, 400):
        after, log = run(fan(n), drop, other)
        assert len(after.nodes) == n + 1
        assert applied(log.steps) == ["drop_multiply_by_one"] * n
    assert visits[400] <= 5 * visits[100]
