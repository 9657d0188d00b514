"""Functions that move a scale or shift from an operator's result to its operands, or absorb it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from typing import Literal

import numpy as np

from compiler.dataclass import dataclass
from compiler.ir.constant import Constant
from compiler.ir.editor import Editor
from compiler.ir.graph import Node
from compiler.ir.operator import with_trait
from compiler.ir.types import DType, TensorType
from compiler.passes.engine.pattern import ConstTensor
from compiler.passes.rules.affine_parts import (
    Objection,
    check_kept,
    outputs_of,
    scale_outputs,
    scaled,
    shifted,
)
from compiler.passes.rules.arithmetic import combined, is_finite, objection_to, reshaped


@dataclass(frozen=True, slots=True)
class Affine:
    """A scale or a shift by one number, or by one number for each index along an axis."""

    kind: Literal["scale", "shift"]
    axis: int | None
    values: Constant

    def vector(self, n: int) -> Constant:
        """Return one number for each of n channels."""
        if self.values.type.n_elements == n:
            return reshaped(self.values, (n,))
        return Constant.splat(self.values.array().reshape(-1)[0], TensorType(self.dtype, (n,)))

    @property
    def dtype(self) -> DType:
        """The element type of the numbers."""
        return self.values.type.dtype

    @property
    def is_positive(self) -> bool:
        """Whether all numbers are above zero."""
        return bool((self.values.array() > 0).all())

    def beside(self, rank: int) -> Constant:
        """Return the numbers in a shape that broadcasts to a tensor of this rank."""
        n = self.values.type.n_elements
        if self.axis is None:
            return reshaped(self.values, ())
        return reshaped(self.values, (n, *(1,) * (rank - 1 - self.axis)))


@dataclass(slots=True)
class Edits:
    """The nodes that absorb a scale or shift, with their changed operands."""

    ed: Editor
    found: list[tuple[Node, dict[int, tuple[str, Constant]]]] = field(default_factory=list)

    def constant(self, node: Node, at: int, *, alone: bool = True) -> ConstTensor:
        """Return a constant operand.

        Raise Objection if the operand is not constant or has other readers.
        """
        name = node.inputs[at]
        c = self.ed.constants.get(name)
        if c is None:
            raise Objection(f"{name}, an operand of {node.output}, is not constant")
        if alone and len(self.ed.users(name)) > 1:
            raise Objection(f"{name}, an operand of {node.output}, has other readers")
        return ConstTensor(name, c.type, None, c)


def absorb(edits: Edits, value: str, reader: Node, a: Affine) -> None:
    """Find the nodes that absorb a scale or shift; raise Objection if a path has no such node."""
    maker = edits.ed.producer(value)
    if maker is None or len(maker.outputs) != 1:
        raise Objection(f"{value} is not computed from weights")
    readers = edits.ed.users(value)
    if len(readers) != 1 or readers[0].output != reader.output or edits.ed.is_result(value):
        raise Objection(f"{value} has other readers, which need it without the {a.kind}")
    if reader.inputs.count(value) != 1:
        raise Objection(f"{reader.output} reads {value} twice")
    if not is_finite(a.values):
        raise Objection("constants with infinities or NaN are not folded")
    passes = WAYS.get(maker.op)
    if passes is None:
        raise Objection(f"a {a.kind} cannot move before {maker.op} {value}")
    if not isinstance(maker.type, TensorType) or not maker.type.is_ranked:
        raise Objection(f"the rank of {value} is not known")
    passes(edits, maker, a)


# Operators that absorb a scale or shift


def _conv(edits: Edits, node: Node, a: Affine) -> None:
    if a.axis not in (None, 1):
        raise Objection(f"axis {a.axis} of the {a.kind} is not the channel axis of {node.op}")
    w = edits.constant(node, 1, alone=a.kind == "scale")
    transposed = node.op == "conv_transpose"
    groups = node.attrs["groups"]
    vector = a.vector(outputs_of(w, groups, transposed=transposed))
    has_bias = len(node.inputs) > 2 and bool(node.inputs[2])
    bias = edits.constant(node, 2, alone=False).stored if has_bias else None
    found: dict[int, tuple[str, Constant]] = {}
    if a.kind == "scale":
        found[1] = ("w", scale_outputs(w, vector, groups, transposed=transposed))
        if bias is not None:
            found[2] = ("b", _product(bias, vector))
    else:
        found[2] = ("b", shifted(bias, vector))
    edits.found.append((node, found))


def _matmul(edits: Edits, node: Node, a: Affine) -> None:
    if a.kind == "shift":
        raise Objection(f"{node.output} has no bias that could absorb a shift")
    if node.inputs[1] not in edits.ed.constants:
        _either_operand(edits, node, a)
        return
    w = edits.constant(node, 1)
    rank = node.tensor.rank
    if w.rank != 2 or a.axis not in (None, rank - 1):
        raise Objection(f"the scale does not have one element per column of {w.name}")
    transposed = node.attrs["transpose_b"]
    n = w.stored.type.static_shape[0 if transposed else 1]
    shape = (n, 1) if transposed else (1, n)
    made = scaled(w.stored, a.vector(n), shape, w.stored.type.static_shape)
    edits.found.append((node, {1: ("b", made)}))


def _either_operand(edits: Edits, node: Node, a: Affine) -> None:
    """Scale an operand of a product instead of the result, by a number of magnitude at most 1."""
    if a.axis is not None or float(np.abs(a.values.array()).max()) > 1:
        raise Objection(f"{node.inputs[1]}, an operand of {node.output}, is not constant")
    first = len(edits.found)
    try:
        absorb(edits, node.inputs[0], node, a)
    except Objection:
        del edits.found[first:]
        absorb(edits, node.inputs[1], node, a)


def _product(c: Constant, factor: Constant) -> Constant:
    made = combined(np.multiply, c, factor)
    check_kept(made, c, factor)
    return made


def _add(edits: Edits, node: Node, a: Affine) -> None:
    known = [k for k, i in enumerate(node.inputs) if i in edits.ed.constants]
    if len(known) == 1 and node.op == "add":
        (k,) = known
        c, beside = edits.constant(node, k, alone=False).stored, a.beside(node.tensor.rank)
        if a.kind == "scale":
            absorb(edits, _whole(edits, node, 1 - k), node, a)
            made = _product(c, beside)
        else:
            made = combined(np.add, c, beside)
        if objection := objection_to(made, c, beside):
            raise Objection(objection)
        edits.found.append((node, {k: ("b", made)}))
        return
    if a.kind == "scale":
        for k in range(2):
            absorb(edits, _whole(edits, node, k), node, a)
        return
    first = len(edits.found)
    try:
        absorb(edits, _whole(edits, node, 0), node, a)
    except Objection:
        if node.op == "sub":
            raise
        del edits.found[first:]
        absorb(edits, _whole(edits, node, 1), node, a)


def _whole(edits: Edits, node: Node, k: int) -> str:
    """Return an operand that has the shape of the result; raise Objection if it is broadcast."""
    t = edits.ed.type(node.inputs[k])
    if not isinstance(t, TensorType) or t.shape != node.tensor.shape:
        raise Objection(f"{node.inputs[k]} is {t}, and is broadcast to {node.tensor}")
    return node.inputs[k]


def _mul(edits: Edits, node: Node, a: Affine) -> None:
    known = [k for k, i in enumerate(node.inputs) if i in edits.ed.constants]
    if len(known) != 1 or a.kind == "shift":
        raise Objection(f"a {a.kind} cannot move before the product {node.output}")
    (k,) = known
    c, beside = edits.constant(node, k, alone=False).stored, a.beside(node.tensor.rank)
    _whole(edits, node, 1 - k)
    edits.found.append((node, {k: ("b", _product(c, beside))}))


# Operators with which a scale or shift commutes


def _concat(edits: Edits, node: Node, a: Affine) -> None:
    at = node.attrs["axis"] % node.tensor.rank
    if a.axis != at:
        for i in node.inputs:
            absorb(edits, i, node, a)
        return
    start = 0
    for i in node.inputs:
        t = edits.ed.type(i)
        if not isinstance(t, TensorType) or not isinstance(t.dims[at], int):
            raise Objection(f"the size of {i} is not known")
        end = start + int(t.dims[at])
        part = Constant.of(a.values.array().reshape(-1)[start:end], a.values.type.dtype)
        absorb(edits, i, node, replace(a, values=part))
        start = end


def _activation(edits: Edits, node: Node, a: Affine) -> None:
    if a.kind == "shift" or not a.is_positive:
        raise Objection(f"only positive scales can move before {node.op} {node.output}")
    absorb(edits, node.inputs[0], node, a)


def _max_pool(edits: Edits, node: Node, a: Affine) -> None:
    if a.kind == "scale" and not a.is_positive:
        raise Objection(f"only positive scales can move before the maximum {node.output}")
    _image(edits, node, a)


def _average_pool(edits: Edits, node: Node, a: Affine) -> None:
    padded = any(node.attrs["pads"]) or node.attrs["auto_pad"] not in ("notset", "valid")
    if a.kind == "shift" and node.attrs["count_include_pad"] and padded:
        raise Objection(f"{node.output} averages zero padding, to which the shift does not apply")
    _image(edits, node, a)


def _image(edits: Edits, node: Node, a: Affine) -> None:
    if a.axis is not None and a.axis > 1:
        raise Objection(f"axis {a.axis} of the {a.kind} is not the channel axis")
    absorb(edits, node.inputs[0], node, a)


def _reduction(edits: Edits, node: Node, a: Affine) -> None:
    if a.kind == "shift" and node.op != "reduce_mean":
        raise Objection(f"{node.output} would add the shift several times")
    t = edits.ed.type(node.inputs[0])
    if not isinstance(t, TensorType) or not t.is_ranked:
        raise Objection(f"the rank of {node.inputs[0]} is not known")
    axes = {d % t.rank for d in node.attrs["axes"]}
    if a.axis is None:
        absorb(edits, node.inputs[0], node, a)
        return
    kept = range(t.rank) if node.attrs["keepdims"] else [d for d in range(t.rank) if d not in axes]
    at = list(kept)[a.axis]
    if at in axes:
        raise Objection(f"{node.output} sums over axis {at}")
    absorb(edits, node.inputs[0], node, replace(a, axis=at))


def _transpose(edits: Edits, node: Node, a: Affine) -> None:
    axis = None if a.axis is None else node.attrs["perm"][a.axis]
    absorb(edits, node.inputs[0], node, replace(a, axis=axis))


def _identity(edits: Edits, node: Node, a: Affine) -> None:
    absorb(edits, node.inputs[0], node, a)


def _move(edits: Edits, node: Node, a: Affine) -> None:
    if a.axis is not None:
        raise Objection(f"{node.op} moves the channels of {node.inputs[0]}")
    absorb(edits, node.inputs[0], node, a)


WAYS: dict[str, Callable[[Edits, Node, Affine], None]] = {
    "conv": _conv,
    "conv_transpose": _conv,
    "matmul": _matmul,
    "add": _add,
    "sub": _add,
    "mul": _mul,
    "concat": _concat,
    "relu": _activation,
    "leaky_relu": _activation,
    "max_pool": _max_pool,
    "average_pool": _average_pool,
    "reduce_mean": _reduction,
    "reduce_sum": _reduction,
    "transpose": _transpose,
    **dict.fromkeys(with_trait("aliasing"), _move),
    "identity": _identity,
    "slice": _move,
    "gather": _move,
    "expand": _move,
}
"""For each operator: the function that absorbs or moves a scale or shift of its result."""
