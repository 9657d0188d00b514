"""Files that are legal or nearly legal, and request far more than their size suggests.

Each family is a file in this folder. `make()` creates the bytes of a file when a test needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

Maker = Callable[[], bytes]


@dataclass(frozen=True)
class Hostile:
    """A file: its family and name, and the function that creates its bytes."""

    family: str
    name: str
    make: Maker


Family = Callable[[], Iterator[tuple[str, Maker]]]
FAMILIES: dict[str, Family] = {}


def family(make: Family) -> Family:
    """Register a generator of names and functions under its own name."""
    FAMILIES[make.__name__] = make
    return make


def hostile_files(families: tuple[str, ...] = ()) -> Iterator[Hostile]:
    """Yield all files of some families, or of all families."""
    for name, make in FAMILIES.items():
        if not families or name in families:
            yield from (Hostile(name, which, made) for which, made in make())
