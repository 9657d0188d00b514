"""How long values live: from the order of launches, views and what may be computed in place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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


NOT_SIDE_BY_SIDE: Mapping[int, int] = {}


def join_lifetimes(
    steps: Sequence[Step],
    sizes: Mapping[str, int],
    views: Mapping[str, str],
    *,
    in_place: bool = True,
    until: Mapping[int, int] = NOT_SIDE_BY_SIDE,
) -> Lifetimes:
    """One buffer per set of values that share memory: views, and values computed in place.

    `sizes` has the bytes of every value that lives in the arena; `views` maps a view to what it is
    a view of. Values without a size (the caller's arrays, constants) get no buffer. A value is
    computed in place of an operand of the same size that nothing reads later. `until` has, by step
    that runs side by side with others, the last one that may begin before it has ended.
    """
    users = _users(steps, sizes, views)

    def lasts(number: int) -> int:
        return until.get(number, number)

    def ended(value: str, number: int) -> bool:
        """Whether nobody else needs a value when a step begins that reads it, and so waits for the
        one that makes it."""
        others = users[value] - {number, min(users[value])}
        return number in users[value] and all(lasts(u) < number for u in others)

    homes: dict[str, str] = {}
    overwritten: dict[str, str] = {}
    for number, step in enumerate(steps):
        for value in step.writes:
            if value not in sizes or value in homes:
                continue
            victim = _victim(value, number, step, sizes, views, homes, ended) if in_place else None
            if victim is None:
                homes[value] = value
                continue
            homes[value] = homes[victim]
            overwritten[value] = victim
    homes.update({v: homes[r] for v in views if (r := root_of(v, views)) in homes})
    # A place is free for what is made when all that used it has surely ended.
    ends = {v: max(map(lasts, used)) + 1 for v, used in users.items()}
    held: dict[str, list[str]] = {}
    for value, buffer in homes.items():
        held.setdefault(buffer, []).append(value)
    buffers = [
        Buffer(
            name,
            sizes[name],
            min(users[name]),
            max(ends.get(v, 0) for v in values),
            values=tuple(values),
        )
        for name, values in held.items()
    ]
    buffers += [
        Buffer(name, size, number, lasts(number) + 1, values=(name,))
        for number, step in enumerate(steps)
        for name, size in step.scratch.items()
    ]
    return Lifetimes(tuple(buffers), homes, overwritten)


def _users(
    steps: Sequence[Step], sizes: Mapping[str, int], views: Mapping[str, str]
) -> dict[str, set[int]]:
    """The steps that touch each value (its views included): the one that writes it is the first."""
    users: dict[str, set[int]] = {}
    for number, step in enumerate(steps):
        for value in step.reads:
            root = root_of(value, views)
            if root in sizes:
                assert root in users, f"step {number} reads {value!r} before it is written"
                users[root].add(number)
        for value in step.writes:
            if value in sizes:
                users.setdefault(value, set()).add(number)
    return users


def _victim(
    value: str,
    number: int,
    step: Step,
    sizes: Mapping[str, int],
    views: Mapping[str, str],
    homes: Mapping[str, str],
    ended: Callable[[str, int], bool],
) -> str | None:
    """The operand whose memory a value may take over, if there is one."""
    taken = {homes[w] for w in step.writes if w in homes}
    for operand in step.may_overwrite.get(value, ()):
        root = root_of(operand, views)
        if root not in homes or sizes[root] != sizes[value]:
            continue
        if homes[root] not in taken and ended(root, number):
            return root
    return None
