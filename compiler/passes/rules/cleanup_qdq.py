"""Rules for quantize and dequantize: pairs that cancel, and clips that saturation makes redundant.

Source: DoubleQDQPairsRemover, ReluQuantFusion, ClipQuantFusion and QDQFinalCleanup of ONNX Runtime.
"""

from __future__ import annotations

from typing import Any as Anything

import numpy as np

from compiler.ir.constant import Constant
from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import DType
from compiler.passes.engine.cost import TRAFFIC
from compiler.passes.engine.declaration import rules_pass
from compiler.passes.engine.pattern import Any, AnyAttr, Const, ConstTensor, Number, uniform
from compiler.passes.engine.rule import ROUNDINGS, Because, Rule, Skip, rule
from compiler.passes.rules.affine_parts import (
    Objection,
    attributes,
    channels,
    check_kept,
    or_skip,
)
from compiler.passes.rules.arithmetic import combined
from compiler.passes.rules.calls import o
from compiler.passes.rules.codes import (
    codes,
    dequantized,
    is_single,
    need_steps,
    quantized,
)

X, S, Z = Any("x"), Const("s"), Const("z", optional=True)
TO = attributes("to", "precision", "axis", "block_size", "saturate")


def _attrs(given: dict[str, Anything]) -> dict[str, Anything]:
    return {k: v for k, v in given.items() if k in TO}


@rule(
    o.quantize(
        o.dequantize(
            X, Const("s1"), Const("z1", optional=True), to=AnyAttr("number"), axis=AnyAttr("along")
        ),
        S,
        Z,
        **TO,
    ),
    example="""
    graph g(x: u8[2,3]) {
      const s: f32[] = literal(0.1)
      const z: u8[] = literal(130)
      d: f32[2,3] = dequantize(x, s, z, to=f32)
      q: u8[2,3] = quantize(d, s, z, to=u8, precision=f32)
      y: f32[2,3] = dequantize(q, s, z, to=f32)
      return y
    }
    =>
    graph g(x: u8[2,3]) {
      const s: f32[] = literal(0.1)
      const z: u8[] = literal(130)
      y: f32[2,3] = dequantize(x, s, z, to=f32)
      return y
    }
    """,
    near_miss="""
    graph g(x: u8[2,3]) {
      const s: f32[] = literal(0.1)
      const other: f32[] = literal(0.11)
      const z: u8[] = literal(130)
      d: f32[2,3] = dequantize(x, s, z, to=f32)
      q: u8[2,3] = quantize(d, other, z, to=u8, precision=f32)
      y: f32[2,3] = dequantize(q, s, z, to=f32)
      return y
    }
    """,
)
@or_skip
def drop_quantize_of_dequantize(
    x: Tensor,
    s1: ConstTensor,
    z1: ConstTensor | None,
    number: DType,
    along: int,
    s: ConstTensor,
    z: ConstTensor | None,
    **given: Anything,
) -> Operand:
    """Remove a dequantize and quantize pair with equal scales and zero points.

    The rule evaluates every value of the quantized type with the constants of the pair, including
    rounding.
    """
    attrs = _attrs(given)
    if x.dtype is not attrs["to"]:
        return Skip(f"the pair changes the quantized type from {x.dtype} to {attrs['to']}")
    blocks = attrs["block_size"]
    n = max(need_steps(s1, z1, rising=False), need_steps(s, z, blocks=blocks, rising=False))
    if n > 1 and _axis(along, x) != _axis(attrs["axis"], x):
        return Skip(
            f"dequantize has scales along axis {along}, but quantize along axis {attrs['axis']}"
        )
    given_codes = codes(x.dtype, n)
    numbers = dequantized(given_codes, s1, z1, {"to": number, "block_size": 0})
    again = quantized(numbers, s, z, attrs)
    changed = int(np.count_nonzero(again != given_codes))
    if changed:
        return Skip(f"{changed:,} of {again.size:,} quantized values would change")
    return Because(x, f"all {again.size:,} quantized values round-trip unchanged")


def _axis(axis: int, x: Tensor) -> int:
    if x.type.shape is None:
        raise Objection(f"the rank of {x.name} is not known")
    return axis % x.rank if x.rank > 1 else 0


@rule(
    o.quantize(o.relu(X), S, Z, **TO),
    example="""
    graph g(x: f32[2,3]) {
      const s: f32[] = literal(0.1)
      r: f32[2,3] = relu(x)
      q: u8[2,3] = quantize(r, s, to=u8, precision=f32)
      return q
    }
    =>
    graph g(x: f32[2,3]) {
      const s: f32[] = literal(0.1)
      q: u8[2,3] = quantize(x, s, to=u8, precision=f32)
      return q
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const s: f32[] = literal(0.1)
      const z: u8[] = literal(3)
      r: f32[2,3] = relu(x)
      q: u8[2,3] = quantize(r, s, z, to=u8, precision=f32)
      return q
    }
    """,
)
@or_skip
def relu_before_quantize(
    x: Tensor, s: ConstTensor, z: ConstTensor | None, **given: Anything
) -> Operand:
    """Remove a relu before a quantize whose smallest result represents 0.

    Saturation maps negative values to the smallest result. The relu does not change the
    quantized value of NaN.
    """
    _need_kept(x, s, z, _attrs(given), 0.0, None)
    return o.quantize(x, *_steps(s, z), **_attrs(given))


def _steps(s: Operand, z: ConstTensor | None) -> list[Operand]:
    return [s] if z is None else [s, z]


@rule(
    o.quantize(
        o.clip(X, Number("lo", optional=True), Number("hi", optional=True)),
        S,
        Z,
        **TO,
    ),
    example="""
    graph g(x: f32[2,3]) {
      const lo: f32[] = literal(-13.5)
      const hi: f32[] = literal(13.0)
      const s: f32[] = literal(0.1)
      r: f32[2,3] = clip(x, lo, hi)
      q: i8[2,3] = quantize(r, s, to=i8, precision=f32)
      return q
    }
    =>
    graph g(x: f32[2,3]) {
      const s: f32[] = literal(0.1)
      q: i8[2,3] = quantize(x, s, to=i8, precision=f32)
      return q
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const lo: f32[] = literal(-13.5)
      const hi: f32[] = literal(12.5)
      const s: f32[] = literal(0.1)
      r: f32[2,3] = clip(x, lo, hi)
      q: i8[2,3] = quantize(r, s, to=i8, precision=f32)
      return q
    }
    """,
)
@or_skip
def clip_before_quantize(
    x: Tensor,
    lo: float | None,
    hi: float | None,
    s: ConstTensor,
    z: ConstTensor | None,
    **given: Anything,
) -> Operand:
    """Remove a clip before a quantize that saturates at the bounds of the clip."""
    _need_kept(x, s, z, _attrs(given), lo, hi)
    return o.quantize(x, *_steps(s, z), **_attrs(given))


def _need_kept(
    x: Tensor,
    s: ConstTensor,
    z: ConstTensor | None,
    attrs: dict[str, Anything],
    lo: float | None,
    hi: float | None,
) -> None:
    """Raise Objection unless saturation makes both bounds redundant.

    Quantization is monotonic, so the bounds are the only values to check.
    """
    if not x.dtype.is_float:
        raise Objection(f"the rule does not support bounds of type {x.dtype}")
    n = need_steps(s, z, blocks=attrs["block_size"])
    row = codes(attrs["to"], 1)[0]
    if lo is not None and hi is not None and not lo <= hi:
        raise Objection(f"the bounds {lo:g} and {hi:g} cross")
    for bound, needed in ((lo, row[0]), (hi, row[-1])):
        if bound is None:
            continue
        if np.isnan(bound):
            raise Objection("a bound is NaN")
        numbers = np.full((n, 1), bound).astype(x.dtype.numpy)
        found = quantized(numbers, s, z, attrs)
        if (found != needed).any():
            code = found[found != needed][0]
            raise Objection(f"{bound:g} is quantized to {code}, not to {needed}")


@rule(
    o.mul(o.dequantize(X, S, Z, to=AnyAttr("to"), axis=AnyAttr("axis")), Const("c")),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: i8[2,3]) {
      const s: f32[3] = literal(0.5,1.0,2.0)
      const z: i8[3] = literal(1,-2,0)
      const c: f32[3] = literal(3.0,-1.0,10.0)
      d: f32[2,3] = dequantize(x, s, z, to=f32, axis=1)
      y: f32[2,3] = mul(d, c)
      return y
    }
    =>
    graph g(x: i8[2,3]) {
      const z: i8[3] = literal(1,-2,0)
      const y.scale: f32[3] = literal(1.5,-1.0,20.0)
      y: f32[2,3] = dequantize(x, y.scale, z, to=f32, axis=1)
      return y
    }
    """,
    near_miss="""
    graph g(x: i8[2,3]) {
      const s: f32[3] = literal(0.5,1.0,2.0)
      const for_each_row: f32[2,1] = literal(3.0,-1.0)
      d: f32[2,3] = dequantize(x, s, to=f32, axis=1)
      y: f32[2,3] = mul(d, for_each_row)
      return y
    }
    """,
)
@or_skip
def scale_of_dequantized(
    x: Tensor,
    s: ConstTensor,
    z: ConstTensor | None,
    to: DType,
    axis: int,
    c: ConstTensor,
) -> Operand:
    """Fold a scale after a dequantize into the scales of the dequantize."""
    if s.dtype is not DType.f32 or to is not DType.f32:
        return Skip(f"the scale is {s.dtype} and the result {to}: only f32 avoids another rounding")
    at = _axis(axis, x)
    if is_single(s) and uniform(c.stored) is None:
        return Skip(
            f"a single scale would become {c.stored.type.n_elements} scales, one per channel"
        )
    n = s.stored.type.n_elements
    factor = channels(c, x.rank, at, n) if not is_single(s) else _one(c)
    made = combined(np.multiply, s.stored, factor)
    check_kept(made, s.stored, c.stored)
    return Because(
        o.dequantize(x, *_steps(made, z), to=to, axis=axis),
        f"{n} {'scale is' if n == 1 else 'scales are'} folded at compile time; {TRAFFIC}",
    )


def _one(c: ConstTensor) -> Constant:
    if c.rank and c.stored.type.n_elements != 1:
        raise Objection(f"{c.name} is {c.type}, which does not broadcast to the scale")
    return Constant.of(c.stored.array().reshape(()), c.dtype)


@rule(
    o.quantize(o.mul(o.cast(X, to=DType.f32), Const("c")), S, Z, **TO),
    error=ROUNDINGS,
    example="""
    graph g(x: i32[2,3]) {
      const c: f32[3] = literal(0.5,0.25,2.0)
      const s: f32[] = literal(0.5)
      const z: u8[] = literal(130)
      f: f32[2,3] = cast(x, to=f32)
      m: f32[2,3] = mul(f, c)
      y: u8[2,3] = quantize(m, s, z, to=u8, precision=f32)
      return y
    }
    =>
    graph g(x: i32[2,3]) {
      const z: u8[] = literal(130)
      const y.scale: f32[3] = literal(1.0,0.5,4.0)
      y: u8[2,3] = requantize(x, y.scale, z, to=u8)
      return y
    }
    """,
    near_miss="""
    graph g(x: i32[2,3]) {
      const c: f32[3] = literal(0.5,0.25,2.0)
      const s: f32[3] = literal(0.5,1.0,2.0)
      f: f32[2,3] = cast(x, to=f32)
      m: f32[2,3] = mul(f, c)
      y: u8[2,3] = quantize(m, s, to=u8, precision=f32)
      return y
    }
    """,
)
@or_skip
def requantize_sums(
    x: Tensor, c: ConstTensor, s: ConstTensor, z: ConstTensor | None, **given: Anything
) -> Operand:
    """Fold the scale of integer sums and the quantization scale into a single multiplier.

    As in ONNX's quantized matrix products, a multiplication replaces the division.
    """
    attrs = _attrs(given)
    objection = _objection_to_product(x.dtype, DType.i32, s, z, attrs)
    if objection or c.dtype is not DType.f32:
        return Skip(objection or f"{c.name} is {c.type}, but a scale is f32")
    need_steps(s, z, blocks=attrs["block_size"])
    if x.type.shape is None or c.rank > x.rank:
        return Skip(f"{c.name} has more axes than the sums")
    step = s.stored.array().reshape(())
    made = Constant.of((c.stored.array() / step).astype(np.float32), DType.f32)
    check_kept(made, c.stored, s.stored)
    return Because(
        o.requantize(x, *_steps(made, z), to=attrs["to"]),
        f"{made.type.n_elements} scales are divided by {float(step):.6g} at compile time",
    )


@rule(
    o.quantize(o.add(X, Any("other")), S, Z, **TO),
    error=ROUNDINGS,
    single_use=True,
    example="""
    graph g(x: f32[2,3], r: f32[2,3]) {
      const s: f32[] = literal(0.5)
      const z: u8[] = literal(130)
      a: f32[2,3] = add(x, r)
      y: u8[2,3] = quantize(a, s, z, to=u8, precision=f32)
      return y
    }
    =>
    graph g(x: f32[2,3], r: f32[2,3]) {
      const z: u8[] = literal(130)
      const y.scale: f32[] = literal(2.0)
      y.x: f32[2,3] = add(x, r)
      y: u8[2,3] = requantize(y.x, y.scale, z, to=u8)
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3], r: f32[2,3]) {
      const s: f32[3] = literal(0.5,1.0,2.0)
      a: f32[2,3] = add(x, r)
      y: u8[2,3] = quantize(a, s, to=u8, precision=f32)
      return y
    }
    """,
)
@or_skip
def quantize_sum_by_product(
    x: Tensor, other: Tensor, s: ConstTensor, z: ConstTensor | None, **given: Anything
) -> Operand:
    """Quantize a sum, such as a residual, with a multiplication by the reciprocal of the scale.

    A division takes as long as all other operations in the epilogue of an integer product.
    """
    objection = _objection_to_product(x.dtype, DType.f32, s, z, _attrs(given))
    if objection:
        return Skip(objection)
    need_steps(s, z, blocks=_attrs(given)["block_size"])
    made = Constant.of((1 / s.stored.array().reshape(())).astype(np.float32), DType.f32)
    check_kept(made, s.stored)
    return o.requantize(o.add(x, other), *_steps(made, z), to=_attrs(given)["to"])


def _objection_to_product(
    found: DType,
    needed: DType,
    s: ConstTensor,
    z: ConstTensor | None,
    attrs: dict[str, Anything],
) -> str:
    """Return the reason against quantizing by multiplication with one scale, or ""."""
    is_short = attrs["to"] in (DType.u8, DType.i8) and attrs["precision"] is DType.f32
    if found is not needed or not is_short:
        return f"{found} quantized to {attrs['to']} in {attrs['precision']} needs an exact division"
    if not is_single(s) or (z is not None and not is_single(z)) or s.dtype is not DType.f32:
        return f"{s.name} is {s.type}, but a single f32 scale and zero point are needed"
    return ""


RULES: list[Rule] = [
    drop_quantize_of_dequantize,
    relu_before_quantize,
    clip_before_quantize,
    scale_of_dequantized,
    requantize_sums,
    quantize_sum_by_product,
]
"""Rules of `cleanup_qdq`, in the order they are tried."""

cleanup_qdq = rules_pass(
    "cleanup_qdq",
    RULES,
    """Remove quantize and dequantize pairs that cancel, and clips that saturation makes redundant.

    Quantization tools wrap every operator in a pair. Many adjacent pairs cancel, and many
    activations only clip values that saturation clips too.
    """,
    needs=["constants"],
    aliases=("clean_quantization",),
    known_as={"ONNX Runtime": "QDQFinalCleanupTransformer"},
)
