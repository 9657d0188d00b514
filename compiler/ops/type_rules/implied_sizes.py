"""Open sizes that operators imply: weights of 64 channels require images of 64 channels.

Type rules report equal sizes to `imply`; `implied_sizes` collects the reports.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from compiler.ir.affine import Affine
from compiler.ir.types import Dim

Implied = dict[str, set[int]]
"""Maps each symbol to the values that operators require."""

_listener: ContextVar[Implied | None] = ContextVar("listener", default=None)


@contextmanager
def implied_sizes() -> Generator[Implied]:
    """Collect the sizes that type rules imply within a `with` block."""
    found: Implied = {}
    token = _listener.set(found)
    try:
        yield found
    finally:
        _listener.reset(token)


@contextmanager
def without_implied_sizes() -> Generator[None]:
    """Ignore implied sizes within a `with` block, for code that may never run, such as branches."""
    token = _listener.set(None)
    try:
        yield
    finally:
        _listener.reset(token)


def imply(a: Dim, b: Dim) -> None:
    """Report that two sizes are equal in every run; if one is a number, it determines the other."""
    found = _listener.get()
    if found is None:
        return
    for size, other in ((a, b), (b, a)):
        if isinstance(size, Affine) and isinstance(other, int):
            found.setdefault(str(size), set()).add(other)
