"""A part of a program for open sizes: compiled once, with memory arranged for each set of sizes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from compiler.codegen.module import Arg, Launch
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir import types as ty
from compiler.ir.constant import Array
from compiler.ir.graph import Graph, Node, Value
from compiler.ir.infer import with_sizes
from compiler.memory.in_place import overwritable
from compiler.runtime.executable import (
    Executable,
    FallbackSegment,
    NativeSegment,
    Segment,
)
from compiler.runtime.frame import Workspaces
from compiler.runtime.open.calls import OpenCaller, Slots, kernel_sizes
from compiler.runtime.open.cut import outer_name
from compiler.runtime.open.sizes import require_consistent, require_fitting
from compiler.runtime.thunks.arrange import Arrangement, Overwritable, arrange
from compiler.runtime.thunks.constants import ConstantPool
from compiler.runtime.thunks.native import Functions, Launchable
from compiler.runtime.thunks.regions import RegionWriter
from compiler.runtime.thunks.select import (
    Body,
    CutThunk,
    FallbackThunk,
    JoinThunk,
    NativeThunk,
    RegionThunk,
    Thunk,
    Unlaunched,
    ViewThunk,
    bodies,
    inner_thunks,
)

OpenEntry = Callable[[int, int, int, int, int], None]
"""A function like `Entry`, with the address of the table of offsets and sizes as last argument."""

Table = ctypes.Array[ctypes.c_int64]
"""The offsets and sizes of a run, as the code reads them."""


@dataclass(frozen=True, slots=True)
class Sized:
    """A part with numbers for its sizes: its graph, implementations, and the places of values."""

    sizes: Mapping[str, int]
    graph: Graph
    thunks: Sequence[Thunk]
    arrangement: Arrangement


@dataclass
class OpenPart:
    """The implementations of one part's nodes; `slots` defines the table of a run.

    `first` is the number of the part's first launch among the launches of the program.
    """

    graph: Graph
    thunks: Sequence[Thunk]
    first: int
    slots: Slots
    overwritten: dict[int, Overwritable]
    spaces: Workspaces

    @staticmethod
    def of(graph: Graph, thunks: Sequence[Thunk], first: int) -> OpenPart:
        """Create a part before its code is generated."""
        kernels = [w.scheduled.kernel for w in inner_thunks(thunks)]
        known: dict[int, Overwritable] = {id(kernel): overwritable(kernel) for kernel in kernels}
        return OpenPart(graph, thunks, first, Slots(), known, Workspaces())

    @cached_property
    def reads(self) -> tuple[tuple[str, str], ...]:
        """Return each input's name, with the name of its value in the original graph."""
        return tuple((v.name, outer_name(v.name)) for v in self.graph.inputs)

    @cached_property
    def gives(self) -> tuple[tuple[str, str], ...]:
        """Return each value that other parts read, with its name among this part's results."""
        return tuple((r.value, r.name) for r in self.graph.results)

    @property
    def launched(self) -> list[Launchable]:
        """Return the implementations that are launches or fallbacks, in order."""
        return [w for w in self.thunks if not isinstance(w, Unlaunched)]

    def launches(
        self, made: Functions, pool: ConstantPool, writer: RegionWriter, sample: Sized
    ) -> dict[int, Launch]:
        """Return the native calls, by launch number in the program; their offsets are slots.

        `sample` is the part with arbitrary sizes.
        """
        caller = OpenCaller(made, pool, writer, self.slots)
        found = caller.launches(self.launched, self.graph, sample.arrangement)
        return {self.first + number: launch for number, launch in found}

    def sized(self, sizes: Mapping[str, int]) -> Sized:
        """Return the part with numbers for its sizes."""
        graph, thunks = _numbered(self.graph, self.thunks, sizes)
        return Sized(sizes, graph, thunks, arrange(graph, thunks, self.overwritten))

    def fitted(self, sizes: Mapping[str, int]) -> Sized:
        """Check the sizes, and return the part with these numbers for its sizes.

        Errors: those of type rules for inconsistent sizes; NotDetermined if a node's body does not
        accept the sizes, or if a recorded type is wrong.
        """
        graph, thunks = _numbered(self.graph, self.thunks, sizes)
        require_consistent(graph)
        for body in bodies(thunks):
            require_fitting(body.graph)
        return Sized(sizes, graph, thunks, arrange(graph, thunks, self.overwritten))

    def numbered(self, launches: Mapping[int, Launch], table: Table) -> dict[int, Launch]:
        """Return the part's launches counted from 0, with slots replaced by their values.

        The argument for the table is its address, which is valid as long as the table exists.
        """
        known = {"table": ctypes.addressof(table)}
        found: dict[int, Launch] = {}
        for number in range(len(self.launched)):
            call = launches.get(self.first + number)
            if call is not None:
                args = (
                    Arg("arena", table[a.offset])
                    if a.space == "slot"
                    else Arg(a.space, known.get(a.space, a.offset))
                    for a in call.args
                )
                sizes = (table[slot] for slot in call.sizes)
                found[number] = Launch(call.symbol, tuple(args), tuple(sizes))
        return found

    def table(self, sized: Sized) -> Table:
        """Return the table of a run."""
        numbers = self.slots.table(sized.arrangement, sized.sizes)
        return (ctypes.c_int64 * len(numbers))(*numbers)

    def executable(
        self,
        sized: Sized,
        table: Table,
        entries: Sequence[tuple[OpenEntry | None, tuple[int, ...]]],
        constants: Array,
        keep: object,
    ) -> Executable:
        """Return the executable for these numbers; `entries` has the code of each launch group."""
        launched = [w for w in sized.thunks if not isinstance(w, Unlaunched)]
        segments: list[Segment] = []
        for entry, group in entries:
            if entry is None:
                segments.append(FallbackSegment(launched[group[0]].node, group))
            else:
                segments.append(NativeSegment(_bound(entry, ctypes.addressof(table)), group))
        graph, arrangement = sized.graph, sized.arrangement
        return Executable(graph, arrangement, segments, constants, (keep, table), self.spaces)


def _bound(entry: OpenEntry, table: int) -> Callable[[int, int, int, int], None]:
    def call(arena: int, constants: int, inputs: int, outputs: int) -> None:
        entry(arena, constants, inputs, outputs, table)

    return call


def with_numbers(graph: Graph, sizes: Mapping[str, int]) -> Graph:
    """Return the graph with numbers for sizes in the types of its values; regions are unchanged."""
    inputs = tuple(Value(v.name, ty.substitute(v.type, sizes)) for v in graph.inputs)
    nodes = tuple(_node(n, sizes) for n in graph.nodes)
    return replace(graph, inputs=inputs, nodes=nodes)


def _node(node: Node, sizes: Mapping[str, int]) -> Node:
    return replace(node, types=tuple(ty.substitute(t, sizes) for t in node.types))


def _with_numbers(thunk: Thunk, node: Node, sizes: Mapping[str, int]) -> Thunk:
    match thunk:
        case NativeThunk():
            given = thunk.lowered.sizes
            own = {n: int(affine.substitute(given[n], sizes)) for n in kernel_sizes(thunk)}
            return NativeThunk(node, thunk.lowered, thunk.scheduled, own)
        case FallbackThunk():
            return FallbackThunk(node, thunk.because)
        case ViewThunk():
            return ViewThunk(node, thunk.source)
        case RegionThunk():
            bodies = {k: _body_with_numbers(b, sizes) for k, b in thunk.bodies.items()}
            return RegionThunk(with_sizes(thunk.node, sizes), bodies)
        case CutThunk() | JoinThunk():
            raise AssertionError(f"{node.output}: offsets of parts depend on open sizes")


def _body_with_numbers(body: Body, sizes: Mapping[str, int]) -> Body:
    graph, thunks = _numbered(body.graph, body.thunks, sizes)
    return Body(graph, body.captured, tuple(thunks))


def _numbered(
    graph: Graph, thunks: Sequence[Thunk], sizes: Mapping[str, int]
) -> tuple[Graph, list[Thunk]]:
    numbered = with_numbers(graph, sizes)
    nodes = {id(a): b for a, b in zip(graph.nodes, numbered.nodes, strict=True)}
    return numbered, [_with_numbers(w, nodes[id(w.node)], sizes) for w in thunks]
