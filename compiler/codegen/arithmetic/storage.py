"""Storage-only element types: floats of at most 8 bits, integers of fewer than 8 bits.

A value of a storage-only type is represented by its byte in memory. Conversions work on all lanes
at once: they shift bit fields, and the processor's float addition rounds denormals.

Source: OCP 8-bit Floating Point 1.0 and Microscaling Formats 1.0; Noune et al. 2022,
arXiv:2206.02915, for the types without a negative zero; ml_dtypes for NaN.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Literal

from compiler.codegen.values import Value, constant, value_type
from compiler.dataclass import dataclass
from compiler.ir.types import DType

if TYPE_CHECKING:
    from compiler.codegen.arithmetic.functions import Arithmetic

MANTISSA = 23
"""The number of mantissa bits of an f32."""

F32_BIAS = 127
NAN = 0x7FC00000
INFINITE = 0x7F800000


@dataclass(frozen=True, slots=True)
class Format:
    """A float format of `bits` bits: sign, exponent and mantissa, from the highest bit down.

    `special` states which bit patterns are infinity or NaN:

    - "ieee": the patterns with the largest exponent, as in IEEE 754
    - "last": the last pattern of each sign
    - "negative zero": the pattern of negative zero
    - "none": no pattern
    """

    bits: int
    mantissa: int
    bias: int
    special: Literal["ieee", "last", "negative zero", "none"]

    @property
    def sign(self) -> int:
        """The mask of the sign bit; smaller bit patterns are positive numbers."""
        return 1 << (self.bits - 1)


FORMATS = {
    DType.f8e4m3fn: Format(8, 3, 7, "last"),
    DType.f8e4m3fnuz: Format(8, 3, 8, "negative zero"),
    DType.f8e5m2: Format(8, 2, 15, "ieee"),
    DType.f8e5m2fnuz: Format(8, 2, 16, "negative zero"),
    DType.f6e2m3: Format(6, 3, 1, "none"),
    DType.f6e3m2: Format(6, 2, 3, "none"),
    DType.f4e2m1: Format(4, 1, 1, "none"),
}


def load_wide(a: Arithmetic, v: Value) -> Value:
    """Convert a stored number to the type in which arithmetic computes."""
    if v.dtype.is_integer:
        return _whole(a, v)
    bits = a.out.op(f"zext {v.typed} to {value_type(DType.i32, v.lanes)}", DType.i32, v.lanes, v)
    found = _power(a, bits) if v.dtype is DType.f8e8m0 else _decoded(a, bits, FORMATS[v.dtype])
    return a.out.reinterpret(found, DType.f32)


def store_narrow(a: Arithmetic, v: Value, dtype: DType) -> Value:
    """Convert to a storage type: round floats to nearest, ties to even; truncate integers.

    Floats out of range become infinity, NaN or the largest number, depending on the type.
    """
    if dtype.is_integer:
        low = a.two("and", v, _same(v, (1 << dtype.bits) - 1))
        return Value(low.ref, dtype, low.lanes, low.level)
    bits = a.out.reinterpret(v, DType.i32)
    code = _exponent(a, bits) if dtype is DType.f8e8m0 else _encoded(a, bits, FORMATS[dtype])
    text = f"trunc {code.typed} to {value_type(dtype, v.lanes)}"
    return a.out.op(text, dtype, v.lanes, code)


def _whole(a: Arithmetic, v: Value) -> Value:
    """Decode an integer of fewer than 8 bits from the low bits of its byte."""
    byte = Value(v.ref, v.dtype.wide, v.lanes, v.level)
    if v.dtype.label[0] == "u":
        return a.two("and", byte, _same(byte, (1 << v.dtype.bits) - 1))
    unused = _same(byte, 8 - v.dtype.bits)
    return a.two("ashr", a.two("shl", byte, unused), unused)


# Bits of f32


def _decoded(a: Arithmetic, byte: Value, f: Format) -> Value:
    """Decode a bit pattern of a format to the bits of an f32."""
    code = a.two("and", byte, _same(byte, f.sign - 1))
    moved = a.two("shl", code, _same(code, MANTISSA - f.mantissa))
    normal = a.two("add", moved, _same(code, (F32_BIAS - f.bias) << MANTISSA))
    size = a.out.select(
        a.test("icmp ult", code, _same(code, 1 << f.mantissa)), _tiny(a, code, f), normal
    )
    match f.special:
        case "ieee":
            first = _same(code, (f.sign - 1) >> f.mantissa << f.mantissa)
            beyond = a.two("or", moved, _same(code, INFINITE))
            size = a.out.select(a.test("icmp uge", code, first), beyond, size)
        case "last":
            size = a.out.select(_is(a, code, f.sign - 1), _same(code, NAN), size)
        case "negative zero":
            size = a.out.select(_is(a, byte, f.sign), _same(code, NAN), size)
        case "none":
            pass
    to_top = _same(byte, 32 - f.bits)
    sign = a.two("and", a.two("shl", byte, to_top), _same(byte, 1 << 31))
    return a.two("or", size, sign)


def _tiny(a: Arithmetic, code: Value, f: Format) -> Value:
    """Decode a denormal: an integral multiple of the last bit's value."""
    kind = value_type(DType.f32, code.lanes)
    whole = a.out.op(f"sitofp {code.typed} to {kind}", DType.f32, code.lanes, code)
    unit = 2.0 ** (1 - f.bias - f.mantissa)
    return a.out.reinterpret(a.two("fmul", whole, _same(whole, unit)), DType.i32)


def _encoded(a: Arithmetic, bits: Value, f: Format) -> Value:
    """Encode the bits of an f32 in a format."""
    size = a.two("and", bits, _same(bits, 0x7FFFFFFF))
    drop = MANTISSA - f.mantissa
    odd = a.two("and", a.two("lshr", size, _same(size, drop)), _same(size, 1))
    raised = a.two("add", a.two("add", size, _same(size, (1 << (drop - 1)) - 1)), odd)
    kept = a.two("lshr", raised, _same(size, drop))
    normal = a.two("sub", kept, _same(size, (F32_BIAS - f.bias) << f.mantissa))
    is_tiny = a.test("icmp ult", size, _same(size, (F32_BIAS + 1 - f.bias) << MANTISSA))
    code = a.out.select(is_tiny, _multiples(a, size, f), normal)
    is_nan = a.test("icmp ugt", size, _same(size, INFINITE))
    negative = a.two("lshr", bits, _same(bits, 31))
    sign = a.two("shl", negative, _same(bits, f.bits - 1))
    match f.special:
        case "ieee":
            infinite = (f.sign - 1) >> f.mantissa << f.mantissa
            code = a.intrinsic("umin", code, _same(code, infinite))
            quiet = infinite | 1 << (f.mantissa - 1)
            code = a.out.select(is_nan, _same(code, quiet), code)
        case "last":
            code = a.intrinsic("umin", code, _same(code, f.sign - 1))
        case "negative zero":
            too_large = a.test("icmp uge", code, _same(code, f.sign))
            signed = a.out.select(_is(a, code, 0), code, a.two("or", code, sign))
            return a.out.select(too_large, _same(code, f.sign), signed)
        case "none":
            # The format has no NaN: NaN becomes a zero with inverted sign.
            code = a.intrinsic("umin", code, _same(code, f.sign - 1))
            code = a.out.select(is_nan, _same(code, f.sign), code)
            return a.two("xor", code, sign)
    return a.two("or", code, sign)


def _multiples(a: Arithmetic, size: Value, f: Format) -> Value:
    """Divide by the smallest denormal of the format, and round to the nearest integer.

    The last bit of `anchor` has the value of the smallest denormal, so the addition of `anchor`
    rounds.
    """
    anchor = 2.0 ** (MANTISSA + 1 - f.bias - f.mantissa)
    x = a.out.reinterpret(size, DType.f32)
    total = a.out.reinterpret(a.two("fadd", x, _same(x, anchor)), DType.i32)
    return a.two("sub", total, _same(total, _f32_bits(anchor)))


# Powers of two


def _power(a: Arithmetic, code: Value) -> Value:
    """Decode an f8e8m0, which has only an exponent, to the bits of an f32.

    The smallest f8e8m0 is a denormal f32.
    """
    size = a.two("shl", code, _same(code, MANTISSA))
    size = a.out.select(_is(a, code, 0), _same(code, 1 << (MANTISSA - 1)), size)
    return a.out.select(_is(a, code, 0xFF), _same(code, NAN), size)


def _exponent(a: Arithmetic, bits: Value) -> Value:
    """Encode the power of two nearest to an f32, ties up; NaN for numbers that are not positive.

    The biased f32 exponent of the smallest f8e8m0 is 0; numbers between this smallest number and
    the next power are rounded up.
    """
    half = 1 << (MANTISSA - 1)
    is_tiny = a.test("icmp ult", bits, _same(bits, 1 << MANTISSA))
    part = a.out.select(is_tiny, _same(bits, half - 1), _same(bits, half))
    nearest = a.two("lshr", a.two("add", bits, part), _same(bits, MANTISSA))
    top = _same(bits, 0xFF)
    is_positive = a.test("icmp sgt", bits, _same(bits, 0))
    return a.out.select(is_positive, a.intrinsic("umin", nearest, top), top)


def _is(a: Arithmetic, v: Value, number: int) -> Value:
    return a.test("icmp eq", v, _same(v, number))


def _same(like: Value, number: float) -> Value:
    return constant(number, like.dtype, like.lanes)


def _f32_bits(x: float) -> int:
    return struct.unpack("<i", struct.pack("<f", x))[0]
