"""Interleave the copies of an unrolled loop body: all first operations, then all second, ...

A polynomial is a chain of dependent operations. An out-of-order processor looks ahead about 200
operations, which all belong to one chain if copies are consecutive. In interleaved copies, these
operations belong to independent chains. Measured: 10 % less time for one function, 25 to 35 % less
for two or three functions in sequence.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from compiler.compute.scalar import Apply, Fetch, Read, walk
from compiler.loops.nodes import Loop, Statement, Store

MOST = 4
"""The maximum number of interleaved copies: each copy occupies some vector registers."""

_NAME = re.compile(r"%[\w.]+")


def may_mix(loop: Loop, registers: Collection[str], functions: Collection[str]) -> bool:
    """Return whether a loop has independent iterations that call at least one of `functions`."""
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
    """Yield statements in order, with each vector loop replaced by the statements inside it."""
    for s in body:
        if isinstance(s, Loop) and s.kind == "vector":
            yield from _stores(s.body)
        else:
            yield s


def in_lockstep(copies: Sequence[Sequence[str]]) -> list[str]:
    """Interleave the lines of up to `MOST` copies; copies with branches stay consecutive."""
    if any(line.endswith(":") or line.startswith("  br ") for lines in copies for line in lines):
        return [line for lines in copies for line in lines]
    return [
        line
        for start in range(0, len(copies), MOST)
        for line in _mixed(copies[start : start + MOST])
    ]


def _mixed(copies: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the copies' lines in rotation, each after the lines that define its operands."""
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
    """Yield the index of each line that defines a value, and the name of the value."""
    for n, line in enumerate(lines):
        name, equals, _ = line.strip().partition(" = ")
        if equals:
            yield n, name


def _needed(line: str, made: Mapping[str, tuple[int, int]], copy: int) -> list[tuple[int, int]]:
    """Return the lines in other copies that define the operands of a line."""
    found = (made[name] for name in _NAME.findall(line) if name in made)
    return [place for place in found if place[0] != copy]
