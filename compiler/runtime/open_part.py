"""A part of a program for open sizes: compiled once, given places for each set of sizes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from compiler.codegen.module import Arg, Launch
from compiler.ir import affine
from compiler.ir import types as ty
from compiler.ir.affine import Expr
from compiler.ir.constant import Array
from compiler.ir.graph import Graph, Node, Value
from compiler.memory.in_place import overwritable
from compiler.memory.lifetimes import root_of
from compiler.runtime.arrange import Arrangement, Overwritable, arrange
from compiler.runtime.constants import ConstantPool, PackedConstant
from compiler.runtime.executable import (
    Executable,
    FallbackSegment,
    NativeSegment,
    Segment,
    Workspaces,
)
from compiler.runtime.native import Launchable
from compiler.runtime.select import FallbackWork, NativeWork, ViewWork, Work

OpenEntry = Callable[[int, int, int, int, int], None]
"""As `Entry`, with the address of the table of offsets and sizes."""

Place = tuple[str, int, str]
"""What a slot of the table holds: a value, a launch's temporary (by number and name), or a size."""


@dataclass
class OpenPart:
    """Works over one graph; `slots` numbers what the table of a run has to say.

    `first` is the number of the first launch among those of the program.
    """

    graph: Graph
    works: Sequence[Work]
    first: int
    slots: dict[Place, int]
    overwritten: Mapping[int, Overwritable]
    spaces: Workspaces
    sizes: dict[str, Expr] = field(default_factory=dict)

    @staticmethod
    def of(graph: Graph, works: Sequence[Work], first: int) -> OpenPart:
        """A part before its code is made."""
        kernels = [w.scheduled.kernel for w in works if isinstance(w, NativeWork)]
        known = {id(kernel): overwritable(kernel) for kernel in kernels}
        return OpenPart(graph, works, first, {}, known, Workspaces())

    @property
    def launched(self) -> list[Launchable]:
        """The works that do something, in order."""
        return [w for w in self.works if not isinstance(w, ViewWork)]

    def launches(
        self, symbols: Mapping[int, str], pool: ConstantPool, sample: Mapping[str, int]
    ) -> dict[int, Launch]:
        """The call of each native work by its number in the program, with slots for places.

        Which space a value lies in is the same for all sizes; `sample` are any.
        """
        _, _, arrangement = self.arranged(sample)
        found: dict[int, Launch] = {}
        for number, work in enumerate(self.launched):
            if isinstance(work, NativeWork):
                sizes = [self._size(work.lowered.sizes[n]) for n in kernel_sizes(work)]
                args = (
                    self._arg(number, work, p.name, p.role, arrangement, pool)
                    for p in work.scheduled.kernel.params
                )
                symbol = symbols[self.first + number]
                found[self.first + number] = Launch(symbol, tuple(args), tuple(sizes))
        return found

    def _arg(
        self,
        number: int,
        work: NativeWork,
        name: str,
        role: str,
        arrangement: Arrangement,
        pool: ConstantPool,
    ) -> Arg:
        if role == "temporary":
            return Arg("slot", self._slot(("scratch", number, name)))
        value = {**work.lowered.operands, **work.lowered.results}[name]
        if role == "constant":
            nbytes = int(work.scheduled.kernel.buffers[name].nbytes)
            packing = work.scheduled.packings.get(name)
            wanted = PackedConstant(self.graph.constants[value], packing, nbytes)
            return Arg("constants", pool.offset_of(wanted))
        place = arrangement.places[value]
        if place.space != "arena":
            return Arg(place.space, place.offset)
        return Arg("slot", self._slot(("value", 0, root_of(value, arrangement.views))))

    def _size(self, e: Expr) -> int:
        self.sizes[str(e)] = e
        return self._slot(("size", 0, str(e)))

    def _slot(self, place: Place) -> int:
        return self.slots.setdefault(place, len(self.slots))

    def arranged(self, sizes: Mapping[str, int]) -> tuple[Graph, list[Work], Arrangement]:
        """The graph and works with numbers for all sizes, and where their values lie."""
        graph = with_numbers(self.graph, sizes)
        nodes = {id(a): b for a, b in zip(self.graph.nodes, graph.nodes, strict=True)}
        works = [_with_numbers(w, nodes[id(w.node)], sizes) for w in self.works]
        return graph, works, arrange(graph, works, self.overwritten)

    def table(self, arrangement: Arrangement, sizes: Mapping[str, int]) -> list[int]:
        """What the code reads in a run: a number for every slot."""
        numbers = [0] * max(len(self.slots), 1)
        for (kind, number, name), slot in self.slots.items():
            if kind == "size":
                numbers[slot] = int(affine.substitute(self.sizes[name], sizes))
            elif kind == "scratch":
                numbers[slot] = arrangement.scratch[number, name]
            else:
                numbers[slot] = arrangement.places[name].offset
        return numbers

    def numbered(self, launches: Mapping[int, Launch], table: Sequence[int]) -> dict[int, Launch]:
        """The part's launches counted from 0, with what the slots of their calls say."""
        found: dict[int, Launch] = {}
        for number in range(len(self.launched)):
            call = launches.get(self.first + number)
            if call is not None:
                args = (
                    Arg("arena", table[a.offset]) if a.space == "slot" else a for a in call.args
                )
                sizes = (table[slot] for slot in call.sizes)
                found[number] = Launch(call.symbol, tuple(args), tuple(sizes))
        return found

    def executable(
        self,
        graph: Graph,
        works: Sequence[Work],
        arrangement: Arrangement,
        table: Sequence[int],
        entries: Sequence[tuple[OpenEntry | None, tuple[int, ...]]],
        constants: Array,
        keep: object,
    ) -> Executable:
        """What runs for these numbers; `entries` has the code of each group of launches."""
        memory = (ctypes.c_int64 * len(table))(*table)
        launched = [w for w in works if not isinstance(w, ViewWork)]
        segments: list[Segment] = []
        for entry, group in entries:
            if entry is None:
                segments.append(FallbackSegment(launched[group[0]].node, group))
            else:
                segments.append(NativeSegment(_bound(entry, ctypes.addressof(memory)), group))
        return Executable(graph, arrangement, segments, constants, (keep, memory), self.spaces)


def kernel_sizes(work: NativeWork) -> tuple[str, ...]:
    """The sizes that the work's kernel gets, in order."""
    return work.scheduled.kernel.sizes


def _bound(entry: OpenEntry, table: int) -> Callable[[int, int, int, int], None]:
    def call(arena: int, constants: int, inputs: int, outputs: int) -> None:
        entry(arena, constants, inputs, outputs, table)

    return call


def with_numbers(graph: Graph, sizes: Mapping[str, int]) -> Graph:
    """The graph with numbers in the types of its own values; regions are left as they are."""
    inputs = tuple(Value(v.name, ty.substitute(v.type, sizes)) for v in graph.inputs)
    nodes = tuple(_node(n, sizes) for n in graph.nodes)
    return replace(graph, inputs=inputs, nodes=nodes)


def _node(node: Node, sizes: Mapping[str, int]) -> Node:
    return replace(node, types=tuple(ty.substitute(t, sizes) for t in node.types))


def _with_numbers(work: Work, node: Node, sizes: Mapping[str, int]) -> Work:
    if isinstance(work, NativeWork):
        given = work.lowered.sizes
        own = {n: int(affine.substitute(given[n], sizes)) for n in kernel_sizes(work)}
        return NativeWork(node, work.lowered, work.scheduled, own)
    if isinstance(work, FallbackWork):
        return FallbackWork(node, work.because)
    assert isinstance(work, ViewWork), f"{node.name} has regions"
    return ViewWork(node, work.source)
