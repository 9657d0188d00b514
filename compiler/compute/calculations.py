"""Compilation of index expressions to Python functions, each cached for all iterations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from compiler.compute.numbers import INDEX_FUNCTIONS
from compiler.ir.affine import Expr

Index = Any
"""A scalar index, or a vector with one index per lane."""

Calculation = Callable[[], tuple[Index, ...]]

OF_NUMBERS: Mapping[str, Callable[..., Index]] = {**INDEX_FUNCTIONS, "min": min, "max": max}
"""Index functions for scalar indices."""


def calculation(
    index: tuple[Expr, ...],
    env: Mapping[str, Index],
    functions: Mapping[str, Callable[..., Index]] = INDEX_FUNCTIONS,
) -> Calculation:
    """Compile index expressions to a function that evaluates them with the current values in `env`.

    Example: `calculation((4*i + j, i//2), env, OF_NUMBERS)()` is (14, 1) where i is 3 and j is 2.
    """
    return _made(index)(env, functions)


@lru_cache(maxsize=65536)
def _made(index: tuple[Expr, ...]) -> Callable[[Any, Any], Calculation]:
    return eval(f"lambda v, f: lambda: ({''.join(f'{_text(e)}, ' for e in index)})")


def _text(e: Expr) -> str:
    """Return an index expression as Python source, with only numbers and quoted names."""
    if isinstance(e, int):
        return str(int(e))
    parts = [str(int(e.constant))] if e.constant else []
    for atom, c in e.terms:
        text = f"v[{atom!r}]" if isinstance(atom, str) else _compound(atom.fn, atom.a, atom.b)
        parts.append(text if c == 1 else f"{int(c)}*{text}")
    return f"({' + '.join(parts)})"


def _compound(fn: str, a: Expr, b: Expr) -> str:
    operator = {"floordiv": "//", "mod": "%"}.get(fn)
    if operator and isinstance(b, int) and b > 0:
        return f"({_text(a)}{operator}{_text(b)})"
    return f"({_text(a)}*{_text(b)})" if fn == "mul" else f"f[{fn!r}]({_text(a)}, {_text(b)})"
