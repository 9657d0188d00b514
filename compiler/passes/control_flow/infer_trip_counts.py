"""Inference of trip counts for loops that test a counter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from compiler.ir.affine import may_exceed
from compiler.ir.constant import Constant
from compiler.ir.graph import Graph, Node, all_nodes
from compiler.ir.infer import Facts
from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import DType
from compiler.ops.control_flow.control import always_goes_on
from compiler.ops.control_flow.loop_form import ENDLESS
from compiler.ops.data_movement.reshape import reshape
from compiler.ops.elementwise.arithmetic import add, div, max_, min_, mul, sub
from compiler.ops.elementwise.cast import cast
from compiler.ops.elementwise.compare import less, where
from compiler.passes.control_flow.rebuild import Rebuild
from compiler.passes.control_flow.trip_count import (
    AddRecurrence,
    AllOf,
    AnyOf,
    Fixed,
    InductionVariables,
    Invariants,
    NotZero,
    Opaque,
    Positive,
    Test,
    Tests,
    is_number,
    only,
)
from compiler.passes.engine.declaration import graph_pass
from compiler.trace import Log


@graph_pass(
    aliases=("count_loops",),
    known_as={"LLVM": "ScalarEvolution", "XLA": "WhileLoopTripCountAnnotator"},
    needs=["constants"],
    example="""
    graph g(x: f32[2,3]) {
      const zero: i32[] = literal(0)
      const go: bool[] = literal(true)
      i: i32[], y: f32[2,3] = onnx.Loop(_, go, zero, x, opset=16) {
        body: graph body(n: i64[], on: bool[], k: i32[], s: f32[2,3]) {
          const two: i32[] = literal(2)
          const end: i32[] = literal(9)
          next: i32[] = add(k, two)
          more: bool[] = less(next, end)
          t: f32[2,3] = exp(s)
          return more, next, t
        }
      }
      return y
    }
    =>
    graph g(x: f32[2,3]) {
      const zero: i32[] = literal(0)
      const i.steps_3: i64[] = literal(5)
      i: i32[], y: f32[2,3] = onnx.Loop(i.steps_3, _, zero, x, opset=16) {
        body: graph body(n: i64[], on: bool[], k: i32[], s: f32[2,3]) {
          const two: i32[] = literal(2)
          const going: bool[] = literal(true)
          next: i32[] = add(k, two)
          t: f32[2,3] = exp(s)
          return more=going, next, t
        }
      }
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], limit: f32[]) {
      const zero: f32[] = literal(0.0)
      const go: bool[] = literal(true)
      i: f32[], y: f32[2,3] = onnx.Loop(_, go, zero, x, opset=16) {
        body: graph body(n: i64[], on: bool[], k: f32[], s: f32[2,3]) {
          next: f32[] = exp(k)
          more: bool[] = less(next, limit)
          t: f32[2,3] = neg(s)
          return more, next, t
        }
      }
      return y
    }
    """,
)
def infer_trip_counts(graph: Graph, log: Log) -> Graph:
    """Infer the trip count of a Loop whose condition compares a counter with a bound.

    The counter is an induction variable: a state with a constant increment per iteration, or the
    iteration number. The bound is loop-invariant. In a conjunction (`and`), conditions on counters
    become the trip count, and all other conditions stay in the body. Source: LLVM's loop exit
    counts, XLA's WhileLoopTripCountAnnotator.
    """
    if not any(n.op == "onnx.Loop" for n in all_nodes(graph)):
        return graph
    counts = _Counts(graph, None, log)
    after = counts.run()
    return after if counts.n_replaced else graph


class _Counts(Rebuild):
    """A rebuilder that infers the trip counts of loops."""

    def __init__(self, graph: Graph, outer: Facts | None, log: Log) -> None:
        super().__init__(graph, outer, log)
        self.outside = Invariants(self.ed)

    def rewrite(self, node: Node) -> bool:
        if node.op != "onnx.Loop" or always_goes_on(node.regions["body"]):
            return False
        if len(node.regions["body"].inputs) != len(node.inputs):
            return False
        trip = node.inputs[0]
        if trip and not is_number(self.ed.type(trip)):
            return False
        found = InductionVariables(node, self.ed.facts, self.outside)
        test = Tests(found.graph, found.recurrence_of, self._known_inside(node, found)).read(
            found.graph.results[0].value
        )
        parts = test.parts if isinstance(test, AllOf) else (test,)
        left = [p for p in parts if isinstance(p, Opaque)]
        counted = tuple(dict.fromkeys(p for p in parts if not isinstance(p, Opaque)))
        if left and any(not p.value for p in left):
            counted = ()
        if not counted:
            self.log.declined("infer_trip_counts", node.output, left[0].because, [node])
            return False
        if not self.log.may("infer_trip_counts", node.output):
            return False
        self._count(node, counted, [p.value for p in left])
        return True

    def _known_inside(self, node: Node, found: InductionVariables) -> dict[str, np.ndarray]:
        """Return the values known inside the body, including that the loop's condition is true."""
        return {**found.known, node.regions["body"].inputs[1].name: np.array(True)}

    def _count(self, node: Node, counted: Sequence[Test], left: Sequence[str]) -> None:
        n_made = len(self.ed.made)
        steps, words = self._steps(node, counted, n_made)
        body, condition = _without_condition(node.regions["body"], left)
        inputs = (steps, node.inputs[1] if condition else "", *node.inputs[2:])
        now = replace(node, inputs=inputs, regions={"body": body})
        made = [n for n in self.ed.made[n_made:] if self.ed.alive(n)]
        self.n_replaced += 1
        self._keep(now)
        kept = f"; {', '.join(left)} may end the loop earlier" if left else ""
        self.log.applied("infer_trip_counts", node.output, f"{words}{kept}", [node], [*made, now])

    def _steps(self, node: Node, counted: Sequence[Test], n_made: int) -> tuple[str, str]:
        """Return the trip count as a value, and in words."""
        trip, start = node.inputs[:2]
        limit = self.outside.recurrence_of(trip) if trip else None
        if limit is not None and limit.known_start is not None and limit.known_start >= ENDLESS:
            limit = None
        first = self._first(start)
        # If the start test equals the body's test at iteration -1, one test covers both.
        earlier = [_earlier(t) for t in counted]
        is_same = first is not None and set(first) == set(map(_at_rest, earlier))
        tests = earlier if is_same else list(counted)
        number = reduce(min_, (self._count_of(t, node) for t in tests))
        if not is_same:
            flag = self._flag(start)
            number = add(number, _ONE) if flag is None else where(flag, add(number, _ONE), _NONE)
        if limit is not None:
            number = min_(number, self._at_least_none(self._value(limit, node)))
        return self._settled(node, number, n_made)

    def _settled(self, node: Node, operand: Operand, n_made: int) -> tuple[str, str]:
        """Build the trip count, as a constant if known; return the value and its description."""
        hint = f"{node.output}.steps"
        value = self.ed.build(operand, hint=hint, origins=node.origins)
        known = self.ed.known(value)
        found = None if known is None else only(known)
        if isinstance(found, int):
            for made in reversed(self.ed.made[n_made:]):
                self.ed.remove(made)
            value = self.ed.add_constant(np.array(found, np.int64), hint, node.origins)
        self.used.add(value)
        return value, f"the loop runs {value if found is None else found} iterations"

    def _first(self, start: str) -> tuple[Test, ...] | None:
        """Return the test that decides whether the loop starts."""
        if not start:
            return None
        graph = Graph("around", (), (), tuple(self.ed.nodes()), self.ed.constants)
        known = {k: v for k, v in self.ed.facts.known.items() if v.size == 1}
        test = Tests(graph, self.outside.recurrence_of, known).read(start)
        return tuple(dict.fromkeys(test.parts)) if isinstance(test, AllOf) else (test,)

    # Arithmetic on trip counts

    def _count_of(self, test: Test, node: Node) -> Operand:
        """Return the number of iterations before a test fails."""
        match test:
            case AllOf(parts) | AnyOf(parts):
                either = min_ if isinstance(test, AllOf) else max_
                return reduce(either, (self._count_of(p, node) for p in parts))
            case Positive(recurrence) if recurrence.step < 0:
                return self._over(
                    self._at_least_none(self._value(recurrence, node)), -recurrence.step
                )
            case Positive(recurrence):
                holds = less(_NONE, self._value(recurrence, node))
                return where(holds, _constant(_ENDLESS), _NONE)
            case NotZero(recurrence):
                left = self._value(AddRecurrence(0).plus(recurrence, -recurrence.step), node)
                return where(less(left, _NONE), _constant(_ENDLESS), left)
            case Fixed(holds):
                return _constant(_ENDLESS if holds else 0)
            case Opaque(value):
                raise AssertionError(f"the body must compute {value}")

    def _value(self, recurrence: AddRecurrence, node: Node) -> Tensor:
        """Return the value of a recurrence at iteration 0 as an i64."""
        made: Operand = (
            _constant(recurrence.constant) if recurrence.constant or not recurrence.terms else None
        )
        for name, times in recurrence.terms:
            one: Operand = self.ed.tensor(name)
            if self.ed.tensor(name).rank:
                one = reshape(one, np.zeros(0, np.int64))
            if self.ed.tensor(name).dtype is not DType.i64:
                one = cast(one, to=DType.i64)
            if times == -1 and made is not None:
                made = sub(made, one)
                continue
            one = one if times == 1 else mul(one, _constant(times))
            made = one if made is None else add(made, one)
        return self._built(made, node)

    def _at_least_none(self, number: Tensor) -> Operand:
        """Return the maximum of the number and 0; a size is never negative and needs no maximum."""
        found = None if number.value is None else only(number.value)
        is_size = found is not None and not may_exceed(0, found)
        return number if is_size else max_(number, _NONE)

    def _over(self, number: Operand, step: int) -> Operand:
        if step == 1:
            return number
        return div(add(number, _constant(step - 1)), _constant(step))

    def _built(self, operand: Operand, node: Node) -> Tensor:
        value = self.ed.build(operand, hint=f"{node.output}.steps", origins=node.origins)
        self.used.add(value)
        return self.ed.tensor(value)

    def _flag(self, start: str) -> Operand:
        """Return the condition under which the loop starts; None if the loop has no condition."""
        if not start:
            return None
        return reshape(self.ed.tensor(start), np.zeros(0, np.int64))


def _earlier(test: Test) -> Test:
    """Return the test for the previous iteration."""
    if isinstance(test, Positive | NotZero):
        return replace(test, recurrence=test.recurrence.shifted(-1))
    if isinstance(test, AllOf | AnyOf):
        return replace(test, parts=tuple(map(_earlier, test.parts)))
    return test


def _at_rest(test: Test) -> Test:
    """Return the test with its counters fixed at their values in iteration 0."""
    if isinstance(test, Positive | NotZero):
        return replace(test, recurrence=replace(test.recurrence, step=0))
    if isinstance(test, AllOf | AnyOf):
        return replace(test, parts=tuple(map(_at_rest, test.parts)))
    return test


def _without_condition(body: Graph, left: Sequence[str]) -> tuple[Graph, bool]:
    """Return the body that tests the remaining conditions, and whether it tests any."""
    first, *others = body.results
    if not left:
        name = _fresh(body, "going")
        constants = {**body.constants, name: Constant.of(np.array(True))}
        body = replace(body, results=(replace(first, value=name), *others), constants=constants)
        return _only_read(body), False
    value = left[0]
    nodes = list(body.nodes)
    types = body.types
    for other in left[1:]:
        name = _fresh(replace(body, nodes=tuple(nodes)), "going")
        nodes.append(Node("logical_and", (value, other), (name,), (types[left[0]],), name=name))
        value = name
    results = (replace(first, value=value), *others)
    return _only_read(replace(body, nodes=tuple(nodes), results=results)), True


def _fresh(body: Graph, hint: str) -> str:
    name, n = hint, 1
    while name in body.types:
        n += 1
        name = f"{hint}_{n}"
    return name


def _only_read(body: Graph) -> Graph:
    """Remove the nodes of a body that only the removed condition needed."""
    needed = {r.value for r in body.results}
    kept: list[Node] = []
    for node in reversed(body.nodes):
        if not needed.isdisjoint(node.outputs):
            kept.append(node)
            needed.update(node.reads)
    constants = {k: c for k, c in body.constants.items() if k in needed}
    return replace(body, nodes=tuple(reversed(kept)), constants=constants)


_ONE, _NONE = np.array(1, np.int64), np.array(0, np.int64)
_ENDLESS = 1 << 62


def _constant(n: int) -> np.ndarray:
    return np.array(max(-_ENDLESS, min(n, _ENDLESS)), np.int64)
