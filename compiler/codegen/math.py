"""Functions of real numbers that processors have no instruction for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.codegen.values import Value
from compiler.ir.types import DType
from compiler.loops.limits import NotLowerable

if TYPE_CHECKING:
    from compiler.codegen.arithmetic import Arithmetic

LIBRARY = {
    "exp", "log", "tanh", "erf", "sin", "cos", "tan", "asin", "acos", "atan",
    "sinh", "cosh", "asinh", "acosh", "atanh", "pow",
}  # fmt: skip
"""Functions that the C mathematics library has under the same name."""


def function(a: Arithmetic, fn: str, args: list[Value]) -> Value:
    """A function of floats, by lanes."""
    return library_call(a, fn, args)


def library_call(a: Arithmetic, fn: str, args: list[Value]) -> Value:
    """One call of the C library per lane."""
    if fn not in LIBRARY:
        raise NotLowerable(f"{fn} has no generated code")
    x = args[0]
    name = fn if x.dtype is DType.f64 else fn + "f"
    if not x.lanes:
        return a.out.call(name, x.dtype, 0, *args)
    total = Value("poison", x.dtype, x.lanes)
    for i in range(x.lanes):
        found = a.out.call(name, x.dtype, 0, *(a.out.extract(v, i) for v in args))
        total = a.out.insert(total, found, i)
    return total
