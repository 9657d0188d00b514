"""How long values live: from the order of launches, views and what may be computed in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from compiler.dataclass import dataclass
from compiler.memory.buffer import Buffer


@dataclass(frozen=True, slots=True)
class Step:
    """One launch: what it reads and writes, by value name.

    `scratch` names memory needed only during the launch, with its bytes. `may_overwrite` lists, for
    a written value, the operands over which it may be written: each element of them is read for the
    last time before the same element is stored.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    scratch: Mapping[str, int] = field(default_factory=dict)
    may_overwrite: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """The buffers a program needs, and in which buffer each value lies.

    `overwritten` gives, for a value computed in place, the value that was there before.
    """

    buffers: tuple[Buffer, ...]
    homes: Mapping[str, str]
    overwritten: Mapping[str, str]


def root_of(value: str, views: Mapping[str, str]) -> str:
    """The value whose memory a view shows; the value itself when it is no view."""
    while value in views:
        value = views[value]
    return value


def join_lifetimes(
    steps: Sequence[Step],
    sizes: Mapping[str, int],
    views: Mapping[str, str],
    *,
    in_place: bool = True,
    together: Sequence[tuple[int, int]] = (),
) -> Lifetimes:
    """One buffer per set of values that share memory: views, and values computed in place.

    `sizes` has the bytes of every value that lives in the arena; `views` maps a view to what it is
    a view of. Values without a size (the caller's arrays, constants) get no buffer. A value is
    computed in place of an operand of the same size that nothing reads later. Steps `first` to
    `end` of `together` run at the same time: what they touch lives during all of them.
    """
    first, last = _spans(steps, sizes, views)
    spans = {number: (a, b) for a, b in together for number in range(a, b)}
    first = {v: spans.get(n, (n, n))[0] for v, n in first.items()}
    last = {v: spans[n][1] - 1 if n in spans else n for v, n in last.items()}
    homes: dict[str, str] = {}
    overwritten: dict[str, str] = {}
    for number, step in enumerate(steps):
        for value in step.writes:
            if value not in sizes or value in homes:
                continue
            free = in_place and number not in spans
            victim = _victim(value, number, step, sizes, views, homes, last) if free else None
            if victim is None:
                homes[value] = value
                continue
            buffer = homes[value] = homes[victim]
            overwritten[value] = victim
            last[buffer] = max(last[buffer], last[value])
    homes.update({v: homes[r] for v in views if (r := root_of(v, views)) in homes})
    held: dict[str, list[str]] = {}
    for value, buffer in homes.items():
        held.setdefault(buffer, []).append(value)
    buffers = [
        Buffer(name, sizes[name], first[name], last[name] + 1, values=tuple(values))
        for name, values in held.items()
    ]
    buffers += [
        Buffer(name, size, *spans.get(number, (number, number + 1)), values=(name,))
        for number, step in enumerate(steps)
        for name, size in step.scratch.items()
    ]
    return Lifetimes(tuple(buffers), homes, overwritten)


def _spans(
    steps: Sequence[Step], sizes: Mapping[str, int], views: Mapping[str, str]
) -> tuple[dict[str, int], dict[str, int]]:
    """The step that writes each value, and the last one that touches it (its views included)."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for number, step in enumerate(steps):
        for value in step.reads:
            root = root_of(value, views)
            if root in sizes:
                assert root in first, f"step {number} reads {value!r} before it is written"
                last[root] = number
        for value in step.writes:
            if value in sizes:
                first.setdefault(value, number)
                last[value] = number
    return first, last


def _victim(
    value: str,
    number: int,
    step: Step,
    sizes: Mapping[str, int],
    views: Mapping[str, str],
    homes: Mapping[str, str],
    last: Mapping[str, int],
) -> str | None:
    """The operand whose memory a value may take over, if there is one."""
    taken = {homes[w] for w in step.writes if w in homes}
    for operand in step.may_overwrite.get(value, ()):
        root = root_of(operand, views)
        if root not in homes or sizes[root] != sizes[value]:
            continue
        buffer = homes[root]
        # `last` of the buffer covers everything computed in it so far.
        if buffer not in taken and last[buffer] == number:
            return root
    return None
