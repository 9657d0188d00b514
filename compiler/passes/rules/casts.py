"""Rules that merge consecutive casts."""

from __future__ import annotations

from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import DType
from compiler.passes.engine.pattern import Any, AnyAttr
from compiler.passes.engine.rule import Rule, Skip, rule
from compiler.passes.rules.calls import o

X = Any("x")


@rule(
    o.cast(o.cast(X, to=AnyAttr("p")), to=AnyAttr("q")),
    example="""
    graph g(x: u8[2,3]) {
      a: i32[2,3] = cast(x, to=i32)
      b: f32[2,3] = cast(a, to=f32)
      return b
    }
    =>
    graph g(x: u8[2,3]) {
      b: f32[2,3] = cast(x, to=f32)
      return b
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      a: i32[2,3] = cast(x, to=i32)
      b: f32[2,3] = cast(a, to=f32)
      return b
    }
    """,
)
def merge_casts(x: Tensor, p: DType, q: DType) -> Operand:
    """Merge two consecutive casts if the middle type represents every value of the source type.

    Integers cast through floats qualify if the mantissa holds all digits, for example i32 through
    f64. Consecutive truncations of integers merge into a single truncation.
    """
    if not _holds(p, x.dtype) and not _keeps_low_bits(x.dtype, p, q):
        return Skip(f"{p} cannot represent every {x.dtype}, so the first cast changes values")
    return x if x.dtype is q else o.cast(x, to=q)


_FLOAT_DIGITS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}
_FLOAT_EXPONENT = {"f16": 5, "bf16": 8, "f32": 8, "f64": 11}


def _holds(wide: DType, narrow: DType) -> bool:
    """Whether the type `wide` represents every value of the type `narrow`."""
    if wide is narrow or narrow is DType.bool:
        return wide is narrow or wide.is_integer or wide.label in _FLOAT_DIGITS
    if narrow.is_integer:
        signed = narrow.label[0] == "i"
        if wide.is_integer:
            room = wide.bits - (wide.label[0] == "i")
            return room >= narrow.bits - signed and not (signed and wide.label[0] == "u")
        return _FLOAT_DIGITS.get(wide.label, 0) >= narrow.bits - signed
    if wide.label not in _FLOAT_DIGITS or narrow.label not in _FLOAT_DIGITS:
        return False
    return (
        _FLOAT_DIGITS[wide.label] >= _FLOAT_DIGITS[narrow.label]
        and _FLOAT_EXPONENT[wide.label] >= _FLOAT_EXPONENT[narrow.label]
    )


def _keeps_low_bits(x: DType, p: DType, q: DType) -> bool:
    """Whether casts from x to p to q are integer truncations that preserve all bits of q."""
    integers = all(t.is_integer and not t.is_storage for t in (x, p, q))
    return integers and p.bits >= q.bits


CASTS: list[Rule] = [merge_casts]
"""Rules of `algebraic_simplification` for casts, in the order they are tried."""
