"""Rules that fold per-channel scales and shifts into the weights and biases of convolutions."""

from __future__ import annotations

from typing import Any as Anything

import numpy as np

from compiler.ir.operator import Operand, Operator, Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.cost import TRAFFIC
from compiler.passes.engine.pattern import Any, Const, ConstTensor
from compiler.passes.engine.rule import ROUNDINGS, Because, Rule, Skip, rule
from compiler.passes.rules.affine_parts import (
    channels,
    check_summable,
    or_skip,
    outputs_of,
    scale_inputs,
    scale_outputs,
    scaled,
    shifted,
    sum_over_inputs,
)
from compiler.passes.rules.arithmetic import combined
from compiler.passes.rules.calls import o
from compiler.passes.rules.windows import CONV, DECONV
from compiler.units import count_text

X, W, C = Any("x"), Const("w"), Const("c")
BIAS = Const("bias", optional=True)


@rule(
    o.mul(o.conv(X, W, BIAS, **CONV), C),
    error=ROUNDINGS,
    single_use=True,
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
    near_miss="""
    graph g(x: f32[1,1,3]) {
      const w: f32[2,1,2] = literal(1.0,2.0,3.0,4.0)
      const along_the_image: f32[2] = literal(2.0,10.0)
      y: f32[1,2,2] = conv(x, w, strides=[1], pads=[0,0], dilations=[1])
      z: f32[1,2,2] = mul(y, along_the_image)
      return z
    }
    """,
    result="t",
)
@or_skip
def scale_into_conv(
    x: Tensor,
    w: ConstTensor,
    bias: ConstTensor | None,
    c: ConstTensor,
    t: TensorType,
    **attrs: Anything,
) -> Operand:
    """Fold a per-output-channel scale into the convolution's weights.

    Scaling the weights once, at compile time, replaces scaling every output element at run time.
    """
    return _scaled_conv(o.conv, x, w, bias, c, t, attrs, transposed=False)


@rule(
    o.mul(o.conv_transpose(X, W, BIAS, **DECONV), C),
    error=ROUNDINGS,
    single_use=True,
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
    near_miss="""
    graph g(x: f32[1,2,3]) {
      const w: f32[2,1,2] = literal(1.0,2.0,3.0,4.0)
      const c: f32[2,1] = literal(2.0,10.0)
      y: f32[1,2,4] = conv_transpose(x, w,
        strides=[1], pads=[0,0], output_padding=[0], dilations=[1], groups=2)
      z: f32[1,2,4] = mul(y, c)
      return z, unscaled=y
    }
    """,
    result="t",
)
@or_skip
def scale_into_conv_transpose(
    x: Tensor,
    w: ConstTensor,
    bias: ConstTensor | None,
    c: ConstTensor,
    t: TensorType,
    **attrs: Anything,
) -> Operand:
    """Fold a per-output-channel scale into the weights of a transposed convolution."""
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
        f"{count_text(n, 'scale')} folded into {w.stored.type.n_elements:,} weights; {TRAFFIC}",
    )


@rule(
    o.add(o.conv(X, W, BIAS, **CONV), C),
    error=ROUNDINGS,
    single_use=True,
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
    near_miss="""
    graph g(x: f32[2,1,3]) {
      const w: f32[2,1,2] = literal(1.0,2.0,3.0,4.0)
      const for_each_image: f32[2,1,1] = literal(2.0,10.0)
      y: f32[2,2,2] = conv(x, w, strides=[1], pads=[0,0], dilations=[1])
      z: f32[2,2,2] = add(y, for_each_image)
      return z
    }
    """,
    result="t",
)
@or_skip
def shift_into_conv(
    x: Tensor,
    w: ConstTensor,
    bias: ConstTensor | None,
    c: ConstTensor,
    t: TensorType,
    **attrs: Anything,
) -> Operand:
    """Fold a per-output-channel shift into the convolution's bias.

    A convolution without a bias gains a bias.
    """
    return _shifted_conv(o.conv, x, w, bias, c, t, attrs, transposed=False)


@rule(
    o.add(o.conv_transpose(X, W, BIAS, **DECONV), C),
    error=ROUNDINGS,
    single_use=True,
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
    near_miss="""
    graph g(x: f32[1,1,2]) {
      const w: f32[1,2,2] = literal(1.0,2.0,3.0,4.0)
      const along_the_image: f32[3] = literal(2.0,10.0,-1.0)
      y: f32[1,2,3] = conv_transpose(x, w,
        strides=[1], pads=[0,0], output_padding=[0], dilations=[1])
      z: f32[1,2,3] = add(y, along_the_image)
      return z
    }
    """,
    result="t",
)
@or_skip
def shift_into_conv_transpose(
    x: Tensor,
    w: ConstTensor,
    bias: ConstTensor | None,
    c: ConstTensor,
    t: TensorType,
    **attrs: Anything,
) -> Operand:
    """Fold a per-output-channel shift into the bias of a transposed convolution."""
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
        f"{count_text(n, 'shift')} {'added to' if bias else 'stored as'} the bias; {TRAFFIC}",
    )


@rule(
    o.conv(o.mul(X, C), W, BIAS, **CONV),
    error=ROUNDINGS,
    single_use=True,
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
    near_miss="""
    graph g(x: f32[1,1,3]) {
      const makes_two_channels: f32[2,1] = literal(2.0,10.0)
      const w: f32[1,2,2] = literal(1.0,2.0,3.0,4.0)
      y: f32[1,2,3] = mul(x, makes_two_channels)
      z: f32[1,1,4] = conv(y, w, strides=[1], pads=[1,1], dilations=[1])
      return z
    }
    """,
)
@or_skip
def scale_before_conv(
    x: Tensor, c: ConstTensor, w: ConstTensor, bias: ConstTensor | None, **attrs: Anything
) -> Operand:
    """Fold a per-input-channel scale into the weights of the following convolution.

    This fold is legal with padding, since a scaled zero is zero.
    """
    n = w.stored.type.static_shape[1] * attrs["groups"]
    scale = channels(c, w.rank, 1, n, x)
    weights = scale_inputs(w, scale, attrs["groups"])
    return Because(
        _with_bias(o.conv, attrs, x, weights, bias),
        f"{count_text(n, 'scale')} folded into {w.stored.type.n_elements:,} weights; {TRAFFIC}",
    )


@rule(
    o.conv_transpose(o.mul(X, C), W, BIAS, **DECONV),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[1,2,3]) {
      const c: f32[2,1] = literal(2.0,10.0)
      const w: f32[2,1,2] = literal(1.0,2.0,3.0,4.0)
      y: f32[1,2,3] = mul(x, c)
      z: f32[1,1,2] = conv_transpose(y, w,
        strides=[1], pads=[1,1], output_padding=[0], dilations=[1])
      return z
    }
    =>
    graph g(x: f32[1,2,3]) {
      const z.w: f32[2,1,2] = literal(2.0,4.0,30.0,40.0)
      z: f32[1,1,2] = conv_transpose(x, z.w,
        strides=[1], pads=[1,1], output_padding=[0], dilations=[1])
      return z
    }
    """,
    near_miss="""
    graph g(x: f32[1,2,3]) {
      const along_the_image: f32[3] = literal(2.0,10.0,1.0)
      const w: f32[2,1,2] = literal(1.0,2.0,3.0,4.0)
      y: f32[1,2,3] = mul(x, along_the_image)
      z: f32[1,1,2] = conv_transpose(y, w,
        strides=[1], pads=[1,1], output_padding=[0], dilations=[1])
      return z
    }
    """,
)
@or_skip
def scale_before_conv_transpose(
    x: Tensor, c: ConstTensor, w: ConstTensor, bias: ConstTensor | None, **attrs: Anything
) -> Operand:
    """Fold a per-input-channel scale into the weights of the following transposed convolution."""
    shape = w.stored.type.static_shape
    scale = channels(c, w.rank, 1, shape[0], x)
    weights = scaled(w.stored, scale, (shape[0], *(1 for _ in shape[1:])), shape)
    return Because(
        _with_bias(o.conv_transpose, attrs, x, weights, bias),
        f"{count_text(shape[0], 'scale')} folded into "
        f"{w.stored.type.n_elements:,} weights; {TRAFFIC}",
    )


@rule(
    o.conv(o.add(X, C), W, BIAS, **CONV),
    error=ROUNDINGS,
    single_use=True,
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
    near_miss="""
    graph g(x: f32[1,2,3]) {
      const c: f32[2,1] = literal(2.0,10.0)
      const w: f32[1,2,2] = literal(1.0,2.0,3.0,4.0)
      y: f32[1,2,3] = add(x, c)
      padded: f32[1,1,3] = conv(y, w, strides=[1], pads=[0,1], dilations=[1])
      return padded
    }
    """,
)
@or_skip
def shift_before_conv(
    x: Tensor, c: ConstTensor, w: ConstTensor, bias: ConstTensor | None, **attrs: Anything
) -> Operand:
    """Fold a per-input-channel shift into the bias of the following convolution.

    This fold is illegal with padding, since the shift does not apply to the zeros around the image.
    """
    padded = any(attrs["pads"]) if attrs["auto_pad"] == "notset" else attrs["auto_pad"] != "valid"
    if padded:
        return Skip("the convolution pads with zeros, to which the shift does not apply")
    check_summable(w)
    n = w.stored.type.static_shape[1] * attrs["groups"]
    extra = sum_over_inputs(w, channels(c, w.rank, 1, n, x), attrs["groups"])
    made = shifted(bias.stored if bias else None, extra)
    return Because(
        _with_bias(o.conv, attrs, x, w, made),
        f"{count_text(n, 'shift')} added to the bias; {TRAFFIC}",
    )


CONV_RULES: list[Rule] = [
    scale_into_conv,
    scale_into_conv_transpose,
    shift_into_conv,
    shift_into_conv_transpose,
    scale_before_conv,
    scale_before_conv_transpose,
    shift_before_conv,
]
"""Rules of `fold_affine` for convolutions, in the order they are tried."""
