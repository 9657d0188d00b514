"""Kernel calls for open sizes: offsets, sizes and byte counts are read from a table per run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from compiler.codegen.module import Arg, Launch
from compiler.codegen.regions import Number, Slot
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.graph import Graph
from compiler.loops.nodes import Buffer
from compiler.ops.control_flow.loop_form import loop_form
from compiler.runtime.thunks.arrange import REGION, Arrangement
from compiler.runtime.thunks.constants import ConstantPool, PackedConstant
from compiler.runtime.thunks.native import Functions, Launchable
from compiler.runtime.thunks.regions import RegionPlan, RegionWriter
from compiler.runtime.thunks.select import NativeThunk, RegionThunk

Path = tuple[tuple[int, str], ...]
"""Path to a nested body: pairs of a launch number and the key of its region."""


@dataclass(frozen=True, slots=True)
class Place:
    """The arena offset of a value, of a launch's temporary, or of memory after region bodies."""

    inside: Path
    kind: str
    number: int
    name: str

    def offset(self, whole: Arrangement) -> int:
        """Return the arena offset of this place in an arrangement of the part. Units: bytes."""
        here = whole
        for number, key in self.inside:
            here = here.regions[number].bodies[key]
        if self.kind == "scratch":
            return here.scratch[self.number, self.name]
        if self.kind == "memory":
            return here.regions[self.number].offsets[self.name]
        return here.places[self.name].offset


@dataclass
class Slots:
    """The entries of a run's table: arena offsets, and numbers computed from sizes."""

    entries: dict[Place | Expr, int] = field(default_factory=dict)

    def of(self, entry: Place | Expr) -> int:
        """Return the position of an entry; append the entry if it is new."""
        return self.entries.setdefault(entry, len(self.entries))

    def table(self, arrangement: Arrangement, sizes: Mapping[str, int]) -> list[int]:
        """Return the table of a run: a number for each slot."""
        found = [
            e.offset(arrangement) if isinstance(e, Place) else int(affine.substitute(e, sizes))
            for e in self.entries
        ]
        return found or [0]


def kernel_sizes(thunk: NativeThunk) -> tuple[str, ...]:
    """Return the names of the kernel's size arguments, in order."""
    return thunk.scheduled.kernel.sizes


@dataclass
class OpenCaller:
    """Creates the kernel calls of one part, including calls inside regions.

    A value has the same memory space for all sizes, so a memory plan for arbitrary sizes determines
    this space.
    """

    made: Functions
    pool: ConstantPool
    writer: RegionWriter
    slots: Slots

    def launches(
        self,
        thunks: Sequence[Launchable],
        graph: Graph,
        arrangement: Arrangement,
        inside: Path = (),
    ) -> Iterator[tuple[int, Launch]]:
        """Yield the number and call of each native node; `thunks` has the code for all sizes."""
        for number, thunk in enumerate(thunks):
            one = _Call(self, number, graph, arrangement, inside)
            if isinstance(thunk, NativeThunk):
                yield number, one.kernel(thunk)
            elif isinstance(thunk, RegionThunk):
                yield number, one.region(thunk)


@dataclass(frozen=True)
class _Call:
    """Creates the call of one native node at a given position."""

    caller: OpenCaller
    number: int
    graph: Graph
    arrangement: Arrangement
    inside: Path

    def kernel(self, thunk: NativeThunk) -> Launch:
        kernel, slots = thunk.scheduled.kernel, self.caller.slots
        sizes = tuple(slots.of(thunk.lowered.sizes[n]) for n in kernel_sizes(thunk))
        args = tuple(self._arg(thunk, p) for p in kernel.params)
        return Launch(self.caller.made.symbol_of(kernel), args, sizes)

    def _arg(self, thunk: NativeThunk, parameter: Buffer) -> Arg:
        name = parameter.name
        if parameter.role == "temporary":
            return self._slot("scratch", name)
        value = {**thunk.lowered.operands, **thunk.lowered.results}[name]
        if parameter.role != "constant":
            return self.place(value)
        packing = thunk.scheduled.packings.get(name)
        nbytes = int(thunk.scheduled.kernel.buffers[name].nbytes)
        wanted = PackedConstant(self.graph.constants[value], packing, nbytes)
        return Arg("constants", self.caller.pool.offset_of(wanted))

    def region(self, thunk: RegionThunk) -> Launch:
        plan = self.arrangement.regions[self.number]
        form = loop_form(thunk.node, self.graph) if plan.form is not None else None
        assert not isinstance(form, str), form
        symbol = self.caller.writer.write(
            replace(plan, thunk=thunk, form=form), self.graph, _Open(self, thunk, plan)
        )
        values = [*thunk.operands, *filter(None, thunk.node.outputs)]
        places = (self._plain(v) for v in values)
        table = Arg("table", 0)
        memory = self._slot("scratch", REGION)
        return Launch(symbol, (memory, Arg("constants", 0), *places, table))

    def _plain(self, value: str) -> Arg:
        constant = self.graph.constants.get(value)
        if constant is None:
            return self.place(value)
        wanted = PackedConstant(constant, None, constant.type.nbytes)
        return Arg("constants", self.caller.pool.offset_of(wanted))

    def place(self, value: str) -> Arg:
        """Return the memory space and offset of a value other than a constant."""
        place = self.arrangement.places[value]
        if place.space != "arena":
            return Arg(place.space, place.offset)
        root = self.arrangement.views.below(value)
        return Arg("slot", self.caller.slots.of(Place(self.inside, "value", 0, root)))

    def _slot(self, kind: str, name: str) -> Arg:
        return Arg("slot", self.caller.slots.of(Place(self.inside, kind, self.number, name)))


@dataclass(frozen=True)
class _Open:
    """The calls, places and numbers of one region's functions; `call` launches the region."""

    call: _Call
    thunk: RegionThunk
    plan: RegionPlan
    is_open: bool = True

    def launches(self, key: str) -> list[Launch]:
        body, inside = self.thunk.bodies[key], (*self.call.inside, (self.call.number, key))
        found = self.call.caller.launches(
            body.launches(), body.graph, self.plan.bodies[key], inside
        )
        return [launch for _, launch in found]

    def place(self, key: str, value: str) -> Arg:
        body, inside = self.thunk.bodies[key], (*self.call.inside, (self.call.number, key))
        return _Call(self.call.caller, 0, body.graph, self.plan.bodies[key], inside).place(value)

    def memory(self, name: str) -> Number:
        place = Place(self.call.inside, "memory", self.call.number, name)
        return Slot(self.call.caller.slots.of(place))

    def number(self, e: Expr) -> Number:
        return e if isinstance(e, int) else Slot(self.call.caller.slots.of(e))
