"""Rules that fold scales and shifts of channels, batch normalisation above all, into weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any as Anything

import numpy as np

from compiler.ir.operator import Operand, Operator, Tensor
from compiler.ir.types import TensorType
from compiler.passes.affine_parts import (
    Objection,
    channels,
    outputs_of,
    scale_inputs,
    scale_outputs,
    scaled,
    shifted,
    sum_over_inputs,
    traffic,
)
from compiler.passes.algebra import merge_additions, merge_multiplications
from compiler.passes.arithmetic import combined, objection_to, reshaped
from compiler.passes.calls import o
from compiler.passes.passes import rules_pass
from compiler.passes.pattern import Any, AnyAttr, Const, ConstTensor
from compiler.passes.rules import Because, Rule, Skip, rule

X, W, C = Any("x"), Const("w"), Const("c")
BIAS = Const("bias", optional=True)


def _attributes(*names: str) -> dict[str, AnyAttr]:
    return {name: AnyAttr(name) for name in names}


CONV = _attributes("strides", "pads", "dilations", "groups", "auto_pad")
DECONV = _attributes(
    "strides", "pads", "output_padding", "dilations", "groups", "output_shape", "auto_pad"
)
FLAGS = _attributes("transpose_a", "transpose_b")


def _or_skip(body: Callable[..., Operand]) -> Callable[..., Operand]:
    """Let an Objection raised on the way be the reason to skip."""

    @wraps(body)
    def guarded(**given: Anything) -> Operand:
        try:
            return body(**given)
        except Objection as e:
            return Skip(str(e))

    return guarded


@rule(
    o.batch_norm(X, Const("s"), Const("b"), Const("m"), Const("v"), epsilon=AnyAttr("epsilon")),
    exact=False,
    example="""
    graph g(x: f32[2,3,4]) {
      const s: f32[3] = literal(1.0,2.0,3.0)
      const b: f32[3] = literal(0.5,1.0,-1.0)
      const m: f32[3] = literal(1.0,0.0,2.0)
      const v: f32[3] = literal(4.0,1.0,0.25)
      y: f32[2,3,4] = batch_norm(x, s, b, m, v, epsilon=0.0)
      return y
    }
    =>
    graph g(x: f32[2,3,4]) {
      const y.a.b: f32[3,1] = literal(0.5,2.0,6.0)
      const y.b: f32[3,1] = literal(0.0,1.0,-13.0)
      y.a: f32[2,3,4] = mul(x, y.a.b)
      y: f32[2,3,4] = add(y.a, y.b)
      return y
    }
    """,
    result="t",
)
@_or_skip
def batch_norm_is_affine(
    x: Tensor,
    s: ConstTensor,
    b: ConstTensor,
    m: ConstTensor,
    v: ConstTensor,
    epsilon: float,
    t: TensorType,
) -> Operand:
    """Batch normalisation with known statistics is one scale and one shift per channel.

    scale/sqrt(variance+epsilon) is computed once, now. The two nodes that are left can be folded
    into a convolution before them.
    """
    parts = [p.stored for p in (s, b, m, v)]

    def shift(s: Anything, b: Anything, m: Anything, v: Anything) -> Anything:
        return b - m * (s / np.sqrt(v + epsilon))

    scales = combined(lambda s, v: s / np.sqrt(v + epsilon), parts[0], parts[3])
    shifts = combined(shift, *parts)
    for made in (scales, shifts):
        if objection := objection_to(made, *parts):
            return Skip(objection)
    shape = (s.stored.type.n_elements, *(1,) * (x.rank - 2))
    return Because(
        o.add(o.mul(x, reshaped(scales, shape)), reshaped(shifts, shape)),
        f"{shape[0]} channels: 5 operations per element become 2, and both can be folded further",
    )


@rule(
    o.mul(o.conv(X, W, BIAS, **CONV), C),
    exact=False,
    sole=True,
    example="""
    graph g(x: f32[1,1,3]) {
      const w: f32[2,1,2] = literal(1.0,2.0,3.0,4.0)
      const b: f32[2] = literal(0.5,1.5)
      const c: f32[2,1] = literal(2.0,10.0)
      y: f32[1,2,2] = conv(x, w, b, strides=[1], pads=[0,0], dilations=[1])
      z: f32[1,2,2] = mul(y, c)
      return z
    }
    =>
    graph g(x: f32[1,1,3]) {
      const z.w: f32[2,1,2] = literal(2.0,4.0,30.0,40.0)
      const z.b: f32[2] = literal(1.0,15.0)
      z: f32[1,2,2] = conv(x, z.w, z.b, strides=[1], pads=[0,0], dilations=[1])
      return z
    }
    """,
    result="t",
)
@_or_skip
def scale_into_conv(
    x: Tensor,
    w: ConstTensor,
    bias: ConstTensor | None,
    c: ConstTensor,
    t: TensorType,
    **attrs: Anything,
) -> Operand:
    """A scale of each output channel is folded into the convolution's weights.

    The weights are multiplied once, now, instead of every element of every image.
    """
    return _scaled_conv(o.conv, x, w, bias, c, t, attrs, transposed=False)


@rule(
    o.mul(o.conv_transpose(X, W, BIAS, **DECONV), C),
    exact=False,
    sole=True,
    example="""
    graph g(x: f32[1,2,3]) {
      const w: f32[2,1,2] = literal(1.0,2.0,3.0,4.0)
      const c: f32[2,1] = literal(2.0,10.0)
      y: f32[1,2,4] = conv_transpose(x, w,
        strides=[1], pads=[0,0], output_padding=[0], dilations=[1], groups=2)
      z: f32[1,2,4] = mul(y, c)
      return z
    }
    =>
    graph g(x: f32[1,2,3]) {
      const z.w: f32[2,1,2] = literal(2.0,4.0,30.0,40.0)
      z: f32[1,2,4] = conv_transpose(x, z.w,
        strides=[1], pads=[0,0], output_padding=[0], dilations=[1], groups=2)
      return z
    }
    """,
    result="t",
)
@_or_skip
def scale_into_conv_transpose(
    x: Tensor,
    w: ConstTensor,
    bias: ConstTensor | None,
    c: ConstTensor,
    t: TensorType,
    **attrs: Anything,
) -> Operand:
    """A scale of each output channel is folded into the transposed convolution's weights."""
    return _scaled_conv(o.conv_transpose, x, w, bias, c, t, attrs, transposed=True)


def _with_bias(
    operator: Operator, attrs: dict[str, Anything], x: Tensor, w: Operand, bias: Operand
) -> Operand:
    return operator(x, w, **attrs) if bias is None else operator(x, w, bias, **attrs)


def _scaled_conv(
    operator: Operator,
    x: Tensor,
    w: ConstTensor,
    bias: ConstTensor | None,
    c: ConstTensor,
    t: TensorType,
    attrs: dict[str, Anything],
    *,
    transposed: bool,
) -> Operand:
    n = outputs_of(w, attrs["groups"], transposed=transposed)
    scale = channels(c, w.rank, 1, n)
    weights = scale_outputs(w, scale, attrs["groups"], transposed=transposed)
    made = None if bias is None else combined(np.multiply, bias.stored, scale)
    return Because(
        _with_bias(operator, attrs, x, weights, made),
        f"{n} scales go into {w.stored.type.n_elements:,} weights; {traffic(x, t)}",
    )


@rule(
    o.add(o.conv(X, W, BIAS, **CONV), C),
    exact=False,
    sole=True,
    example="""
    graph g(x: f32[1,1,3]) {
      const w: f32[2,1,2] = literal(1.0,2.0,3.0,4.0)
      const c: f32[2,1] = literal(2.0,10.0)
      y: f32[1,2,2] = conv(x, w, strides=[1], pads=[0,0], dilations=[1])
      z: f32[1,2,2] = add(y, c)
      return z
    }
    =>
    graph g(x: f32[1,1,3]) {
      const w: f32[2,1,2] = literal(1.0,2.0,3.0,4.0)
      const z.b: f32[2] = literal(2.0,10.0)
      z: f32[1,2,2] = conv(x, w, z.b, strides=[1], pads=[0,0], dilations=[1])
      return z
    }
    """,
    result="t",
)
@_or_skip
def shift_into_conv(
    x: Tensor,
    w: ConstTensor,
    bias: ConstTensor | None,
    c: ConstTensor,
    t: TensorType,
    **attrs: Anything,
) -> Operand:
    """A shift of each output channel is folded into the convolution's bias.

    A convolution without a bias gets one.
    """
    return _shifted_conv(o.conv, x, w, bias, c, t, attrs, transposed=False)


@rule(
    o.add(o.conv_transpose(X, W, BIAS, **DECONV), C),
    exact=False,
    sole=True,
    example="""
    graph g(x: f32[1,1,2]) {
      const w: f32[1,2,2] = literal(1.0,2.0,3.0,4.0)
      const b: f32[2] = literal(0.5,1.5)
      const c: f32[2,1] = literal(2.0,10.0)
      y: f32[1,2,3] = conv_transpose(x, w, b,
        strides=[1], pads=[0,0], output_padding=[0], dilations=[1])
      z: f32[1,2,3] = add(y, c)
      return z
    }
    =>
    graph g(x: f32[1,1,2]) {
      const w: f32[1,2,2] = literal(1.0,2.0,3.0,4.0)
      const z.b: f32[2] = literal(2.5,11.5)
      z: f32[1,2,3] = conv_transpose(x, w, z.b,
        strides=[1], pads=[0,0], output_padding=[0], dilations=[1])
      return z
    }
    """,
    result="t",
)
@_or_skip
def shift_into_conv_transpose(
    x: Tensor,
    w: ConstTensor,
    bias: ConstTensor | None,
    c: ConstTensor,
    t: TensorType,
    **attrs: Anything,
) -> Operand:
    """A shift of each output channel is folded into the transposed convolution's bias."""
    return _shifted_conv(o.conv_transpose, x, w, bias, c, t, attrs, transposed=True)


def _shifted_conv(
    operator: Operator,
    x: Tensor,
    w: ConstTensor,
    bias: ConstTensor | None,
    c: ConstTensor,
    t: TensorType,
    attrs: dict[str, Anything],
    *,
    transposed: bool,
) -> Operand:
    n = outputs_of(w, attrs["groups"], transposed=transposed)
    made = shifted(bias.stored if bias else None, channels(c, w.rank, 1, n))
    return Because(
        _with_bias(operator, attrs, x, w, made),
        f"{n} shifts become {'part of ' if bias else ''}the bias; {traffic(x, t)}",
    )


@rule(
    o.conv(o.mul(X, C), W, BIAS, **CONV),
    exact=False,
    sole=True,
    example="""
    graph g(x: f32[1,2,3]) {
      const c: f32[2,1] = literal(2.0,10.0)
      const w: f32[1,2,2] = literal(1.0,2.0,3.0,4.0)
      y: f32[1,2,3] = mul(x, c)
      z: f32[1,1,4] = conv(y, w, strides=[1], pads=[1,1], dilations=[1])
      return z
    }
    =>
    graph g(x: f32[1,2,3]) {
      const z.w: f32[1,2,2] = literal(2.0,4.0,30.0,40.0)
      z: f32[1,1,4] = conv(x, z.w, strides=[1], pads=[1,1], dilations=[1])
      return z
    }
    """,
)
@_or_skip
def scale_before_conv(
    x: Tensor, c: ConstTensor, w: ConstTensor, bias: ConstTensor | None, **attrs: Anything
) -> Operand:
    """A scale of each input channel is folded into the weights of the convolution that reads it.

    Padding does not matter: 0 times a scale is 0.
    """
    n = w.stored.type.static_shape[1] * attrs["groups"]
    scale = _input_channels(x, c, w, n)
    weights = scale_inputs(w, scale, attrs["groups"])
    return Because(
        _with_bias(o.conv, attrs, x, weights, bias),
        f"{n} scales go into {w.stored.type.n_elements:,} weights; {traffic(x, x.type)}",
    )


def _input_channels(x: Tensor, c: ConstTensor, w: ConstTensor, n: int) -> Anything:
    if x.type.shape is None or x.rank != w.rank or x.shape[1] != n:
        raise Objection(f"{x.name} is {x.type}; the scaled tensor is larger")
    return channels(c, w.rank, 1, n)


@rule(
    o.conv(o.add(X, C), W, BIAS, **CONV),
    exact=False,
    sole=True,
    example="""
    graph g(x: f32[1,2,3]) {
      const c: f32[2,1] = literal(2.0,10.0)
      const w: f32[1,2,2] = literal(1.0,2.0,3.0,4.0)
      y: f32[1,2,3] = add(x, c)
      z: f32[1,1,2] = conv(y, w, strides=[1], pads=[0,0], dilations=[1])
      return z
    }
    =>
    graph g(x: f32[1,2,3]) {
      const w: f32[1,2,2] = literal(1.0,2.0,3.0,4.0)
      const z.b: f32[1] = literal(76.0)
      z: f32[1,1,2] = conv(x, w, z.b, strides=[1], pads=[0,0], dilations=[1])
      return z
    }
    """,
)
@_or_skip
def shift_before_conv(
    x: Tensor, c: ConstTensor, w: ConstTensor, bias: ConstTensor | None, **attrs: Anything
) -> Operand:
    """A shift of each input channel becomes part of the bias of the convolution that reads it.

    Only without padding: the zeros around the image are not shifted.
    """
    padded = any(attrs["pads"]) if attrs["auto_pad"] == "notset" else attrs["auto_pad"] != "valid"
    if padded:
        return Skip("the convolution pads with zeros, which the shift does not reach")
    if w.stored.type.nbytes > 1 << 24 and w.stored.is_splat:
        return Skip(f"the sum over {w.stored.type.n_elements:,} equal weights is left alone")
    n = w.stored.type.static_shape[1] * attrs["groups"]
    extra = sum_over_inputs(w, _input_channels(x, c, w, n), attrs["groups"])
    made = shifted(bias.stored if bias else None, extra)
    return Because(
        _with_bias(o.conv, attrs, x, w, made),
        f"{n} shifts become part of the bias; {traffic(x, x.type)}",
    )


@rule(
    o.mul(o.matmul(X, W, **FLAGS), C),
    exact=False,
    sole=True,
    example="""
    graph g(x: f32[2,3]) {
      const w: f32[2,3] = literal(1.0,2.0,3.0,4.0,5.0,6.0)
      const c: f32[2] = literal(2.0,10.0)
      y: f32[2,2] = matmul(x, w, transpose_b=true)
      z: f32[2,2] = mul(y, c)
      return z
    }
    =>
    graph g(x: f32[2,3]) {
      const z.b: f32[2,3] = literal(2.0,4.0,6.0,40.0,50.0,60.0)
      z: f32[2,2] = matmul(x, z.b, transpose_b=true)
      return z
    }
    """,
    result="t",
)
@_or_skip
def scale_into_matmul(
    x: Tensor,
    w: ConstTensor,
    c: ConstTensor,
    transpose_a: bool,
    transpose_b: bool,
    t: TensorType,
) -> Operand:
    """A scale of each column of a product is folded into the matrix of weights."""
    weights, n = _scaled_columns(w, c, transpose_b, t)
    return Because(
        o.matmul(x, weights, transpose_a=transpose_a, transpose_b=transpose_b),
        f"{n} scales go into {w.stored.type.n_elements:,} weights; {traffic(x, t)}",
    )


def _scaled_columns(
    w: ConstTensor, c: ConstTensor, transpose_b: bool, t: TensorType
) -> tuple[Anything, int]:
    if w.rank != 2:
        raise Objection(f"the weights {w.type} are no matrix")
    if not w.dtype.is_float:
        raise Objection(f"products of {w.dtype} may overflow")
    rows, columns = w.stored.type.static_shape
    n = rows if transpose_b else columns
    scale = channels(c, t.rank, t.rank - 1, n)
    shape = (n, 1) if transpose_b else (1, n)
    return scaled(w.stored, scale, shape, (rows, columns)), n


@rule(
    o.mul(o.add(o.matmul(X, W, **FLAGS), Const("shift")), C),
    exact=False,
    sole=True,
    example="""
    graph g(x: f32[2,1]) {
      const w: f32[1,2] = literal(1.0,2.0)
      const b: f32[2] = literal(5.0,7.0)
      const c: f32[2] = literal(2.0,10.0)
      y: f32[2,2] = matmul(x, w)
      s: f32[2,2] = add(y, b)
      z: f32[2,2] = mul(s, c)
      return z
    }
    =>
    graph g(x: f32[2,1]) {
      const z.a.b: f32[1,2] = literal(2.0,20.0)
      const z.b: f32[2] = literal(10.0,70.0)
      z.a: f32[2,2] = matmul(x, z.a.b)
      z: f32[2,2] = add(z.a, z.b)
      return z
    }
    """,
    result="t",
)
@_or_skip
def scale_through_bias(
    x: Tensor,
    w: ConstTensor,
    shift: ConstTensor,
    c: ConstTensor,
    transpose_a: bool,
    transpose_b: bool,
    t: TensorType,
) -> Operand:
    """A scale behind a product and its bias is folded into both."""
    weights, n = _scaled_columns(w, c, transpose_b, t)
    bias = combined(np.multiply, shift.stored, c.stored)
    if objection := objection_to(bias, shift.stored, c.stored):
        return Skip(objection)
    product = o.matmul(x, weights, transpose_a=transpose_a, transpose_b=transpose_b)
    return Because(
        o.add(product, bias),
        f"{n} scales go into {w.stored.type.n_elements:,} weights and the bias; {traffic(x, t)}",
    )


@rule(
    o.matmul(o.mul(X, C), W, **FLAGS),
    exact=False,
    sole=True,
    example="""
    graph g(x: f32[3,2]) {
      const c: f32[2] = literal(2.0,10.0)
      const w: f32[2,2] = literal(1.0,2.0,3.0,4.0)
      y: f32[3,2] = mul(x, c)
      z: f32[3,2] = matmul(y, w)
      return z
    }
    =>
    graph g(x: f32[3,2]) {
      const z.b: f32[2,2] = literal(2.0,4.0,30.0,40.0)
      z: f32[3,2] = matmul(x, z.b)
      return z
    }
    """,
)
@_or_skip
def scale_before_matmul(
    x: Tensor, c: ConstTensor, w: ConstTensor, transpose_a: bool, transpose_b: bool
) -> Operand:
    """A scale of each column of the left operand is folded into the rows of the weights."""
    if w.rank != 2 or x.rank < 2 or not w.dtype.is_float:
        return Skip(f"{x.type} times {w.type} is no product of floating point matrices")
    rows, columns = w.stored.type.static_shape
    n = columns if transpose_b else rows
    axis = x.rank - 2 if transpose_a else x.rank - 1
    if x.shape[axis] != n:
        return Skip(f"{x.name} is {x.type}; the scaled tensor is larger")
    shape = (1, n) if transpose_b else (n, 1)
    weights = scaled(w.stored, channels(c, x.rank, axis, n), shape, (rows, columns))
    return Because(
        o.matmul(x, weights, transpose_a=transpose_a, transpose_b=transpose_b),
        f"{n} scales go into {w.stored.type.n_elements:,} weights; {traffic(x, x.type)}",
    )


@rule(
    o.mul(o.add(o.mul(X, Const("a")), Const("b")), C),
    exact=False,
    sole=True,
    example="""
    graph g(x: f32[2,3]) {
      const a: f32[3] = literal(1.0,2.0,3.0)
      const b: f32[3] = literal(0.5,1.0,-1.0)
      const c: f32[] = literal(2.0)
      p: f32[2,3] = mul(x, a)
      q: f32[2,3] = add(p, b)
      r: f32[2,3] = mul(q, c)
      return r
    }
    =>
    graph g(x: f32[2,3]) {
      const r.a.b: f32[3] = literal(2.0,4.0,6.0)
      const r.b: f32[3] = literal(1.0,2.0,-2.0)
      r.a: f32[2,3] = mul(x, r.a.b)
      r: f32[2,3] = add(r.a, r.b)
      return r
    }
    """,
    result="t",
)
@_or_skip
def scale_through_affine(
    x: Tensor, a: ConstTensor, b: ConstTensor, c: ConstTensor, t: TensorType
) -> Operand:
    """A scale behind a scale and a shift is folded into both: (x*a+b)*c = x*(a*c) + b*c."""
    if not x.dtype.is_float:
        return Skip(f"products of {x.dtype} may overflow")
    scale = combined(np.multiply, a.stored, c.stored)
    shift = combined(np.multiply, b.stored, c.stored)
    for made, old in ((scale, a), (shift, b)):
        if objection := objection_to(made, old.stored, c.stored):
            return Skip(objection)
    return Because(o.add(o.mul(x, scale), shift), f"one multiplication less; {traffic(x, t)}")


RULES: list[Rule] = [
    batch_norm_is_affine,
    scale_into_conv,
    scale_into_conv_transpose,
    shift_into_conv,
    shift_into_conv_transpose,
    scale_into_matmul,
    scale_through_bias,
    scale_through_affine,
    merge_multiplications,
    merge_additions,
    scale_before_conv,
    shift_before_conv,
    scale_before_matmul,
]

fold_affine = rules_pass(
    "fold_affine",
    RULES,
    """Fold scales and shifts with constant parameters into neighbouring weights.

    Batch normalisation becomes a scale and a shift; these become part of the weights and the bias
    of a convolution or product before or behind them. Weights are computed in f64 and rounded once;
    results differ by about one rounding.
    """,
    needs=["constants", "single uses"],
)
