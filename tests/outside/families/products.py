"""Sums of products: matrix products, Gemm, Einsum, and integer products."""

from __future__ import annotations

import string
from collections.abc import Sequence
from math import prod

import numpy as np

from tests.outside.defined import pairs_are_held
from tests.outside.draft import Draft, Dropped
from tests.outside.family import family
from tests.outside.values import INTEGERS

SIZES = (1, 2, 3, 5, 7, 8, 16, 17, 33)
PRODUCTS = ("f32", "f64", "f16", "i32", "i64", "u32", "u64")


def sizes(d: Draft, n: int) -> list[int]:
    return [d.chance.choice(SIZES if d.maybe(0.96) else (0, 65)) for _ in range(n)]


@family("MatMul", weight=3)
def _(d: Draft, op: str) -> None:
    """Ranks 1 to 4, with batches that broadcast."""
    a = d.tensor(PRODUCTS, (1, 4))
    label, shape = d.label(a), d.shape(a)
    k, (n, m) = shape[-1], sizes(d, 2)
    batch = [s if d.maybe(0.7) else 1 for s in shape[:-2]]
    batch = batch[d.chance.choice((0, 0, len(batch))) :]
    if d.maybe(0.3):
        k = shape[-2] if len(shape) > 1 else k
        d.one(op, [d.like(label, (*batch, m, k)), a])
        return
    d.one(op, [a, d.like(label, (k,) if d.maybe(0.15) else (*batch, k, n))])


@family("Gemm", weight=1.5)
def _(d: Draft, op: str) -> None:
    a = d.tensor(PRODUCTS, (2, 2))
    label, (turned, other) = d.label(a), (d.maybe(0.4), d.maybe(0.4))
    m, k = d.shape(a)[::-1] if turned else d.shape(a)
    (n,) = sizes(d, 1)
    b = d.like(label, (n, k) if other else (k, n))
    bias = d.chance.choice((None, (), (1,), (n,), (m, 1), (1, n), (m, n)))
    operands = [a, b] if bias is None else [a, b, d.like(label, bias)]
    scale = (None, 1.0, 0.5, 2.0) if label.startswith("f") else (None, 1.0, 2.0)
    d.one(
        op,
        operands,
        alpha=d.chance.choice(scale),
        beta=d.chance.choice(scale),
        transA=int(turned) or None,
        transB=int(other) or None,
    )


def _sums_are_held(d: Draft, operands: Sequence[str], sizes: Sequence[int]) -> bool:
    """Return whether the type can represent a sum of products of the largest elements."""
    arrays = [d.values[o] for o in operands]
    largest = prod(int(np.abs(a.astype(object)).max(initial=0)) for a in arrays)
    return largest * prod(sizes) < np.iinfo(arrays[0].dtype).max


@family("Einsum", weight=2.5)
def _(d: Draft, op: str) -> None:
    """One to three operands; sums, diagonals, transposes, broadcast axes and an ellipsis."""
    label = d.some_label(("f32", "f64", "i32", "i64"))
    letters = d.chance.sample(string.ascii_letters, d.chance.randint(1, 5))
    size = {c: d.chance.choice((1, 2, 3, 5, 7, 17)) for c in letters}
    dots = [d.chance.choice((1, 2, 3)) for _ in range(d.chance.choice((1, 2)))]
    dotted = d.maybe(0.2)
    terms: list[str] = []
    operands: list[str] = []
    for _ in range(d.chance.choice((1, 2, 2, 2, 3))):
        term = d.chance.sample(letters, d.chance.randint(1, min(4, len(letters))))
        if d.maybe(0.1):
            term.append(d.chance.choice(term))
        shape = [size[c] for c in term]
        if len(set(term)) == len(term) and d.maybe(0.1):
            shape[d.chance.randrange(len(shape))] = 1  # broadcasts
        at = d.chance.randint(0, len(term)) if dotted else 0
        if dotted:
            shape[at:at] = dots
        terms.append("".join(term[:at]) + ("..." if dotted else "") + "".join(term[at:]))
        operands.append(d.like(label, shape))
    if label in INTEGERS and not _sums_are_held(d, operands, [*size.values(), *dots]):
        raise Dropped  # ONNX Runtime saturates
    equation = ",".join(terms)
    if d.maybe(0.8):
        used = sorted({c for t in terms for c in t if c != "."})
        equation += "->" + ("..." if dotted else "") + "".join(some(d, used))
    if d.maybe(0.15):
        equation = equation.replace(",", " , ").replace("->", " -> ")
    d.one(op, operands, equation=equation)


def some(d: Draft, letters: Sequence[str]) -> list[str]:
    """Return some of the letters, in any order."""
    return d.chance.sample(letters, d.chance.randint(0, len(letters)))


@family("MatMulInteger")
def _(d: Draft, op: str) -> None:
    m, k, n = sizes(d, 3)
    a, b = (d.chance.choice(("u8", "i8")) for _ in "ab")
    batch = [2] if d.maybe(0.2) else []
    operands = [d.like(a, (*batch, m, k)), d.like(b, (k, n))]
    if not pairs_are_held(*(d.values[o] for o in operands)):
        raise Dropped  # ONNX Runtime saturates on some processors
    if d.maybe():
        operands += [d.numbers(d.chance.randint(0, 9), a)]
        operands += [d.numbers(d.chance.randint(0, 9), b)] if d.maybe() else []
    d.one(op, operands)


@family("Det", weight=0.7)
def _(d: Draft, op: str) -> None:
    n = d.chance.choice((1, 2, 3, 5))
    d.one(
        op, [d.like(d.some_label(("f32", "f64")), (*sizes(d, d.chance.choice((0, 1)))[:1], n, n))]
    )
