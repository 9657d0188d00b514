"""Names in the written model: each value has one, in subgraphs too, and inputs keep theirs."""

from __future__ import annotations

from collections.abc import Iterable


class Names:
    """The names that are taken; subgraphs see those of the graphs around them."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def take(self, names: Iterable[str]) -> None:
        """Keep names from being given to anything else."""
        self._taken.update(names)

    def fresh(self, hint: str) -> str:
        """The hint itself, or with a number behind it when it is taken."""
        name, i = hint or "value", 1
        while name in self._taken:
            i += 1
            name = f"{hint}_{i}"
        self._taken.add(name)
        return name
