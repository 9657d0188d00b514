"""Interval analysis of scalar expressions."""

from __future__ import annotations

import math
from collections.abc import Callable

from compiler.compute.scalar import Apply, Convert, Number, Read, Scalar
from compiler.dataclass import dataclass

Largest = Callable[[str], float]
"""Returns the largest magnitude of a tensor's elements; infinite if unknown or NaN."""


@dataclass(frozen=True, slots=True)
class Range:
    """The smallest and largest value of an expression, and whether NaN is excluded."""

    low: float
    high: float
    is_number: bool = True

    @property
    def is_finite(self) -> bool:
        """Whether the value is provably finite."""
        return self.is_number and math.isfinite(self.low) and math.isfinite(self.high)


ANYTHING = Range(-math.inf, math.inf, is_number=False)

FAR = 2.0**120
"""The magnitude beyond which a float may become infinite, so that operations may give NaN."""


def number_range(s: Scalar, largest: Largest = lambda _: math.inf) -> Range:
    """Return the range of a float expression, as if operations were not rounded."""
    match s:
        case Number(value):
            return ANYTHING if math.isnan(value) else Range(float(value), float(value))
        case Read(name, _, dtype) if dtype.is_float:
            size = largest(name)
            return Range(-size, size) if math.isfinite(size) else ANYTHING
        case Convert(arg, dtype) if dtype.is_float and arg.dtype.is_integer:
            return _integers(arg)
        case Apply("within", (_, Number(size))):
            return Range(-float(size), float(size))
        case Apply("round", (arg,)):
            return number_range(arg, largest)
        case Apply("max" | "min" as fn, (a, b)):
            left, right = number_range(a, largest), number_range(b, largest)
            pick = max if fn == "max" else min
            is_number = left.is_number and right.is_number
            return Range(pick(left.low, right.low), pick(left.high, right.high), is_number)
        case Apply("larger", (a, b)):
            left, right = number_range(a, largest), number_range(b, largest)
            # The comparison with NaN is false, so the result is the first operand.
            low = max(left.low, right.low) if right.is_number else left.low
            return Range(low, max(left.high, right.high), left.is_number)
        case Apply("div", (a, Number(by))) if by:
            inverse = 1 / by
            return _combined("mul", number_range(a, largest), Range(inverse, inverse))
        case Apply("add" | "sub" | "mul" as fn, (a, b)):
            return _combined(fn, number_range(a, largest), number_range(b, largest))
        case _:
            return ANYTHING


def _integers(s: Scalar) -> Range:
    """Return the range of an integer expression; if it may wrap, return the range of its type."""
    bits, signed = s.dtype.bits, s.dtype.label.startswith("i")
    top = float(1 << (bits - signed))
    whole = Range(-top if signed else 0.0, top)
    match s:
        case Number(value):
            return Range(float(value), float(value))
        case Convert(arg) if arg.dtype.is_integer:
            found = _integers(arg)
        case Apply("add" | "sub" as fn, (a, b)) if a.dtype.is_integer:
            found = _combined(fn, _integers(a), _integers(b))
        case _:
            return whole
    fits = whole.low <= found.low and found.high < whole.high
    return found if fits else whole


def _combined(fn: str, a: Range, b: Range) -> Range:
    if not (a.is_finite and b.is_finite):
        return ANYTHING
    match fn:
        case "add":
            ends = [a.low + b.low, a.high + b.high]
        case "sub":
            ends = [a.low - b.high, a.high - b.low]
        case _:
            ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    found = Range(min(ends), max(ends))
    return found if -FAR < found.low and found.high < FAR else ANYTHING
