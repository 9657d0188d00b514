"""Sums of products over named axes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from string import ascii_letters
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.scalar import Scalar
from compiler.dataclass import dataclass
from compiler.errors import CompileError, require
from compiler.ir.affine import Expr
from compiler.ir.operator import Array, Cost, OnnxCall, Operand, Tensor, op
from compiler.ir.types import Dim, TensorType
from compiler.ops.type_rules.requirements import (
    broadcast_dims,
    n_elements,
    require_elements,
    rounded,
    traffic,
    wide,
    widened,
)


@dataclass(frozen=True)
class Equation:
    """An einsum equation with expanded ellipses: the labels of all axes of operands and result.

    Axes of an ellipsis are labelled by their distance from the end of the ellipsis: `...1` is the
    last.
    """

    operands: tuple[tuple[str, ...], ...]
    result: tuple[str, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """All labels of the equation: first those of the result, then the reduced labels."""
        every = dict.fromkeys((*self.result, *(x for o in self.operands for x in o)))
        return tuple(every)

    @property
    def summed(self) -> tuple[str, ...]:
        """The labels that are summed over, which are absent from the result."""
        return tuple(x for x in self.labels if x not in self.result)

    def __str__(self) -> str:
        """Return the equation in letters, without ellipses."""
        free = iter(x for x in ascii_letters if x not in self.labels)
        letters = {x: x if len(x) == 1 else next(free) for x in self.labels}
        words = ["".join(letters[x] for x in o) for o in (*self.operands, self.result)]
        return f"{','.join(words[:-1])}->{words[-1]}"


def parsed(equation: str, ranks: Sequence[int]) -> Equation:
    """Parse an equation for operands of these ranks. Errors: E-OP-ATTRIBUTE, E-OP-SHAPE."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    require(
        len(terms) == len(ranks),
        "E-OP-ATTRIBUTE",
        f"the equation {equation!r:.80} needs {len(terms)} operands, got {len(ranks)}",
    )
    operands = tuple(_labels(t, n, equation) for t, n in zip(terms, ranks, strict=True))
    n_behind = max((sum(len(x) > 1 for x in o) for o in operands), default=0)
    ellipsis = tuple(f"...{i}" for i in range(n_behind, 0, -1))
    if arrow:
        head, dots, tail = right.partition("...")
        result = (*head, *(ellipsis if dots else ()), *tail)
    else:
        letters = [x for o in operands for x in o if len(x) == 1]
        once = sorted(x for x in set(letters) if letters.count(x) == 1)
        result = (*ellipsis, *once)
    known = {x for o in operands for x in o}
    fits = len(set(result)) == len(result) and set(result) <= known
    message = f"the result of {equation!r:.80} repeats a label, or has a label of no operand"
    require(fits, "E-OP-ATTRIBUTE", message)
    return Equation(operands, tuple(result))


def _labels(term: str, rank: int, equation: str) -> tuple[str, ...]:
    head, dots, tail = term.partition("...")
    proper = all(x in ascii_letters for x in head + tail)
    require(proper, "E-OP-ATTRIBUTE", f"the labels of {equation!r:.80} must be letters")
    n_behind = rank - len(head) - len(tail)
    fits = n_behind >= 0 if dots else n_behind == 0
    require(fits, "E-OP-SHAPE", f"{term!r:.40} in {equation!r:.80} does not fit rank {rank}")
    return (*head, *(f"...{i}" for i in range(n_behind, 0, -1)), *tail)


@op(kind="contraction", exact=False)
def einsum(*xs: Tensor, equation: str) -> TensorType:
    """Multiply elements along axes with equal labels, and sum over labels absent from the result.

    Shapes: axes of one label have equal sizes; axes of size 1 broadcast. If a label occurs twice in
    an operand, the operand's diagonal is read; `...` denotes unnamed axes, which broadcast.
    Errors: E-OP-ATTRIBUTE, E-OP-SHAPE, E-OP-DTYPE.
    Source: ONNX Einsum-12, numpy.einsum.
    """
    dtype = require_elements("einsum", "number", *xs)
    if any(x.type.shape is None for x in xs):
        return TensorType(dtype, None)
    stated = parsed(equation, [x.rank for x in xs])
    sizes = _sizes(stated, [x.shape for x in xs])
    return TensorType(dtype, tuple(sizes[x] for x in stated.result))


def _sizes(equation: Equation, shapes: Sequence[Sequence[Dim]]) -> dict[str, Dim]:
    """Return the size of each label. Errors: E-OP-SHAPE."""
    sizes: dict[str, Dim] = {}
    for labels, shape in zip(equation.operands, shapes, strict=True):
        for label, n in zip(labels, shape, strict=True):
            (sizes[label],) = broadcast_dims("einsum", (sizes.get(label, 1),), (n,))
    return sizes


@einsum.reference
def _(*xs: Array, equation: str) -> Array:
    given = [widened(x) for x in xs]
    return rounded(np.asarray(np.einsum(equation, *given)), xs[0]).astype(xs[0].dtype)


@einsum.cost
def _(*xs: TensorType, out: TensorType, equation: str) -> Cost:
    stated = parsed(equation, [x.rank for x in xs])
    # Use the larger size even if the two do not broadcast: assumed sizes are independent.
    sizes: dict[str, int] = {}
    for labels, x in zip(stated.operands, xs, strict=True):
        for label, n in zip(labels, x.static_shape, strict=True):
            sizes[label] = max(n, sizes.get(label, 0))
    inner = math.prod(sizes[x] for x in stated.summed)
    return traffic(xs, out, max(len(xs), 1) * inner * n_elements(out))


@einsum.lower
def _(k: Lowering, *tensors: Handle, equation: str) -> None:
    *xs, out = tensors
    stated = parsed(equation, [x.rank for x in xs])
    sizes = _sizes(stated, [x.shape for x in xs])
    index = {x: k.axis(sizes[x], x.lower() if len(x) == 1 else "e") for x in stated.labels}
    product: Scalar | None = None
    for x, labels in zip(xs, stated.operands, strict=True):
        at: list[Expr] = [
            x.repeated(index[label], n) for label, n in zip(labels, x.shape, strict=True)
        ]
        factor = k.convert(x[at], wide(x.dtype))
        product = factor if product is None else product * factor
    assert product is not None, "an equation has operands"
    if stated.summed:
        product = k.sum(product, over=[index[x] for x in stated.summed])
    k.assign(out[[index[x] for x in stated.result]], k.convert(product, out.dtype))


@einsum.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,3,4]", "f32[2,4,5]"], {"equation": "bij,bjk->bik"}
    yield ["f32[2,3,4,5]", "f32[2,6,4,5]"], {"equation": "bqhd,bkhd->bhqk"}
    yield ["f32[3,2]"], {"equation": "ij->ji"}
    yield ["f32[3,2]"], {"equation": "ba"}
    yield ["f32[2,3,3]"], {"equation": "...ii->...i"}
    yield ["f32[3,3]"], {"equation": "ii"}
    yield ["f32[2,3]", "f32[4]"], {"equation": "ij, k -> kij"}
    yield ["f32[5,2,3]", "f32[1,3,4]"], {"equation": "...ij,...jk"}
    yield ["f32[2,1]", "f32[5,3]", "f32[3]"], {"equation": "ij,jk,k->i"}
    yield ["f32[]", "f32[3]"], {"equation": ",i->i"}
    yield ["i32[2,3]", "i32[3]"], {"equation": "ij,j->i"}
    yield ["f16[2,3]", "f16[3,4]"], {"equation": "ij,jk->ik"}
    yield ["f32[2,0]", "f32[0,3]"], {"equation": "ij,jk->ik"}


@einsum.onnx("Einsum")
def _(n: OnnxCall) -> Operand | None:
    """Contract more than two operands pairwise, from the left."""
    xs = [x for x in n.operands if x is not None]
    if any(x.type.shape is None for x in xs):
        return None
    equation = n.attr("equation", "")
    if len(xs) <= 2:
        return einsum(*xs, equation=equation)
    stated = parsed(equation, [x.rank for x in xs])
    if len(stated.labels) > len(ascii_letters):
        raise CompileError("E-OP-ATTRIBUTE", f"{equation!r:.80} has too many axes")
    letters = parsed(str(stated), [x.rank for x in xs])
    made: Operand = xs[0]
    labels = letters.operands[0]
    for i, x in enumerate(xs[1:], 1):
        needed = {*letters.result, *(a for o in letters.operands[i + 1 :] for a in o)}
        both = dict.fromkeys((*labels, *letters.operands[i]))
        last = i == len(xs) - 1
        kept = letters.result if last else tuple(a for a in both if a in needed)
        step = Equation((labels, letters.operands[i]), kept)
        made, labels = einsum(made, x, equation=str(step)), kept
    return made


einsum.exports_as("Einsum")
