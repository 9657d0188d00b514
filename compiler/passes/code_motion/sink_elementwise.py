"""Code motion of elementwise operators past slices, gathers, maxima and concatenations."""

from __future__ import annotations

from compiler.ir.constant import Constant
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import OPERATORS, with_trait
from compiler.ir.types import TensorType
from compiler.passes.code_motion.moves import later, makers
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.determinism import is_deterministic
from compiler.passes.engine.pattern import uniform
from compiler.passes.engine.rule import ROUNDINGS
from compiler.passes.engine.step_kind import step_kind
from compiler.passes.rules.windows import empty_window
from compiler.trace import Log

PICKS = with_trait("dropping")
"""Operators that select elements by position."""

LARGEST = with_trait("maximum")
"""Operators that select the largest of several elements."""

RANDOM = with_trait("random")

INCREASING = with_trait("increasing")
"""Operators that commute with a maximum, for some parameters."""

NEARLY_INCREASING = with_trait("nearly_increasing")
"""Operators that commute with a maximum up to rounding."""


@graph_pass(
    example="""
    graph g(x: f32[2,7,5], a: f32[3,4], b: f32[2,4]) {
      const from: i64[1] = literal(1)
      const to: i64[1] = literal(3)
      const at: i64[1] = literal(1)
      e: f32[2,7,5] = exp(x)
      s: f32[2,2,5] = slice(e, from, to, at)
      r: f32[2,7,5] = relu(x)
      m: f32[2,7,2] = max_pool(r, kernel=[3], strides=[2], pads=[0,0], dilations=[1])
      t: f32[3,4] = tanh(a)
      u: f32[2,4] = tanh(b)
      y: f32[5,4] = concat(t, u, axis=0)
      return s, m, y
    }
    =>
    graph g(x: f32[2,7,5], a: f32[3,4], b: f32[2,4]) {
      const from: i64[1] = literal(1)
      const to: i64[1] = literal(3)
      const at: i64[1] = literal(1)
      s.moved: f32[2,2,5] = slice(x, from, to, at)
      s: f32[2,2,5] = exp(s.moved)
      m.moved: f32[2,7,2] = max_pool(x, kernel=[3], strides=[2], pads=[0,0], dilations=[1])
      m: f32[2,7,2] = relu(m.moved)
      y.moved: f32[5,4] = concat(a, b, axis=0)
      y: f32[5,4] = tanh(y.moved)
      return s, m, y
    }
    """,
    steps=[
        step_kind(
            "compute_what_is_left",
            "Compute an elementwise function after a slice or pool, on the "
            "remaining elements only.",
            near_miss="""
            graph g(x: f32[2,7,5]) {
              const from: i64[1] = literal(1)
              const to: i64[1] = literal(3)
              const at: i64[1] = literal(1)
              e: f32[2,7,5] = exp(x)
              s: f32[2,2,5] = slice(e, from, to, at)
              return s, e
            }
            """,
        ),
        step_kind(
            "merge_into_one",
            "Compute the same elementwise function of all parts once, after their concatenation.",
            near_miss="""
            graph g(a: f32[3,4], b: f32[2,4]) {
              t: f32[3,4] = tanh(a)
              u: f32[2,4] = exp(b)
              y: f32[5,4] = concat(t, u, axis=0)
              return y
            }
            """,
        ),
    ],
)
def sink_elementwise(graph: Graph, log: Log) -> Graph:
    """Move elementwise operators after slices and concatenations.

    An operator before a slice or gather also computes the elements that are dropped. An increasing
    operator may move after a maximum. NaN stays NaN in either order. An operator that is fused
    into the kernel of its operand adds almost no time, and stays. Source: Glow's SinkCode, TVM's
    ReorderTakeAfterMatmul.
    """
    ed = Editor(graph)
    n_done = 0
    for old in graph.nodes:
        node = ed.producer(old.output)
        while node is not None and _sink(ed, log, node):
            n_done += 1
            moved = ed.producer(old.output)
            node = ed.producer(moved.inputs[0]) if moved is not None else None
    return ed.graph() if n_done else graph


def _sink(ed: Editor, log: Log, node: Node) -> bool:
    if node.op not in (*PICKS, *LARGEST, "concat") or not isinstance(node.type, TensorType):
        return False
    first = ed.producer(node.inputs[0])
    if first is None or not _is_unary(ed, first):
        return False
    made = makers(ed, node, first.op) if node.op != "reduce_max" else [first]
    if made is None:
        return False
    rule = "merge_into_one" if node.op == "concat" else "compute_what_is_left"
    objection = _objection(ed, node, made)
    if not log.may(rule, node.output, objection, [*made, node]):
        return False
    inexact = node.op in LARGEST and first.op in NEARLY_INCREASING
    later(ed, log, rule, node, made, error=ROUNDINGS if inexact else 0.0)
    return True


def _is_unary(ed: Editor, node: Node) -> bool:
    """Whether each result element depends only on scalars and one element at its position."""
    operator = OPERATORS.get(node.op)
    if operator is None or operator.kind != "elementwise" or operator.lower_fn is None:
        return False
    if len(node.outputs) != 1 or not is_deterministic(node) or node.op in RANDOM:
        return False
    if node.op in ("quantize", "dequantize", "cast"):  # Own: other passes compare the bytes moved.
        return False
    types = [ed.type(i) for i in node.inputs if i]
    if not types or not all(isinstance(t, TensorType) and t.is_static for t in types):
        return False
    first, *others = types
    return (
        isinstance(first, TensorType)
        and first.layout.is_plain
        and first.shape == node.tensor.shape
        and node.inputs[0] not in node.inputs[1:]
        and all(isinstance(t, TensorType) and t.rank == 0 for t in others)
    )


def _objection(ed: Editor, node: Node, made: list[Node]) -> str:
    """Return the reason that elementwise nodes stay before data movement, or "" if they move."""
    first = made[0]
    for m in made:
        if len(ed.users(m.output)) != 1 or ed.is_result(m.output):
            return f"{m.output} has other readers, so it would be computed twice"
        if dict(m.attrs) != dict(first.attrs) or m.inputs[1:] != first.inputs[1:]:
            return f"{m.output} and {first.output} are different computations"
        if root := _computed_with(ed, m):
            return f"{m.op} fuses into the kernel of {root}, where it adds almost no time"
    if node.op == "concat":
        return "" if len(made) > 1 else "the concatenation has a single operand"
    before, after = first.tensor, node.tensor
    if not after.is_static:
        return "the number of elements after the move is known only at run time"
    if after.n_elements >= before.n_elements:
        return f"{node.op} returns {after.n_elements:,} elements, no fewer than it reads"
    return _objection_to_largest(ed, node, first) if node.op in LARGEST else ""


def _computed_with(ed: Editor, node: Node) -> str:
    """Return the value whose kernel also computes the elementwise chain up to a node, or ""."""
    value = node.inputs[0]
    while True:
        maker = ed.producer(value)
        if maker is None or len(ed.users(value)) != 1:
            return ""
        if not _is_unary(ed, maker):
            break
        value = maker.inputs[0]
    operator = OPERATORS.get(maker.op)
    fuses = operator is not None and operator.kind in ("elementwise", "contraction", "reduction")
    return value if fuses else ""


def _objection_to_largest(ed: Editor, node: Node, first: Node) -> str:
    """Return the reason that an operator does not commute with a maximum, or "" if it does."""
    if node.op == "max_pool":
        if reason := empty_window(node.attrs):
            return reason
    elif 0 in first.tensor.static_shape:
        return f"{first.output} has no elements"
    if first.op not in INCREASING and first.op not in NEARLY_INCREASING:
        return f"{first.op} is not monotonic"
    if not first.tensor.dtype.is_float:
        return f"{first.op} of {first.tensor.dtype} may overflow"
    return "" if _increases(ed, first) else f"with these parameters {first.op} is decreasing"


def _increases(ed: Editor, node: Node) -> bool:
    """Whether the scalar operands of a node are known and make it an increasing function."""
    numbers = [_number(ed.constant(i)) for i in node.inputs[1:] if i]
    known = [n for n in numbers if n is not None]
    return len(known) == len(numbers) and OPERATORS[node.op].increases(known, node.attrs)


def _number(c: Constant | None) -> float | None:
    value = None if c is None else uniform(c)
    return None if value is None else float(value)
