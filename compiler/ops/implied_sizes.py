"""Open sizes that operators imply: weights for 64 channels take only images of 64 channels.

Type rules compare sizes through `imply`; whoever wants to know what follows listens.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from compiler.ir.affine import Affine
from compiler.ir.types import Dim

Implied = dict[str, set[int]]
"""Symbols with the numbers that they have to equal, if any operator is to run."""

_listener: ContextVar[Implied | None] = ContextVar("listener", default=None)


@contextmanager
def implied_sizes() -> Generator[Implied]:
    """What the type rules of the block imply."""
    found: Implied = {}
    token = _listener.set(found)
    try:
        yield found
    finally:
        _listener.reset(token)


@contextmanager
def without_implied_sizes() -> Generator[None]:
    """Type rules of what may never run, as branches, imply nothing."""
    token = _listener.set(None)
    try:
        yield
    finally:
        _listener.reset(token)


def imply(a: Dim, b: Dim) -> None:
    """Two sizes are equal in every run; an open one beside a number is that number."""
    found = _listener.get()
    if found is None:
        return
    for size, other in ((a, b), (b, a)):
        if isinstance(size, Affine) and isinstance(other, int):
            found.setdefault(str(size), set()).add(other)
