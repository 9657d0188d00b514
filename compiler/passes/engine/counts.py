"""Counts with a noun and a verb that agree in number, for the reasons of steps."""

from __future__ import annotations

from compiler.units import count_text


def counted_verb(n: int, what: str, one: str, many: str) -> str:
    """Return a count with its noun and a verb that agrees: `1 node runs`, `2 nodes run`."""
    return f"{count_text(n, what)} {one if n == 1 else many}"
