"""Counts with their nouns in the words of steps."""

from __future__ import annotations


def counted(n: int, what: str) -> str:
    """Return a count with its noun, singular or plural: `1 node`, `1,200 nodes`."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def counted_verb(n: int, what: str, one: str, many: str) -> str:
    """Return a count with its noun and a verb that agrees: `1 node runs`, `2 nodes run`."""
    return f"{counted(n, what)} {one if n == 1 else many}"
