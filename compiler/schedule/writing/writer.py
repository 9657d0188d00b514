"""Emission of the parts of a computation as statements inside their shared loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from compiler.compute.computation import Computation, Routine, Stage
from compiler.compute.scalar import fetches
from compiler.dataclass import dataclass
from compiler.errors import require
from compiler.ir import affine
from compiler.ir.affine import Expr, Range
from compiler.ir.types import TensorType
from compiler.loops.nodes import Loop, Statement
from compiler.schedule.language.call import Line
from compiler.schedule.nest import Nest
from compiler.schedule.operands.packing import Packing
from compiler.schedule.stages.iterations import held_inside, inside, iterations_of
from compiler.schedule.stages.joining import FusedStages
from compiler.schedule.stages.tree import Group, Member
from compiler.schedule.writing.physical import nest_of
from compiler.schedule.writing.realize import Realizer
from compiler.schedule.writing.streaming import streamed, with_streams
from compiler.targets.options import CodeOptions

Shape = Callable[[str, Nest], Nest]
"""Applies moves to a nest; the first argument is the nest's name in a schedule's text."""


@dataclass(frozen=True, slots=True)
class Surrounding:
    """The context of parts: the enclosing loops, and the local tensor types.

    `held` are the temporaries that only the parts in this context read.
    """

    tensors: Mapping[str, TensorType]
    held: frozenset[str]
    packable: frozenset[str]
    around: Mapping[str, Range]


class Writer:
    """Emits the parts of one computation and collects the packings of their operands."""

    def __init__(self, computation: Computation, options: CodeOptions, shape: Shape) -> None:
        self.computation = computation
        self.options = options
        self.shape = shape
        self.realizer = Realizer()
        self.packings: dict[str, Packing] = {}
        self.shapes: dict[str, tuple[Expr, ...]] = {}
        """New shapes: of packed constants, and of temporaries reduced to one loop iteration."""
        self.lines: list[Line] = []
        self._zeroed: set[str] = set()
        self._named: dict[str, int] = {}
        self._taken = {a for s in computation.stages if isinstance(s, Stage) for a in s.extents}

    def outermost(self, packable: frozenset[str]) -> Surrounding:
        """Return the context outside all loops."""
        return Surrounding(
            self.computation.tensors, frozenset(self.computation.temporaries), packable, {}
        )

    def statements(self, members: Sequence[Member], where: Surrounding) -> tuple[Statement, ...]:
        """Emit nests and routines in order, inside their shared loops."""
        made: list[Statement] = []
        for m in members:
            match m:
                case Routine():
                    self._require_plain(m.read_tensors | m.stored_tensors)
                    made += m.statements
                case Group():
                    made += self._group(m, members, where)
                case _:
                    made += self._nest(m, where)
        return tuple(made)

    def _group(
        self, group: Group, members: Sequence[Member], where: Surrounding
    ) -> Iterator[Statement]:
        """Emit the loop of a group, and a loop for the remainder after full blocks."""
        var = self._fresh(f"{group.loop}_at")
        held = held_inside(group, members, where.held)
        iterations = list(iterations_of(group, var))
        # A constant that both loops read would need two packings.
        packable = where.packable if len(iterations) == 1 else frozenset[str]()
        # If sizes are constant, threads that share the outermost loop get private copies of the
        # temporaries that belong to one iteration.
        sizes = (n for t in held for n in where.tensors[t].dims)
        known = all(isinstance(n, int) for n in (group.extent, *sizes))
        shrink = self.options.threads == 1 or known or bool(where.around)
        for iteration, start, stop in iterations:
            inner, tensors = inside(group, held if shrink else {}, where.tensors, iteration)
            for t in held:
                self.shapes[t] = tensors[t].layout.physical_shape(tensors[t].dims)
            low, high = affine.bounds(start, {})[0], affine.last_of(stop)
            around = {**where.around, var: (low, max(low, high))}
            body = self.statements(inner, Surrounding(tensors, frozenset(held), packable, around))
            yield Loop(var, start, stop, body)

    def _nest(self, part: FusedStages, where: Surrounding) -> tuple[Statement, ...]:
        self._require_plain({f.tensor for s in part for f in fetches(s.value)})
        nests = [nest_of(stage, where.tensors, where.around) for stage in part]
        name = self._name(part[0].target)
        nest = self.shape(name, replace(reduce(Nest.joined, nests), packable=where.packable))
        if nest.target in self._zeroed:
            nest = nest.without_halo()
        self._zeroed.add(nest.target)
        self.packings.update(nest.packings)
        self.shapes.update((t, p.shape) for t, p in nest.packings.items())
        self.lines += [Line(name, call) for call in nest.moves]
        streams = streamed(nest, self.computation.outputs, self.options.target)
        return with_streams(self.realizer.realize(nest), streams)

    def _name(self, target: str) -> str:
        """Return the name of a nest: its target, with a number from the second writer on."""
        n = self._named[target] = self._named.get(target, 0) + 1
        return target if n == 1 else f"{target}#{n}"

    def _fresh(self, name: str) -> str:
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def _require_plain(self, tensors: set[str]) -> None:
        for name in sorted(tensors):
            require(
                self.computation.tensors[name].layout.is_plain,
                "E-SCHEDULE-MOVE",
                f"{name} is accessed at computed indices, and so needs a plain layout",
            )
