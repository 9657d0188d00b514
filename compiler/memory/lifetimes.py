"""Lifetimes of values, derived from the order of launches, views, and in-place results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from compiler.dataclass import dataclass
from compiler.memory.buffer import Buffer
from compiler.memory.views import NO_VIEWS, Views


@dataclass(frozen=True, slots=True)
class Step:
    """One launch: the values that it reads and writes, by name.

    `scratch` maps each temporary buffer of the launch to its size in bytes. `may_overwrite` maps a
    written value to the operands that it may overwrite. Before the launch stores to an address of
    such an operand, it has read the element there for the last time.
    """

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    scratch: Mapping[str, int] = field(default_factory=dict)
    may_overwrite: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """The buffers that a program needs, and the buffer of each value.

    `starts` has the offsets of values that are not at the start of their buffer. `overwritten` maps
    each value computed in place to the value that it overwrites.
    """

    buffers: tuple[Buffer, ...]
    homes: Mapping[str, str]
    starts: Mapping[str, int]
    overwritten: Mapping[str, str]


NOT_SIDE_BY_SIDE: Mapping[int, int] = {}


def join_lifetimes(
    steps: Sequence[Step],
    sizes: Mapping[str, int],
    views: Views = NO_VIEWS,
    *,
    in_place: bool = True,
    until: Mapping[int, int] = NOT_SIDE_BY_SIDE,
) -> Lifetimes:
    """Compute one buffer per set of values that share memory: views, parts, in-place results.

    `sizes` has the bytes of each written value in the arena. Values without a size (the caller's
    arrays, constants) get no buffer. A result overwrites an operand in place if the operand has the
    same size and no later readers. A joined value (a concatenation) is live from the first write of
    one of its parts. `until` describes steps that run concurrently with later steps: it maps a
    step s to the last step that may start before s ends.
    """
    uses = _Uses.of(steps, sizes, views, until)
    homes, overwritten = _homes(steps, sizes, uses, in_place)
    starts = {v: start for v in homes if (start := views.home(v)[1])}
    held: dict[str, list[str]] = {}
    for value, buffer in homes.items():
        held.setdefault(buffer, []).append(value)
    buffers = [
        Buffer(
            name,
            views.size_in(name, sizes),
            min(uses.users[name]),
            max(uses.end(v) for v in values),
            values=tuple(values),
            starts=tuple(starts.get(v, 0) for v in values) if starts.keys() & values else (),
        )
        for name, values in held.items()
    ]
    buffers += [
        Buffer(name, size, number, uses.last(number) + 1, values=(name,))
        for number, step in enumerate(steps)
        for name, size in step.scratch.items()
    ]
    return Lifetimes(tuple(buffers), homes, starts, overwritten)


@dataclass(frozen=True, slots=True)
class _Uses:
    """The steps that use each buffer, and the step that first writes each value.

    A buffer has the name of the value that owns its memory.
    """

    users: Mapping[str, set[int]]
    writers: Mapping[str, int]
    views: Views
    until: Mapping[int, int]

    @staticmethod
    def of(
        steps: Sequence[Step], sizes: Mapping[str, int], views: Views, until: Mapping[int, int]
    ) -> _Uses:
        """Collect the uses of values that have a size."""
        users: dict[str, set[int]] = {}
        writers: dict[str, int] = {}
        for number, step in enumerate(steps):
            for value in step.reads:
                for root in views.roots(value):
                    if root in sizes:
                        assert root in writers, (
                            f"step {number} reads {value!r} before it is written"
                        )
                        users[views.home(root)[0]].add(number)
            for value in step.writes:
                if value in sizes:
                    writers.setdefault(value, number)
                    users.setdefault(views.home(value)[0], set()).add(number)
        return _Uses(users, writers, views, until)

    def last(self, number: int) -> int:
        """Return the last step that may start before step `number` has ended."""
        return self.until.get(number, number)

    def end(self, value: str) -> int:
        """Return the first step that starts after all uses of a value's memory have ended."""
        return max(map(self.last, self.users.get(value, ())), default=-1) + 1

    def have_ended(self, value: str, number: int) -> bool:
        """Return whether no other step needs a value's memory when step `number` starts.

        The steps that write the value do not count: step `number` reads the value, so it waits for
        them.
        """
        used = self.users[self.views.home(value)[0]]
        others = used - {number, *(self.writers[root] for root in self.views.roots(value))}
        return number in used and all(self.last(u) < number for u in others)


def _homes(
    steps: Sequence[Step], sizes: Mapping[str, int], uses: _Uses, in_place: bool
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the memory owner of each value, and the value overwritten by each in-place result."""
    views = uses.views
    homes: dict[str, str] = {}
    overwritten: dict[str, str] = {}
    for number, step in enumerate(steps):
        for value in step.writes:
            if value not in sizes or value in homes:
                continue
            owner, _ = views.home(value)
            free = in_place and owner == value
            victim = _victim(value, number, step, sizes, uses, homes) if free else None
            if victim is None:
                homes[value] = homes[owner] = owner
                continue
            homes[value] = homes[victim]
            overwritten[value] = victim
    for value in views:
        if all(root in homes for root in views.roots(value)):
            homes[value] = homes[views.home(value)[0]]
    return homes, overwritten


def _victim(
    value: str,
    number: int,
    step: Step,
    sizes: Mapping[str, int],
    uses: _Uses,
    homes: Mapping[str, str],
) -> str | None:
    """Return the owner of the memory that a result overwrites in place; None if there is none."""
    views = uses.views
    taken = {homes[w] for w in step.writes if w in homes}
    operands = step.may_overwrite.get(value, ())
    for operand in operands:
        if not has_own_memory(operand, sizes[value], sizes, views):
            continue
        owner, _ = views.home(operand)
        if homes[owner] in taken or not uses.have_ended(operand, number):
            continue
        if not is_read_besides(operand, operands, step, views):
            return owner
    return None


def has_own_memory(operand: str, size: int, sizes: Mapping[str, int], views: Views) -> bool:
    """Return whether an operand fills its owner's arena memory, which has exactly `size` bytes."""
    if any(root not in sizes for root in views.roots(operand)):
        return False
    owner, _ = views.home(operand)
    return views.size_in(operand, sizes) == views.size_in(owner, sizes) == size


def is_read_besides(operand: str, safe: Sequence[str], step: Step, views: Views) -> bool:
    """Return whether a step also reads an operand's bytes through a value not listed in `safe`."""
    return views.meets(operand, (r for r in step.reads if r not in safe))
