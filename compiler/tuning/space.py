"""The search space of one computation: a schedule text with knobs.

The sketch, in Ansor's term (Zheng et al. 2020, arXiv:2006.06762), is the policy's schedule. The
knobs are the sketch's split factors, loop order, blocking, packing, prefetch distances, and the
number of elements that stages compute per iteration. A point assigns a setting to each knob, and
thus determines the text of a schedule. The space does not check legality: when the text is
replayed, the moves reject an illegal schedule.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from compiler.compute.computation import Computation, Stage
from compiler.dataclass import dataclass
from compiler.schedule.language.call import Call, Line, text_of
from compiler.schedule.language.replay import replay_lines
from compiler.schedule.language.text import parse_schedule
from compiler.schedule.nest import Nest
from compiler.targets.options import CodeOptions

Point = tuple[int, ...]
"""A point: for each knob, the index of its setting."""

UNROLLS = (1, 2, 4, 8, 16)
BLOCKS = (2, 4, 7, 8, 14, 16, 28)
PARTS = (8, 16, 32, 64, 128, 256)
"""Settings for the number of reduction steps between updates of partial sums in memory."""

TURNS = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128)
"""Settings for the number of elements that one iteration of a shared loop computes."""

AHEAD = (0.25, 0.5, 2.0, 4.0)
"""Settings for prefetch distances, relative to the policy's distance."""

MOST_ORDERS = 24
MOST_TILE = 32
"""The number of rows of the largest register tile; no machine has registers for more rows."""


@dataclass(frozen=True, slots=True)
class Knob:
    """One dimension of the space: its kind, its settings, and the policy's choice.

    `line` is the line of the sketch that the knob changes. The effect of a knob depends on its
    kind:

    - `factor` and `unroll` set the factor of a split.
    - `ahead` sets the distance of a prefetch.
    - `order` sets the loop order of a reorder.
    - `keep` decides whether the line is present.
    - `turn` sets the elements per iteration, in all lines that compute stages at the same loop.
      With 0, the stages have separate loops.
    - `block` splits a loop just before the reorder in `line`. The reorder then makes the block loop
      outermost, and operands of a block may stay in a cache.
    - `cache` blocks a reduction loop in the same way, but inside a given number of outer loops.
      Partial sums are then stored in memory.
    """

    kind: str
    line: int
    settings: tuple[Any, ...]
    default: int

    def __str__(self) -> str:
        return f"{self.kind}@{self.line}"


@dataclass(frozen=True)
class Space:
    """All points of one computation; the knobs of its sketch span the space.

    `nests` are the loop nests that the sketch schedules, in their original form.
    """

    lines: tuple[Line, ...]
    knobs: tuple[Knob, ...]
    nests: Mapping[str, Nest] = field(default_factory=dict)

    @property
    def default(self) -> Point:
        """Return the point of the policy's schedule."""
        return tuple(k.default for k in self.knobs)

    @property
    def size(self) -> int:
        """Return the number of points in the space."""
        n = 1
        for k in self.knobs:
            n *= len(k.settings)
        return n

    def random(self, chance: random.Random) -> Point:
        """Return a random point."""
        return tuple(chance.randrange(len(k.settings)) for k in self.knobs)

    def neighbour(self, point: Point, chance: random.Random) -> Point:
        """Return a point that differs in one knob; numeric settings usually change by one step."""
        turnable = [i for i, k in enumerate(self.knobs) if len(k.settings) > 1]
        if not turnable:
            return point
        i = chance.choice(turnable)
        n = len(self.knobs[i].settings)
        if self.knobs[i].kind in ("factor", "unroll") and chance.random() < 0.7:
            step = chance.choice((-1, 1))
            moved = min(max(point[i] + step, 0), n - 1)
            moved = moved if moved != point[i] else point[i] - step
        else:
            moved = (point[i] + chance.randrange(1, n)) % n
        return (*point[:i], moved, *point[i + 1 :])

    def cross(self, a: Point, b: Point, chance: random.Random) -> Point:
        """Return a point that takes each knob's setting at random from one of two points."""
        return tuple(chance.choice(pair) for pair in zip(a, b, strict=True))

    def points(self) -> Iterator[Point]:
        """Yield all points; the last knob changes fastest."""
        return itertools.product(*(range(len(k.settings)) for k in self.knobs))

    def setting(self, point: Point, knob: Knob) -> Any:
        """Return the setting of a knob at a point."""
        return knob.settings[point[self.knobs.index(knob)]]

    def rendered(self, point: Point) -> tuple[Line, ...]:
        """Return the lines of the schedule at a point."""
        made: list[tuple[Line, ...]] = [(line,) for line in self.lines]
        turned = [k for k in self.knobs if k.kind == "turn"]
        for knob, position in zip(self.knobs, point, strict=True):
            if knob in turned:
                continue  # Applied last: these knobs remove lines that other knobs change.
            (*before, line), setting = made[knob.line], knob.settings[position]
            match knob.kind:
                case "order":
                    made[knob.line] = (_with(line, *setting),)
                case "keep":
                    made[knob.line] = (line,) if setting else ()
                case "ahead":
                    tensor, loop, _, *shared = line.call.arguments
                    asking = _with(line, tensor, loop, setting, *shared)
                    made[knob.line] = (asking,) if setting else ()
                case "block" | "cache":
                    if setting:
                        made[knob.line] = (*before, *_parted(line, knob.kind, *setting))
                case _:
                    loop, _, outer, inner = line.call.arguments
                    made[knob.line] = (_with(line, loop, setting, outer, inner),)
        for knob in turned:
            setting = self.setting(point, knob)
            if setting != knob.settings[knob.default]:
                made = _turned(made, self.lines[knob.line].call, setting)
        return tuple(itertools.chain.from_iterable(made))

    def text(self, point: Point) -> str:
        """Return a point's schedule as text."""
        return text_of(self.rendered(point))


def _with(line: Line, *arguments: Any) -> Line:
    return replace(line, call=Call(line.call.move, tuple(arguments)))


def _parted(line: Line, kind: str, loop: str, size: int, place: int = 0) -> Iterator[Line]:
    """Yield the lines that split a loop into blocks and move the block loop outward."""
    outer, inner = f"{loop}b_", f"{loop}t_"
    order = [inner if v == loop else v for v in line.call.arguments]
    yield replace(line, call=Call("split", (loop, size, outer, inner)))
    yield _with(line, *order[:place], outer, *order[place:])
    if kind == "cache":
        yield replace(line, call=Call("cache_write", (outer,)))


def _turned(made: list[tuple[Line, ...]], call: Call, places: int) -> list[tuple[Line, ...]]:
    """Set the number of elements per iteration to `places` for all stages at the loop of `call`.

    Lines for remainder nests are removed from the sketch, because full blocks leave no remainder.
    """

    def turned(line: Line) -> tuple[Line, ...]:
        if line.call.arguments[:2] == call.arguments[:2] and line.call.move == call.move:
            number = (places,) if places > 1 else ()
            return (_with(line, *call.arguments[:2], *number),) if places else ()
        return () if "#" in line.nest else (line,)

    return [tuple(itertools.chain.from_iterable(map(turned, lines))) for lines in made]


def space_of(
    computation: Computation, constants: frozenset[str], schedule: str, options: CodeOptions
) -> Space:
    """Build the space around a policy's schedule of a computation.

    The sketch omits the policy's reasons, and the parallel loop, which is selected for each kernel
    separately.
    """
    lines = tuple(
        _with(x, *x.call.arguments) for x in parse_schedule(schedule) if x.call.move != "parallel"
    )
    nests: dict[str, Nest] = {}
    replay_lines(lines, computation, constants, options, nests)
    knobs = [*_turns(computation, lines)]
    for name, nest in nests.items():
        numbered = [(i, line.call) for i, line in enumerate(lines) if line.nest == name]
        knobs += _Sketch(nest, numbered).knobs()
    return Space(lines, tuple(k for k in knobs if len(k.settings) > 1), nests)


def _turns(computation: Computation, lines: Sequence[Line]) -> Iterator[Knob]:
    """Yield a knob for each loop that stages share: the number of elements per iteration."""
    seen: set[tuple[Any, ...]] = set()
    for i, line in enumerate(lines):
        stage, loop, *number = (*line.call.arguments, 1, 1)[:3]
        if line.call.move != "compute_at" or (stage, loop) in seen:
            continue
        seen.add((stage, loop))
        readers = (s for s in computation.stages if isinstance(s, Stage) and s.target == stage)
        extent = next((s.extents.get(str(loop)) for s in readers), None)
        if isinstance(extent, int):
            places = int(number[0])
            others = [n for n in TURNS if n < extent and extent % n == 0 and n != places]
            yield Knob("turn", i, (places, *others, 0), 0)


class _Sketch:
    """The schedule calls on one nest, and the length of each loop that these calls create."""

    def __init__(self, nest: Nest, calls: Sequence[tuple[int, Call]]) -> None:
        self.calls = calls
        self.extents = {a.var: a.size for a in nest.axes}
        self.reduced = {a.var for a in nest.reduced}
        self.unrolled = _named(calls, "unroll")
        self.vectors = _named(calls, "vectorize")
        self.lanes = _named(calls, "rfactor")
        self.split_of: dict[str, Call] = {}
        for _, call in calls:
            if call.move == "split":
                self.split_of[str(call.arguments[0])] = call
                self._split(call)
            elif call.move == "fuse":
                outer, inner, loop = map(str, call.arguments)
                self.extents[loop] = self.extents[outer] * self.extents[inner]
                self.reduced |= {loop} if outer in self.reduced else set()

    def _split(self, call: Call) -> None:
        loop, factor, outer, inner = (str(a) for a in call.arguments)
        n = self.extents.get(loop, 1)
        self.extents[outer], self.extents[inner] = -(-n // int(factor)), min(int(factor), n)
        self.reduced |= {outer, inner} if loop in self.reduced else set()

    def knobs(self) -> Iterator[Knob]:
        """Yield all knobs."""
        last = max((i for i, call in self.calls if call.move == "reorder"), default=-1)
        for line, call in self.calls:
            if call.move == "split" and len(call.arguments) == 4:
                yield from self._factor(line, call)
            elif line == last:
                yield from self._order(line, [str(a) for a in call.arguments])
            elif call.move == "pack":
                yield Knob("keep", line, (True, False), 0)
            elif call.move == "prefetch":
                distance = int(call.arguments[2])
                others = {max(int(distance * part), 1) for part in AHEAD} - {distance}
                yield Knob("ahead", line, (distance, *sorted(others), 0), 0)

    def _factor(self, line: int, call: Call) -> Iterator[Knob]:
        loop, factor, _, inner = call.arguments
        n = self.extents.get(str(loop), 1)
        within = self.split_of.get(str(inner))
        if within is not None and str(within.arguments[3]) in self.vectors:
            lanes = int(within.arguments[1])
            settings = [lanes * v for v in range(1, 17) if lanes * (v - 1) < n]
        elif inner in self.vectors:
            return
        elif inner in self.unrolled and loop in self.reduced and inner not in self.lanes:
            yield _numbers("unroll", line, (u for u in UNROLLS if n % u == 0), int(factor))
            return
        elif inner in self.unrolled:
            settings = list(range(1, min(n, MOST_TILE) + 1))
        else:
            return  # The size of a layout's block or of a group is not tunable.
        yield _numbers("factor", line, settings, int(factor))

    def _order(self, line: int, loops: list[str]) -> Iterator[Knob]:
        """Yield knobs for the loops outside the tile: their order, blocks, and reduction blocks."""
        fixed = self.unrolled | self.vectors | self.lanes
        head = [
            v for v in itertools.takewhile(lambda v: v not in self.reduced, loops) if v not in fixed
        ]
        middle = [v for v in loops[len(head) :] if v in self.reduced and v not in fixed]
        free = [v for v in head if self.extents.get(v, 1) > 1]
        inner = [v for v in middle if self.extents.get(v, 1) > 1]
        orders: list[list[str]] = []
        for points in itertools.permutations(free):
            for sums in itertools.permutations(inner):
                if len(free) > 1 or len(inner) > 1:
                    orders.append(_reordered(_reordered(loops, points), sums))
        others = [o for o in dict.fromkeys(map(tuple, orders)) if o != tuple(loops)]
        yield Knob("order", line, (tuple(loops), *others[: MOST_ORDERS - 1]), 0)
        blocks = [(v, b) for v in free[:3] for b in BLOCKS if 1 < b < self.extents[v]]
        if len(free) > 1:
            yield Knob("block", line, (None, *blocks), 0)
        if inner and head and not self.lanes and not _named(self.calls, "cache_write"):
            longest = max(inner, key=self.extents.__getitem__)
            sizes = [n for n in PARTS if n < self.extents[longest]]
            parts = [(longest, n, at) for n in sizes for at in range(len(head))]
            yield Knob("cache", line, (None, *parts), 0)


def _reordered(loops: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Reorder the `wanted` loops among their positions in `loops`; other loops stay in place."""
    order = iter(wanted)
    return [next(order) if v in wanted else v for v in loops]


def _numbers(kind: str, line: int, settings: Iterable[int], chosen: int) -> Knob:
    found = sorted({*settings, chosen})
    return Knob(kind, line, tuple(found), found.index(chosen))


def _named(calls: Iterable[tuple[int, Call]], move: str) -> set[str]:
    return {str(a) for _, call in calls if call.move == move for a in call.arguments}
