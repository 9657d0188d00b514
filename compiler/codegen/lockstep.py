"""Copies of a loop's body written in lockstep: one operation of each, then the next of each.

A polynomial is a chain of operations that wait for each other. A processor finds others to do among
the two hundred or so that it looks ahead; with the copies of an unrolled loop one behind the other
these are hardly more than the same chain. Measured: 10 % less time for one function, 25 to 35 %
for two or three in a row.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from compiler.compute.scalar import Apply, Fetch, Read, walk
from compiler.loops.nodes import Loop, Statement, Store

MOST = 4
"""Copies side by side: each keeps some vectors in registers."""

_NAME = re.compile(r"%[\w.]+")


def may_mix(loop: Loop, registers: Collection[str], functions: Collection[str]) -> bool:
    """Whether iterations compute one of some functions, and none reads what another stores."""
    stores = list(_stores(loop.body))
    if any(not isinstance(s, Store) or s.buffer in registers for s in stores):
        return False
    written = {s.buffer: s.index for s in stores if isinstance(s, Store)}
    long = False
    for s in stores:
        assert isinstance(s, Store)
        for part in walk(s.value):
            if isinstance(part, Apply):
                long = long or part.fn in functions
            elif isinstance(part, Read) and written.get(part.tensor, part.index) != part.index:
                return False
            elif isinstance(part, Fetch) and part.tensor in written:
                return False
    return long


def _stores(body: Sequence[Statement]) -> Iterator[Statement]:
    """The statements inside vector loops; others as they are."""
    for s in body:
        if isinstance(s, Loop) and s.kind == "vector":
            yield from _stores(s.body)
        else:
            yield s


def in_lockstep(copies: Sequence[Sequence[str]]) -> list[str]:
    """The lines of copies, some at a time side by side; as they were where there are branches."""
    if any(line.endswith(":") or line.startswith("  br ") for lines in copies for line in lines):
        return [line for lines in copies for line in lines]
    return [
        line
        for start in range(0, len(copies), MOST)
        for line in _mixed(copies[start : start + MOST])
    ]


def _mixed(copies: Sequence[Sequence[str]]) -> Iterator[str]:
    """A line of each copy in turn; one that needs a line of another copy waits for it."""
    made = {name: (c, n) for c, lines in enumerate(copies) for n, name in _names(lines)}
    needs = [[_needed(line, made, c) for line in lines] for c, lines in enumerate(copies)]
    done = [0] * len(copies)
    while any(n < len(lines) for n, lines in zip(done, copies, strict=True)):
        for c, lines in enumerate(copies):
            at = done[c]
            if at < len(lines) and all(n < done[other] for other, n in needs[c][at]):
                yield lines[at]
                done[c] += 1


def _names(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The value that each line makes, if it makes one."""
    for n, line in enumerate(lines):
        name, equals, _ = line.strip().partition(" = ")
        if equals:
            yield n, name


def _needed(line: str, made: Mapping[str, tuple[int, int]], copy: int) -> list[tuple[int, int]]:
    """The lines of other copies that a line reads values of."""
    found = (made[name] for name in _NAME.findall(line) if name in made)
    return [place for place in found if place[0] != copy]
