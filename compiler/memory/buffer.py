"""Buffers with lifetimes, and plans that assign offsets: the data types of memory planning.

plan 4608 bytes, alignment 64 {
  x: 4096 bytes at 0, live 0..3, pinned to 0
  h: 512 bytes at 4096, live 1..2, aligned to 512, shares "state", holds h "view of h"
  c: 192 bytes at 0, live 3..5, holds a c b@64
}
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from functools import cached_property

from compiler.dataclass import dataclass

ALIGNMENT_BYTES = 64
"""Size in bytes of a cache line, and of the widest vector register."""


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory that is needed from step `start` until before step `end`.

    `values` names the contents: a value, its views, the parts concatenated into it, and results
    computed in place. `starts` has the offset of each value in the buffer, () if all offsets are 0.
    `alignment_bytes` applies if it exceeds the plan's alignment. `pinned` is a required offset, -1
    if any offset is allowed. Buffers with the same name in `shares` have the same offset. Their
    memory has the size of the largest buffer, and is live from the first start to the last end.
    Units: size and offsets in bytes; lifetimes in launch steps, half-open; `offset` is -1 before
    planning.
    """

    name: str
    size: int
    start: int
    end: int
    offset: int = -1
    values: tuple[str, ...] = field(default=())
    alignment_bytes: int = 1
    pinned: int = -1
    shares: str = ""
    starts: tuple[int, ...] = field(default=())

    @property
    def limit(self) -> int:
        """Return the offset of the first byte after the buffer."""
        return self.offset + self.size

    def __str__(self) -> str:
        place = f" at {self.offset}" if self.offset >= 0 else ""
        line = f"{_quote(self.name)}: {self.size} bytes{place}, live {self.start}..{self.end}"
        if self.alignment_bytes > 1:
            line += f", aligned to {self.alignment_bytes}"
        if self.pinned >= 0:
            line += f", pinned to {self.pinned}"
        if self.shares:
            line += f", shares {_quote(self.shares)}"
        if self.values and self.values != (self.name,):
            starts = self.starts or (0,) * len(self.values)
            line += ", holds " + " ".join(map(_held, self.values, starts))
        return line


@dataclass(frozen=True, slots=True)
class Block:
    """The unit of placement: a buffer, or all buffers that share an offset.

    `members` are the positions of the block's buffers in the problem. `alignment_bytes` is the
    largest alignment of the problem and of the buffers. `pinned` is a required offset, -1 if any
    offset is allowed.
    """

    members: tuple[int, ...]
    size: int
    start: int
    end: int
    alignment_bytes: int
    pinned: int = -1


def blocks_of(buffers: Iterable[Buffer], alignment_bytes: int = 1) -> list[Block]:
    """Return the blocks of a problem, in the order of their first buffers."""
    groups: dict[tuple[bool, str], list[int]] = {}
    rows = list(buffers)
    if not any(b.shares for b in rows):
        alignments = (max(alignment_bytes, b.alignment_bytes) for b in rows)
        return [
            Block((i,), b.size, b.start, b.end, alignment, b.pinned)
            for i, (b, alignment) in enumerate(zip(rows, alignments, strict=True))
        ]
    for i, b in enumerate(rows):
        groups.setdefault((bool(b.shares), b.shares or b.name), []).append(i)
    return [_block(tuple(members), rows, alignment_bytes) for members in groups.values()]


def _block(members: tuple[int, ...], rows: Sequence[Buffer], alignment_bytes: int) -> Block:
    first, *others = (rows[i] for i in members)
    size, start, end, pinned = first.size, first.start, first.end, first.pinned
    alignment_bytes = max(alignment_bytes, first.alignment_bytes)
    for b in others:
        size, start, end = max(size, b.size), min(start, b.start), max(end, b.end)
        alignment_bytes, pinned = max(alignment_bytes, b.alignment_bytes), max(pinned, b.pinned)
    return Block(members, size, start, end, alignment_bytes, pinned)


def live_bytes(blocks: Iterable[Block]) -> int:
    """Return the largest number of live bytes at one step."""
    change: dict[int, int] = {}
    for b in blocks:
        change[b.start] = change.get(b.start, 0) + b.size
        change[b.end] = change.get(b.end, 0) - b.size
    top = now = 0
    for step in sorted(change):
        now += change[step]
        top = max(top, now)
    return top


def aligned_bytes(blocks: Sequence[Block]) -> int:
    """Return a lower bound of every peak: the most live bytes at one step, including padding.

    Each live block except the topmost is padded to the smallest alignment. Since the topmost block
    is unknown, the block with the most padding is assumed to be topmost.
    """
    unit = min((b.alignment_bytes for b in blocks if b.size), default=1)
    if unit == 1:
        return live_bytes(blocks)
    whole = [(b, -(-b.size // unit) * unit) for b in blocks if b.size]
    change: dict[int, list[tuple[int, int]]] = {}
    for b, size in whole:
        change.setdefault(b.start, []).append((size, size - b.size))
        change.setdefault(b.end, []).append((-size, size - b.size))
    top = now = 0
    wasted: dict[int, int] = {}
    for step in sorted(change):
        for size, waste in change[step]:
            now += size
            wasted[waste] = wasted.get(waste, 0) + (1 if size > 0 else -1)
            if not wasted[waste]:
                del wasted[waste]
        if now > top:
            top = max(top, now - max(wasted))
    return top


@dataclass(frozen=True)
class Plan:
    """Buffers with their offsets in one arena. Units: bytes.

    `planner` names the planner, if known; comparisons of plans ignore this name.
    """

    buffers: tuple[Buffer, ...]
    alignment_bytes: int = ALIGNMENT_BYTES
    planner: str = field(default="", compare=False)

    @cached_property
    def peak_bytes(self) -> int:
        """Return the size of the arena; buffers without an offset are not counted."""
        return max((b.limit for b in self.buffers if b.size and b.offset >= 0), default=0)

    @cached_property
    def lower_bound_bytes(self) -> int:
        """Return a lower bound of all peaks: the most live bytes at one step, with alignment."""
        return aligned_bytes(blocks_of(self.buffers, self.alignment_bytes))

    @cached_property
    def unshared_bytes(self) -> int:
        """Return the size of an arena in which no two buffers share memory."""
        alone = (replace(b, start=0, end=1, shares="") for b in self.buffers)
        return aligned_bytes(blocks_of(alone, self.alignment_bytes))

    def offset_of(self, name: str) -> int:
        """Return the offset of a buffer. Errors: KeyError."""
        return self._by_name[name].offset

    @cached_property
    def _by_name(self) -> dict[str, Buffer]:
        return {b.name: b for b in self.buffers}

    def __str__(self) -> str:
        lines = [f"plan {self.peak_bytes} bytes, alignment {self.alignment_bytes} {{"]
        return "\n".join([*lines, *(f"  {b}" for b in self.buffers), "}"])


_SIMPLE = re.compile(r"[A-Za-z_][\w.]*\Z")


def _held(value: str, start: int) -> str:
    return f"{_quote(value)}@{start}" if start else _quote(value)


def _quote(name: str) -> str:
    return name if _SIMPLE.match(name) else json.dumps(name)
