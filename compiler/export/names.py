"""Unique names of values in the exported model and its subgraphs; inputs retain their names."""

from __future__ import annotations

from collections.abc import Iterable


class Names:
    """The names in use; subgraphs also see the names of the enclosing graphs."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def take(self, names: Iterable[str]) -> None:
        """Reserve names."""
        self._taken.update(names)

    def fresh(self, hint: str) -> str:
        """Return an unused name: the hint, or the hint with a numeric suffix."""
        name, i = hint or "value", 1
        while name in self._taken:
            i += 1
            name = f"{hint}_{i}"
        self._taken.add(name)
        return name
