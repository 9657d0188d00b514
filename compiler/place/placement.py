"""A scheduler's decision: the device and the time of each task.

placement {
  cpu: a 0.0..2.0, c 3.5..4.0
  gpu: b 2.5..3.5
}
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import field

from compiler.dataclass import dataclass
from compiler.errors import CompileError, Where
from compiler.ir.text import quote


@dataclass(frozen=True, slots=True)
class Slot:
    """A task on a device from `start` to `end`, in seconds."""

    task: str
    device: str
    start: float
    end: float


@dataclass(frozen=True)
class Placement:
    """One slot per task, in the order of the tasks.

    `bound_seconds` is the scheduler's proven lower bound of the makespan of all schedules, or 0.
    Equality of placements ignores the bound and the notes.
    """

    slots: tuple[Slot, ...]
    bound_seconds: float = field(default=0.0, compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def orders(self) -> Mapping[str, tuple[str, ...]]:
        """Return the tasks of each device in the order of execution."""
        found: dict[str, list[str]] = {}
        numbered = sorted(enumerate(self.slots), key=lambda x: (x[1].start, x[1].end, x[0]))
        for _, s in numbered:
            found.setdefault(s.device, []).append(s.task)
        return {d: tuple(tasks) for d, tasks in found.items()}

    @property
    def end_seconds(self) -> float:
        """Return the end of the last task, by the scheduler's times."""
        return max((s.end for s in self.slots), default=0.0)

    def __str__(self) -> str:
        slot = {s.task: s for s in self.slots}
        lines = [
            f"  {quote(d)}: "
            + ", ".join(f"{quote(t)} {slot[t].start!r}..{slot[t].end!r}" for t in tasks)
            for d, tasks in sorted(self.orders.items())
        ]
        return "\n".join(["placement {", *lines, "}"])


_NAME = r'("(?:[^"\\\n]|\\.)*"|[A-Za-z0-9_][A-Za-z0-9_./\-]*)'
_LINE = re.compile(rf"\s*{_NAME}:\s*(.*)")
_SLOT = re.compile(rf"\s*{_NAME}\s+(\d[\d.e+-]*?)\.\.(\d[\d.e+-]*)\s*(?:,|$)")


def parse_placement(text: str, order: tuple[str, ...] = ()) -> Placement:
    """Parse a placement; `order` lists the tasks' names, by default in the order of the text.

    Errors: E-TASKS-TEXT with the line.
    """
    slots: dict[str, Slot] = {}
    lines = [(n, x.strip()) for n, x in enumerate(text.splitlines(), 1) if x.strip()]
    if len(lines) < 2 or lines[0][1] != "placement {" or lines[-1][1] != "}":
        raise CompileError("E-TASKS-TEXT", "expected a placement between `placement {` and `}`")
    for number, line in lines[1:-1]:
        where = Where("", number, 1)
        found = _LINE.fullmatch(line)
        rest = found[2] if found else ""
        while found and rest:
            slot = _SLOT.match(rest)
            made = _slot(found[1], slot) if slot else None
            if slot is None or made is None:
                break
            if made.task in slots:
                raise CompileError("E-TASKS-TEXT", f"{made.task!r} is listed twice", where=where)
            slots[made.task] = made
            rest = rest[slot.end() :]
        if not found or rest:
            raise CompileError("E-TASKS-TEXT", f"cannot read {rest or line!r:.60}", where=where)
    if order and set(order) != set(slots):
        raise CompileError("E-TASKS-TEXT", "the placement does not list the given tasks")
    return Placement(tuple(slots[t] for t in (order or slots)))


def _slot(device: str, match: re.Match[str]) -> Slot | None:
    """Parse one task of a line; return None for an unreadable name or time."""
    try:
        start, end = float(match[2]), float(match[3])
        return Slot(_plain(match[1]), _plain(device), start, end) if end < math.inf else None
    except ValueError:
        return None


def _plain(name: str) -> str:
    return json.loads(name) if name.startswith('"') else name
