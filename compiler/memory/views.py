"""Values that no launch writes: views and cuts of other values, and values joined from parts.

A *view* shows all bytes of a value, and a *cut* (slice) shows a range of its bytes. A *joined*
value is the concatenation of its parts, which are written directly into its memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property

from compiler.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A range of a value's bytes: `size` bytes from `start`."""

    value: str
    start: int
    size: int


@dataclass(frozen=True)
class Views:
    """The views, cuts and joined values of a program; launches write all other values.

    `shown` maps each view to its source, and `cut` each cut to the byte range that it shows.
    `joined` maps each joined value to its parts and their offsets. The parts fill the joined value
    without gaps.

    >>> views = Views(shown={"v": "b"}, joined={"w": (Span("a", 0, 64), Span("v", 64, 32))})
    >>> views.home("b"), views.roots("w")
    (('w', 64), ('a', 'b'))
    """

    shown: Mapping[str, str] = field(default_factory=dict)
    cut: Mapping[str, Span] = field(default_factory=dict)
    joined: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[str]:
        """Yield the values that no launch writes."""
        yield from self.shown
        yield from self.cut
        yield from self.joined

    def below(self, value: str) -> str:
        """Return the source of a view, through views of views; return any other value unchanged."""
        while value in self.shown:
            value = self.shown[value]
        return value

    def roots(self, value: str) -> tuple[str, ...]:
        """Return the distinct values, written by launches, that contain this value's bytes."""
        if value not in self._roots:
            self._roots[value] = tuple(dict.fromkeys(self._found_roots(value)))
        return self._roots[value]

    def _found_roots(self, value: str) -> Iterator[str]:
        value = self.below(value)
        if value in self.cut:
            yield from self.roots(self.cut[value].value)
        elif value in self.joined:
            for part in self.joined[value]:
                yield from self.roots(part.value)
        else:
            yield value

    def meets(self, value: str, others: Iterable[str]) -> bool:
        """Return whether any of `others` has a root in common with this value (see `roots`)."""
        roots = set(self.roots(value))
        return any(not roots.isdisjoint(self.roots(other)) for other in others)

    def home(self, value: str) -> tuple[str, int]:
        """Return the owner of a value's memory, and the value's offset in it."""
        start = 0
        while True:
            value = self.below(value)
            at = self.cut.get(value) or self.places_in_joined.get(value)
            if at is None:
                return value, start
            value, start = at.value, start + at.start

    def size_in(self, value: str, sizes: Mapping[str, int]) -> int:
        """Return the size of a value in bytes; `sizes` has the sizes of written values."""
        value = self.below(value)
        if value in self.cut:
            return self.cut[value].size
        if value in self.joined:
            return sum(part.size for part in self.joined[value])
        return sizes[value]

    def pieces(self, value: str, start: int, size: int) -> Iterator[Span]:
        """Yield the ranges of written values that make up a range of a value, in order."""
        value = self.below(value)
        if value in self.cut:
            at = self.cut[value]
            yield from self.pieces(at.value, at.start + start, size)
            return
        if value not in self.joined:
            yield Span(value, start, size)
            return
        for part in self.joined[value]:
            first, end = max(start, part.start), min(start + size, part.start + part.size)
            if first < end:
                yield from self.pieces(part.value, first - part.start, end - first)

    @cached_property
    def places_in_joined(self) -> Mapping[str, Span]:
        """Map each part (if it is a view, its source) to its joined value and byte range there."""
        found: dict[str, Span] = {}
        for whole, parts in self.joined.items():
            for part in parts:
                lies = self.below(part.value)
                assert lies not in found, f"{lies} is a part of {found[lies].value} and of {whole}"
                assert lies not in self.cut, f"{lies} is cut out of {self.cut[lies].value}"
                found[lies] = Span(whole, part.start, part.size)
        return found

    @cached_property
    def _roots(self) -> dict[str, tuple[str, ...]]:
        return {}


NO_VIEWS = Views()
