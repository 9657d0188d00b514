"""Arithmetic on numbers and lists while a model is read, with bounded results."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from compiler.errors import CompileError, require
from compiler.frontend.tracing.tracing import shown
from compiler.ir.infer import MAX_RANK

MOST = 1 << 63
"""The limit on the magnitude of integers in a model."""

ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "ceil": math.ceil,
    "exp": math.exp,
    "floor": math.floor,
    "log": math.log,
    "max": max,
    "min": min,
    "sqrt": math.sqrt,
}
"""Operators that are also functions of numbers, as in `1 / sqrt(64)`."""


def is_number(value: Any) -> bool:
    """Return whether a value is a plain number."""
    return isinstance(value, int | float)


def calculated(symbol: str, a: Any, b: Any, longest: int) -> Any:
    """Evaluate `a symbol b` for numbers, or for lists (+ and *). Errors: E-WRITE-VALUE, -LIMIT."""
    if symbol == "+" and type(a) is type(b) and isinstance(a, list | tuple):
        return _bounded_list(len(a) + len(b), longest) or a + b
    if symbol == "*" and isinstance(a, list | tuple) and type(b) is int:
        return _bounded_list(len(a) * b, longest) or a * b
    if symbol not in ARITHMETIC or not (is_number(a) and is_number(b)):
        message = "this operator is not available here"
        if symbol:
            message = f"cannot compute {shown(a)} {symbol} {shown(b)}"
        raise CompileError("E-WRITE-VALUE", message)
    if symbol == "**":
        _check_power(a, b)
    return number_of(lambda: ARITHMETIC[symbol](a, b))


def number_of(compute: Callable[[], Any]) -> Any:
    """Run a computation on numbers. Errors: E-WRITE-VALUE if the result is not a number."""
    try:
        value = compute()
    except (ArithmeticError, ValueError, TypeError) as e:
        raise CompileError("E-WRITE-VALUE", f"the expression cannot be evaluated: {e}") from e
    message = "the result is not a real number, or is an integer beyond 2**63"
    fits = isinstance(value, int | float) and not (type(value) is int and abs(value) > MOST)
    require(fits, "E-WRITE-VALUE", message)
    return value


def compared(symbol: str, a: Any, b: Any) -> bool:
    """Compare values known while the model is read. Errors: E-WRITE-VALUE."""
    same = (is_number(a) and is_number(b)) or type(a) is type(b)
    if symbol not in COMPARISONS or (not same and symbol not in ("==", "!=")):
        raise CompileError("E-WRITE-VALUE", f"cannot compare {shown(a)} {symbol} {shown(b)}")
    try:
        return bool(COMPARISONS[symbol](a, b))
    except TypeError as e:
        raise CompileError("E-WRITE-VALUE", f"cannot compare: {e}") from e


def check_length(values: Sequence[Any], longest: int) -> None:
    """Check the total length and the depth of nested lists.

    Errors: E-WRITE-LIMIT.
    """
    n, depth, level = 0, 0, [values]
    while level:
        n, depth = n + sum(map(len, level)), depth + 1
        require(n <= longest, "E-WRITE-LIMIT", f"a list would have more than {longest:,} elements")
        deep = f"lists would be nested more than {MAX_RANK} deep"
        require(depth <= MAX_RANK, "E-WRITE-LIMIT", deep)
        level = [each for row in level for each in row if isinstance(each, list | tuple)]


def _bounded_list(length: int, longest: int) -> None:
    if length > longest:
        message = f"the list would have {length:,} elements; the limit is {longest:,}"
        raise CompileError("E-WRITE-LIMIT", message)


def _check_power(a: Any, b: Any) -> None:
    if isinstance(a, int) and isinstance(b, int) and abs(a) > 1 and b * math.log2(abs(a)) > 64:
        raise CompileError("E-WRITE-VALUE", "the result is an integer beyond 2**63")
