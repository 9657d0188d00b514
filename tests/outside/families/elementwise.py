"""Elementwise operators, with operands that broadcast."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from tests.outside.draft import Draft, Dropped, within
from tests.outside.family import family
from tests.outside.values import (
    FLOAT8,
    FLOATS,
    INTEGERS,
    NUMBERS,
    SIGNED,
    TENSORS,
    UNSIGNED,
    Shape,
    code,
    numpy_type,
)

INSIDE = {
    "Acos": (-1, 1),
    "Asin": (-1, 1),
    "Atanh": (-0.99, 0.99),
    "Acosh": (1, 50),
    "Log": (1e-3, 1e3),
    "Sqrt": (0, 1e4),
    "Exp": (-20, 10),
    "Sinh": (-8, 8),
    "Cosh": (-8, 8),
    "Tan": (-1.4, 1.4),
    "Sin": (-50, 50),
    "Cos": (-50, 50),
}
"""Domains in which functions are generated; outside they are undefined, or too steep to judge."""


def broadcast_partner(d: Draft, shape: Shape) -> Shape:
    """Return a shape that broadcasts with this one: axes of 1, fewer axes, or one axis more."""
    made = [n if d.maybe(0.75) else 1 for n in shape]
    way = d.chance.random()
    if way < 0.25:
        return tuple(made[d.chance.randint(0, len(made)) :])
    if way < 0.32 and len(made) < 5:
        return (d.chance.choice((1, 2, 3)), *made)
    return tuple(made)


def two(d: Draft, labels: Collection[str]) -> tuple[str, str]:
    """Return two operands of one type that broadcast, in either order."""
    a = d.tensor(labels)
    label = d.label(a)
    other = d.found(lambda v: _broadcasts(v.shape, d.shape(a)), (label,))
    if not other or d.maybe(0.5):
        other = d.like(label, broadcast_partner(d, d.shape(a)))
    return (a, other) if d.maybe() else (other, a)


def _broadcasts(a: Shape, b: Shape) -> bool:
    try:
        np.broadcast_shapes(a, b)
    except ValueError:
        return False
    return True


def inside(d: Draft, x: str, low: float, high: float) -> str:
    """Return the value if all its numbers are in a range, else the clipped value."""
    v = d.values[x].astype(float)
    if d.outer is None and v.size and low <= v.min() and v.max() <= high:
        return x
    kind = numpy_type(d.label(x))
    return d.one("Clip", [x, d.constant(np.asarray(low, kind)), d.constant(np.asarray(high, kind))])


@family("Add", "Sub", "Mul", weight=3)
def _(d: Draft, op: str) -> None:
    d.one(op, two(d, NUMBERS))


@family("Div", weight=2)
def _(d: Draft, op: str) -> None:
    """Integer divisors are constants without 0 and -1."""
    a, b = two(d, (*FLOATS, *INTEGERS))
    label = d.label(a)
    if label in INTEGERS:
        shape = d.shape(b)
        b = d.constant(_nonzero(d, shape, label))
    elif (np.abs(d.values[b].astype(float)) < 0.05).any():
        shape = d.shape(b)
        b = d.constant(_nonzero(d, shape, label))
    d.one(op, [a, b])


def _nonzero(d: Draft, shape: Shape, label: str) -> np.ndarray:
    numbers = np.random.default_rng(d.chance.getrandbits(32))
    signs = numbers.choice((1,) if label in UNSIGNED else (1, -1), shape)
    return np.asarray(signs * numbers.integers(2, 9, shape)).astype(numpy_type(label))


@family("Mod")
def _(d: Draft, op: str) -> None:
    a = d.tensor((*FLOATS, *INTEGERS))
    label = d.label(a)
    b = d.constant(_nonzero(d, broadcast_partner(d, d.shape(a)), label))
    fmod = 1 if label in FLOATS else d.chance.choice((0, 0, 1))
    if fmod and label in ("i64", "u64"):  # ONNX Runtime divides in f64
        a = inside(d, a, 0 if label == "u64" else -(2**53), 2**53)
    d.one(op, [a, b], fmod=fmod)


@family("Pow")
def _(d: Draft, op: str) -> None:
    """Bases are positive if exponents are not integers; integer results stay small."""
    x = d.tensor(("f32", "f64", "i32", "i64", "f16"))
    label = d.label(x)
    to = d.chance.choice(("f32", "i32", "i64", "f64", label, label))
    if label in FLOATS:
        if to in FLOATS and d.maybe(0.6):
            x = inside(d, d.one("Abs", [x]), 0.1, 10)
            powers = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
        else:
            powers = (0, 1, 2, 3)
    else:
        x = inside(d, x, -9, 9)
        powers = (0, 1, 2, 3)
    shape = () if d.maybe() else broadcast_partner(d, d.shape(x))
    numbers = np.random.default_rng(d.chance.getrandbits(32))
    d.one(op, [x, d.constant(np.asarray(numbers.choice(powers, shape)).astype(numpy_type(to)))])


@family("Max", "Min", weight=2)
def _(d: Draft, op: str) -> None:
    several(d, op, (*FLOATS, *INTEGERS))


@family("Sum", "Mean")
def _(d: Draft, op: str) -> None:
    several(d, op, FLOATS)


def several(d: Draft, op: str, labels: Collection[str]) -> None:
    """One to four operands of one type that all broadcast."""
    a = d.tensor(labels)
    label, shape = d.label(a), d.shape(a)
    others = [
        d.like(label, broadcast_partner(d, shape)[-len(shape) :] if shape else ())
        for _ in range(d.chance.choice((0, 1, 1, 1, 2, 3)))
    ]
    operands = [a, *others]
    d.chance.shuffle(operands)
    d.one(op, operands)


@family("Equal", weight=1.5)
def _(d: Draft, op: str) -> None:
    d.one(op, two(d, (*TENSORS, "str")))


@family("Less", "Greater", "LessOrEqual", "GreaterOrEqual", weight=1.5)
def _(d: Draft, op: str) -> None:
    d.one(op, two(d, NUMBERS))


@family("And", "Or", "Xor")
def _(d: Draft, op: str) -> None:
    d.one(op, two(d, ("bool",)))


@family("Not")
def _(d: Draft, op: str) -> None:
    d.one(op, [d.tensor(("bool",))])


@family("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def _(d: Draft, op: str) -> None:
    d.one(op, two(d, INTEGERS))


@family("BitwiseNot")
def _(d: Draft, op: str) -> None:
    d.one(op, [d.tensor(INTEGERS)])


@family("BitShift")
def _(d: Draft, op: str) -> None:
    """Shifts are smaller than the number of bits."""
    x = d.tensor(UNSIGNED)
    label = d.label(x)
    bits = 8 * numpy_type(label).itemsize
    shape = broadcast_partner(d, d.shape(x))
    numbers = np.random.default_rng(d.chance.getrandbits(32))
    by = d.constant(np.asarray(numbers.integers(0, bits, shape)).astype(numpy_type(label)))
    d.one(op, [x, by], direction=d.chance.choice(("LEFT", "RIGHT")))


@family("Where", weight=2)
def _(d: Draft, op: str) -> None:
    a, b = two(d, (*TENSORS, "str"))
    shape = np.broadcast_shapes(d.shape(a), d.shape(b))
    d.one(op, [d.like("bool", broadcast_partner(d, shape)), a, b])


@family("Clip", weight=1.5)
def _(d: Draft, op: str) -> None:
    """Bounds may be omitted; the lower bound may exceed the upper bound."""
    x = d.tensor((*FLOATS, *INTEGERS))
    label = d.label(x)
    low, high = (d.constant(np.asarray(v, numpy_type(label))) for v in (1, 4))
    if d.maybe(0.1):
        low, high = high, low
    bounds = d.chance.choice(([low, high], [low, high], [low], ["", high], []))
    d.one(op, [x, *bounds])


@family("Abs", "Sign", "Neg", weight=1.5)
def _(d: Draft, op: str) -> None:
    d.one(op, [d.tensor((*FLOATS, *SIGNED) if op == "Neg" else NUMBERS)])


@family("Ceil", "Floor", "Round", "Sigmoid", "Tanh", "Erf", "Atan", "Asinh", "Softsign", weight=1.2)
def _(d: Draft, op: str) -> None:
    d.one(op, [d.tensor(FLOATS)])


@family(*INSIDE)
def _(d: Draft, op: str) -> None:
    d.one(op, [inside(d, d.tensor(FLOATS), *INSIDE[op])])


@family("Softplus", "Mish", "HardSwish")
def _(d: Draft, op: str) -> None:
    d.one(op, [d.tensor(FLOATS)])


@family("Reciprocal")
def _(d: Draft, op: str) -> None:
    x = d.one("Abs", [d.tensor(FLOATS)])
    d.one(op, [inside(d, x, 0.1, 100)])


@family("Relu", weight=2)
def _(d: Draft, op: str) -> None:
    d.one(op, [d.tensor((*FLOATS, *SIGNED))])


@family("Elu", "Celu", "LeakyRelu", "ThresholdedRelu")
def _(d: Draft, op: str) -> None:
    d.one(op, [d.tensor(FLOATS)], alpha=d.chance.choice((None, 0.1, 0.5, 1.0, 2.0)))


@family("Selu")
def _(d: Draft, op: str) -> None:
    gamma = d.chance.choice((None, 1.0, 0.5))
    d.one(op, [d.tensor(FLOATS)], alpha=d.chance.choice((None, 0.2, 1.5)), gamma=gamma)


@family("HardSigmoid")
def _(d: Draft, op: str) -> None:
    beta = d.chance.choice((None, 0.25, 0.0))
    d.one(op, [d.tensor(FLOATS)], alpha=d.chance.choice((None, 0.2, 1.5, -0.5)), beta=beta)


@family("Shrink")
def _(d: Draft, op: str) -> None:
    """Not for f64, which ONNX Runtime computes in f32."""
    x = d.tensor(("f32", "f16", "bf16", *INTEGERS), fits=lambda v: within(v, -1e18, 1e18))
    d.one(op, [x], bias=d.chance.choice((None, 1.0, 0.5)), lambd=d.chance.choice((None, 0.25, 2.0)))


@family("Gelu")
def _(d: Draft, op: str) -> None:
    """Not for f64 with the tanh approximation, whose constants in the standard's body are f32."""
    x = inside(d, d.tensor(FLOATS), -4, 100)  # below -4, 1 + tanh consists of rounding errors
    ways = (None, "none") if d.label(x) == "f64" else (None, "none", "tanh")
    d.one(op, [x], approximate=d.chance.choice(ways))


@family("Swish")
def _(d: Draft, op: str) -> None:
    d.one(op, [d.tensor(FLOATS)], alpha=d.chance.choice((None, 0.5, 2.0)))


@family("PRelu")
def _(d: Draft, op: str) -> None:
    x = d.tensor((*FLOATS, "i32", "i64", "u32", "u64"))
    d.one(op, [x, d.like(d.label(x), broadcast_partner(d, d.shape(x))[-len(d.shape(x)) or 6 :])])


@family("IsNaN", "IsInf")
def _(d: Draft, op: str) -> None:
    d.one(op, [d.tensor(FLOATS)])


@family("Identity", weight=0.7)
def _(d: Draft, op: str) -> None:
    d.one(op, [d.tensor((*TENSORS, "str"))])


@family("Cast", weight=2)
def _(d: Draft, op: str) -> None:
    """Also to types of 8 and 4 bits and back; numbers are clipped to the range of the type.

    Casts to 4 bits have whole numbers: ONNX Runtime rounds, onnx.reference truncates.
    """
    x = d.tensor(TENSORS)
    if d.maybe(0.15) and d.label(x) in ("f32", "f16"):
        to = d.chance.choice((*FLOAT8, "i4", "u4"))
        clipped = inside(d, x, 0, 7)
        whole = d.one("Floor", [clipped]) if to in ("i4", "u4") else clipped
        d.one("Cast", [d.one(op, [whole], to=code(to))], to=code("f32"))
        return
    if d.maybe(0.05) and d.label(x) in INTEGERS:
        d.one("Cast", [d.one(op, [x], to=code("str"))], to=code(d.label(x)))
        return
    d.cast(x, d.chance.choice(TENSORS))


@family("CastLike")
def _(d: Draft, op: str) -> None:
    x = d.tensor(("f32", "f64", "bool", *INTEGERS))
    to = d.chance.choice(("f32", "f64", "f16", *(() if d.label(x) in FLOATS else SIGNED)))
    d.one(op, [x, d.tensor((to,))])


@family("BitCast")
def _(d: Draft, op: str) -> None:
    """Only between integer types: the bits of floats may represent NaN."""
    x = d.tensor(INTEGERS)
    size = numpy_type(d.label(x)).itemsize
    to = [t for t in INTEGERS if numpy_type(t).itemsize == size and t != d.label(x)]
    if not to:
        raise Dropped
    d.one(op, [x], to=code(d.chance.choice(to)))


@family("Dropout", weight=0.5)
def _(d: Draft, op: str) -> None:
    """In inference mode only."""
    x = d.tensor(FLOATS)
    ratio = [d.constant(np.asarray(0.3, np.float32))] if d.maybe() else []
    d.node(op, [x, *ratio], d.chance.choice((1, 2)))
