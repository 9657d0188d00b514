"""Splat results of nodes, computed from one element of each operand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compiler.errors import CompileError
from compiler.ir.constant import Constant, Splat
from compiler.ir.graph import Node
from compiler.ir.operator import OPERATORS, Array, Operator, Tensor, with_trait
from compiler.ir.types import DType, TensorType
from compiler.passes.engine.pattern import uniform

_COPIES = with_trait("single_source")
"""Operators, other than views, whose results contain only elements of the first operand."""


def splat_results(node: Node, operands: Sequence[Constant | None]) -> list[Constant] | None:
    """Return the results of a node as splats if all elements of each result are equal.

    Return None if equality cannot be decided without computing the complete results. Shapes: the
    types of the results must be static.
    """
    if not operands or operands[0] is None or node.op not in OPERATORS:
        return None
    if all(isinstance(t, TensorType) and t.n_elements == 1 for t in node.types):
        # A single number is a literal, not a splat.
        return None
    value = _value(node, operands)
    if value is None:
        return None
    made: list[Constant] = []
    for t in node.types:
        assert isinstance(t, TensorType)
        made.append(Constant(t.logical, Splat(np.asarray(value).astype(t.dtype.numpy)[()])))
    return made


def _value(node: Node, operands: Sequence[Constant | None]) -> object:
    first = operands[0]
    assert first is not None
    if node.op == "fill":
        return node.attrs["value"]
    if node.op == "concat":
        return _shared(operands)
    if node.op == "pad":
        return _padded(node, operands)
    kind = OPERATORS[node.op].kind
    if kind == "view" or node.op in _COPIES:
        return _number(first)
    if kind == "elementwise":
        return _elementwise(node, operands)
    return None


def _number(c: Constant) -> object:
    """Return the element of a splat, or of a small uniform constant."""
    if isinstance(c.storage, Splat):
        return c.storage.value
    return None if uniform(c) is None else c.array().reshape(-1)[0]


def _shared(operands: Sequence[Constant | None]) -> object:
    numbers = [_number(c) for c in operands if c is not None]
    if any(n is None for n in numbers):
        return None
    bits = {np.asarray(n).tobytes() for n in numbers}
    return numbers[0] if len(bits) == 1 else None


def _padded(node: Node, operands: Sequence[Constant | None]) -> object:
    assert operands[0] is not None
    inside = _number(operands[0])
    if inside is None or node.attrs.get("mode", "constant") != "constant":
        return inside
    value = operands[2] if len(operands) > 2 else None
    outside = np.zeros((), operands[0].type.dtype.numpy) if value is None else value.array()
    same = np.asarray(inside).tobytes() == outside.reshape(-1)[:1].tobytes()
    return inside if same else None


def _gives_one(operator: Operator, node: Node, arrays: Sequence[Array | None]) -> bool:
    """Whether the result has one element for these operands, which may include lists of sizes."""
    tensors = [
        None if a is None else Tensor(name, TensorType(DType.from_numpy(a.dtype), a.shape), a)
        for name, a in zip(node.inputs, arrays, strict=True)
    ]
    try:
        (t,) = operator.infer(tensors, node.attrs)
    except CompileError:
        return False
    return isinstance(t, TensorType) and t.is_static and t.n_elements == 1


def _elementwise(node: Node, operands: Sequence[Constant | None]) -> object:
    arrays: list[Array | None] = []
    for c in operands:
        number = None if c is None else _number(c)
        if c is not None and number is None:
            return None
        arrays.append(
            None if c is None else np.full((1,) * c.type.rank, number, c.type.dtype.numpy)
        )
    operator = OPERATORS[node.op]
    reference = operator.reference_fn
    if reference is None or len(node.outputs) > 1 or not _gives_one(operator, node, arrays):
        return None
    with np.errstate(all="ignore"):
        result = np.asarray(reference(*arrays, **node.attrs))
    return result.reshape(-1)[0] if result.size == 1 else None
