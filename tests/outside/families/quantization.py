"""Quantize, dequantize, and operators on quantized tensors."""

from __future__ import annotations

import numpy as np

from tests.outside.defined import pairs_are_held
from tests.outside.draft import Draft, Dropped
from tests.outside.families.windows import image, window
from tests.outside.family import family
from tests.outside.values import FLOAT8, NIBBLES, Shape, code, numpy_type

CODES = ("u8", "i8", "u8", "i8", "u16", "i16", *NIBBLES, *FLOAT8)


def scales(d: Draft, shape: Shape, label: str = "f32") -> str:
    """Return positive scales that are not powers of two, so that no quotient is a tie."""
    numbers = np.random.default_rng(d.chance.getrandbits(32))
    return d.constant(numbers.uniform(0.011, 0.13, shape).astype(numpy_type(label)))


def zero_points(d: Draft, label: str, shape: Shape) -> str:
    numbers = np.random.default_rng(d.chance.getrandbits(32))
    if label in FLOAT8:
        return d.constant(np.zeros(shape, numpy_type(label)))
    low, high = {"u8": (0, 255), "i8": (-128, 127), "i4": (-8, 7), "u4": (0, 15)}.get(label, (0, 9))
    return d.constant(np.asarray(numbers.integers(low, high + 1, shape)).astype(numpy_type(label)))


def parameters(d: Draft, shape: Shape) -> tuple[int | None, int | None, Shape]:
    """Return the axis, block size and shape of scales: per tensor, per slice, or per block."""
    if not shape or d.maybe(0.5) or 0 in shape:
        return None, None, ()
    axis = d.axis(len(shape))
    if d.opset < 21 or d.maybe(0.7):
        return axis, None, (shape[axis],)
    block = d.chance.choice((1, 2, 3, 4))
    sizes = list(shape)
    sizes[axis] = -(-shape[axis] // block)
    return axis, block, tuple(sizes)


@family("QuantizeLinear", weight=2)
def _(d: Draft, op: str) -> None:
    """Quantize, mostly followed by dequantize."""
    x = d.tensor(("f32", "f32", "f16", "i32"), (0, 4))
    quantized(d, x, d.chance.choice(CODES), d.maybe(0.7))


def quantized(d: Draft, x: str, to: str, back: bool) -> str:
    axis, block, shape = parameters(d, d.shape(x))
    label = "f16" if d.label(x) == "f16" else "f32"
    tail = [scales(d, shape, label)]
    attrs = {"axis": axis, "block_size": block}
    if d.maybe(0.8) or to not in ("u8", *FLOAT8):
        tail.append(zero_points(d, to, shape))
    elif to != "u8":
        attrs["output_dtype"] = code(to)
    made = d.one("QuantizeLinear", [x, *tail], **attrs)
    if not back:
        return made
    attrs.pop("output_dtype", None)
    return d.one("DequantizeLinear", [made, *tail], **attrs)


@family("DequantizeLinear", weight=1.5)
def _(d: Draft, op: str) -> None:
    label = d.chance.choice((*CODES, "i32"))
    if label == "i32":
        x = d.tensor(("i32",), (0, 4))
        x = d.one("Clip", [x, d.numbers(-9999, "i32"), d.numbers(9999, "i32")])
    elif label in ("u8", "i8"):
        x = d.tensor((label,), (0, 4))
    else:
        x = d.new(label, (d.chance.choice((1, 3, 17)), d.chance.choice((1, 2, 5))))
    axis, block, shape = parameters(d, d.shape(x))
    tail = [scales(d, shape)]
    if d.maybe(0.6) and label != "i32":
        tail.append(zero_points(d, label, shape))
    d.one(op, [x, *tail], axis=axis, block_size=block)


@family("DynamicQuantizeLinear")
def _(d: Draft, op: str) -> None:
    d.node(op, [d.tensor(("f32",), (0, 4), lambda v: v.size > 0 and bool(np.ptp(v) > 0.1))], 3)


@family("QLinearMatMul")
def _(d: Draft, op: str) -> None:
    m, k, n = (d.chance.choice((1, 2, 3, 5, 17, 33)) for _ in range(3))
    a, b = d.chance.choice((("u8", "u8"), ("u8", "i8"), ("i8", "i8")))
    columns = d.chance.choice(((), (n,)))
    left = [d.like(a, (m, k)), scales(d, ()), zero_points(d, a, ())]
    right = [d.like(b, (k, n)), scales(d, columns), zero_points(d, b, columns)]
    _require_held_pairs(d, left[0], right[0])
    d.one(op, [*left, *right, scales(d, ()), zero_points(d, a, ())])


def _require_held_pairs(d: Draft, x: str, weights: str) -> None:
    if not pairs_are_held(d.values[x], d.values[weights]):
        raise Dropped  # ONNX Runtime saturates on some processors


@family("QLinearConv")
def _(d: Draft, op: str) -> None:
    n = d.chance.choice((1, 2, 2))
    x = image(d, ("u8", "i8"), n)
    label, c, w = d.label(x), d.shape(x)[1], window(d, n)
    out, to = d.chance.choice((1, 3, 5)), "i8" if label == "i8" else d.chance.choice(("u8", "i8"))
    each = d.chance.choice(((), (out,)))
    weights = [d.like(to, (out, c, *w.kernel)), scales(d, each), zero_points(d, to, ())]
    if each:
        weights[2] = d.constant(np.zeros(each, numpy_type(to)))
    _require_held_pairs(d, x, weights[0])
    operands = [x, scales(d, ()), zero_points(d, label, ()), *weights]
    operands += [scales(d, ()), zero_points(d, label, ())]
    operands += [d.like("i32", (out,))] if d.maybe() else []
    d.one(op, operands, **w.attrs)


QDQ = "QDQ"
"""A product between dequantize and quantize nodes, as quantizers write it; this name is not an ONNX
operator."""


@family(QDQ, weight=2)
def _(d: Draft, op: str) -> None:
    x = d.tensor(("f32",), (2, 4), lambda v: v.size > 0)
    kind = d.chance.choice(("MatMul", "Gemm", "Conv", "Add", "Relu", "Concat"))
    ends = d.chance.choice(("u8", "i8"))
    a = codes(d, x, ends)
    shape = d.shape(x)
    if kind == "Conv":
        if len(shape) < 3:
            raise Dropped
        out = d.chance.choice((1, 3, 8))
        kernel = [min(n, d.chance.choice((1, 3))) for n in shape[2:]]
        w = codes(d, d.constant(_weights(d, (out, shape[1], *kernel))), "i8")
        made = d.one("Conv", [a, w])
    elif kind in ("MatMul", "Gemm"):
        n = d.chance.choice((1, 5, 17, 33))
        w = codes(d, d.constant(_weights(d, (shape[-1], n))), "i8")
        made = d.one("MatMul" if len(shape) > 2 else kind, [a, w])
    elif kind == "Relu":
        made = d.one("Relu", [a])
    elif kind == "Concat":
        made = d.one("Concat", [a, codes(d, x, ends)], axis=d.axis(len(shape)))
    else:
        made = d.one("Add", [a, codes(d, d.like("f32", shape), ends)])
    codes(d, made, ends)


def codes(d: Draft, x: str, label: str) -> str:
    """Return x after quantizing and dequantizing with a single scale."""
    tail = [scales(d, ()), zero_points(d, label, ())]
    return d.one("DequantizeLinear", [d.one("QuantizeLinear", [x, *tail]), *tail])


def _weights(d: Draft, shape: Shape) -> np.ndarray:
    return np.random.default_rng(d.chance.getrandbits(32)).normal(0, 0.5, shape).astype(np.float32)
