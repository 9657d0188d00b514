"""Facts about the elements of a value, derived from its producers: ranges, and integrality.

A range excludes NaN: each element is NaN or within the range. The analysis examines only a few
nodes to stay cheap. A fact that the analysis does not find is unknown, not false.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from compiler.ir.constant import Constant
from compiler.ir.editor import Editor
from compiler.ir.graph import Node
from compiler.ir.operator import OPERATORS, with_trait
from compiler.ir.types import DType, TensorType
from compiler.passes.engine.pattern import UNIFORM_LIMIT, Fact, uniform

DEPTH = 6
"""Largest number of successive producers that the analysis visits."""

Range = tuple[float, float]

ANY: Range = (-math.inf, math.inf)
POSITIVE: Range = (0.0, math.inf)

_COPIES = with_trait("single_source")
"""Operators, other than views, whose results contain only elements of the first operand."""

_INTEGRAL, _INTEGER_PRESERVING = with_trait("integral"), with_trait("integer_preserving")
_AFFINE = with_trait("affine")


def range_of(ed: Editor, value: str, depth: int = DEPTH) -> Range:
    """Return a range that contains all elements of a tensor; ANY if nothing is known."""
    c = ed.constant(value)
    if c is not None:
        return _range_of_constant(c)
    t = ed.type(value)
    node = ed.producer(value)
    if not isinstance(t, TensorType):
        return ANY
    if not t.dtype.is_float:
        unsigned = t.dtype is DType.bool or t.dtype.label[0] == "u"
        return POSITIVE if unsigned else ANY
    if node is None or not depth:
        return ANY
    operator = OPERATORS.get(node.op)
    if operator is not None and operator.value_range is not None:
        return operator.value_range
    made = _BY_OPERATOR.get(node.op)
    if made is not None:
        return made(ed, node, depth - 1)
    if node.op in _COPIES or _is_view(node):
        return _operand(ed, node, 0, depth - 1)
    return ANY


def _range_of_constant(c: Constant) -> Range:
    number = uniform(c)
    if number is None and (c.type.n_elements > UNIFORM_LIMIT or not c.type.n_elements):
        return ANY
    if not (c.type.dtype.is_float or c.type.dtype.is_integer):
        return POSITIVE if c.type.dtype is DType.bool else ANY
    values = np.asarray(c.array() if number is None else number, np.float64)
    if np.isnan(values).any():
        return ANY
    return float(values.min()), float(values.max())


def _operand(ed: Editor, node: Node, index: int, depth: int) -> Range:
    given = node.inputs[index] if index < len(node.inputs) else ""
    return range_of(ed, given, depth) if given else ANY


def _has_elements(ed: Editor, value: str) -> bool:
    t = ed.type(value)
    return isinstance(t, TensorType) and t.is_static and t.n_elements > 0


def _relu(ed: Editor, node: Node, depth: int) -> Range:
    low, high = _operand(ed, node, 0, depth)
    return max(low, 0.0), max(high, 0.0)


def _clip(ed: Editor, node: Node, depth: int) -> Range:
    low, high = _operand(ed, node, 0, depth)
    if len(node.inputs) > 1 and node.inputs[1]:
        least = _operand(ed, node, 1, depth)[0]
        low, high = max(low, least), max(high, _operand(ed, node, 1, depth)[1])
    if len(node.inputs) > 2 and node.inputs[2]:
        low = min(low, _operand(ed, node, 2, depth)[0])
        high = min(high, _operand(ed, node, 2, depth)[1])
    return low, high


def _max(ed: Editor, node: Node, depth: int) -> Range:
    (a, b), (c, d) = _operand(ed, node, 0, depth), _operand(ed, node, 1, depth)
    return max(a, c), max(b, d)


def _min(ed: Editor, node: Node, depth: int) -> Range:
    (a, b), (c, d) = _operand(ed, node, 0, depth), _operand(ed, node, 1, depth)
    return min(a, c), min(b, d)


def _neg(ed: Editor, node: Node, depth: int) -> Range:
    low, high = _operand(ed, node, 0, depth)
    return -high, -low


def _add(ed: Editor, node: Node, depth: int) -> Range:
    (a, b), (c, d) = _operand(ed, node, 0, depth), _operand(ed, node, 1, depth)
    low, high = a + c, b + d
    return ANY if math.isnan(low) or math.isnan(high) else (low, high)


def _mul(ed: Editor, node: Node, depth: int) -> Range:
    if node.inputs[0] == node.inputs[1]:
        return POSITIVE
    (a, b), (c, d) = _operand(ed, node, 0, depth), _operand(ed, node, 1, depth)
    corners = [x * y for x in (a, b) for y in (c, d) if x and y]
    corners += [0.0] * (len(corners) < 4)
    return min(corners), max(corners)


def _div(ed: Editor, node: Node, depth: int) -> Range:
    signs = _operand(ed, node, 0, depth)[0], _operand(ed, node, 1, depth)[0]
    return POSITIVE if min(signs) >= 0 < signs[1] else ANY


def _sum(ed: Editor, node: Node, depth: int) -> Range:
    low, high = _operand(ed, node, 0, depth)
    return (0.0 if low >= 0 else -math.inf), (0.0 if high <= 0 else math.inf)


def _one_of(ed: Editor, node: Node, depth: int) -> Range:
    return _operand(ed, node, 0, depth) if _has_elements(ed, node.inputs[0]) else ANY


def _where(ed: Editor, node: Node, depth: int) -> Range:
    (a, b), (c, d) = _operand(ed, node, 1, depth), _operand(ed, node, 2, depth)
    return min(a, c), max(b, d)


def _cast(ed: Editor, node: Node, depth: int) -> Range:
    """Return the range after a cast, which preserves signs but may increase floats by rounding."""
    low, high = _operand(ed, node, 0, depth)
    return (0.0 if low >= 0 else -math.inf), (0.0 if high <= 0 else math.inf)


_BY_OPERATOR: dict[str, Callable[[Editor, Node, int], Range]] = {
    "relu": _relu,
    "clip": _clip,
    "max": _max,
    "min": _min,
    "neg": _neg,
    "add": _add,
    "mul": _mul,
    "div": _div,
    "reduce_sum": _sum,
    "reduce_mean": _one_of,
    "reduce_max": _one_of,
    "reduce_min": _one_of,
    "where": _where,
    "cast": _cast,
}


def is_whole(ed: Editor, value: str, depth: int = DEPTH) -> bool:
    """Whether every element is an integer, infinite or NaN."""
    node = ed.producer(value)
    t = ed.type(value)
    if isinstance(t, TensorType) and not t.dtype.is_float:
        return True
    if node is None or not depth:
        return False
    if node.op in _INTEGRAL:
        return True
    if node.op in _COPIES or _is_view(node):
        return is_whole(ed, node.inputs[0], depth - 1)
    preserved = node.op in _INTEGER_PRESERVING
    return preserved and all(is_whole(ed, i, depth - 1) for i in node.inputs if i)


def _is_view(node: Node) -> bool:
    return node.op in OPERATORS and OPERATORS[node.op].kind == "view"


NOT_NEGATIVE = Fact("{} >= 0", lambda ed, value: range_of(ed, value)[0] >= 0)
ABOVE_ZERO = Fact("{} > 0", lambda ed, value: range_of(ed, value)[0] > 0)
WHOLE = Fact("whole {}", is_whole)
MODEST = Fact("|{}| <= 40", lambda ed, value: max(map(abs, range_of(ed, value))) <= 40)
"""Magnitudes far below the overflow of exponentials: exp(40) is about 2e17."""


SQUARABLE = Fact("|{}| <= 1e18", lambda ed, value: max(map(abs, range_of(ed, value))) <= 1e18)
"""Numbers whose squares do not overflow f32."""


def _is_no_product(ed: Editor, value: str, depth: int = DEPTH) -> bool:
    node = ed.producer(value)
    if node is None or node.op not in OPERATORS or not depth:
        return True
    if node.op in _AFFINE or _is_view(node):
        return all(_is_no_product(ed, i, depth - 1) for i in node.inputs[:2] if i)
    return OPERATORS[node.op].kind != "contraction"


NO_PRODUCT = Fact("plain {}", _is_no_product)
"""A value that does not come from a product or convolution through scales, shifts and views.

The weights of a product or convolution can absorb a factor of its result.
"""

COMPUTED = Fact("computed {}", lambda ed, value: value not in ed.constants)
"""A value other than a constant: `fold_constants` folds values computed only from constants."""
