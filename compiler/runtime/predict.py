"""Lower bounds of each kernel's time on a machine, and the limiting resource.

An operand's memory level is the smallest cache that holds all memory touched since the operand's
last use (stack distance, Mattson et al. 1970). Programs are assumed to run repeatedly, so weights
come from the level in which the previous run left them. Each operand counts once, regardless of the
number of reads. The measured time minus the bound is the loss of the schedule.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from compiler.ir.graph import Graph
from compiler.ir.types import TensorType, Type
from compiler.loops.nodes import Loop, stored_buffers, walk_statements
from compiler.machine.machine import Level, Machine
from compiler.machine.roofline import Prediction, Unit, predicted
from compiler.runtime.thunks.kernels import KernelInfo
from compiler.runtime.thunks.select import in_memory, view_source


def predictions(
    kernels: Sequence[KernelInfo],
    graph: Graph,
    arena_bytes: int,
    machine: Machine,
    overhead_seconds: float,
) -> dict[str, Prediction]:
    """Return, by name, predictions of all kernels of generated code, including nested kernels.

    The time of a kernel that contains other kernels is the sum of their times. `overhead_seconds`
    is the cost of a launch.
    """
    memory = _Memory(graph, arena_bytes, machine)
    launched = [k for k in kernels if not k.inside]
    for k in launched:
        memory.traffic(k)  # warm up: the caches' content after a previous run
    found = {
        k.name: predicted(k.flops, memory.traffic(k), machine, overhead_seconds, _unit(k))
        for k in launched
        if k.native and k.symbol
    }
    for k in kernels:
        if k.inside and k.native and k.symbol:
            traffic, seconds = _alone(k, machine), machine.launch_seconds
            found[k.name] = predicted(k.flops, traffic, machine, seconds, _unit(k))
    for k in reversed(kernels):
        inner = [found[i.name] for i in kernels if i.inside == k.name and i.name in found]
        if inner and k.name in found:
            found[k.name] = _together(inner, 0.0 if k.inside else overhead_seconds)
    return {k.name: found[k.name] for k in kernels if k.name in found}


def _together(inner: Sequence[Prediction], overhead_seconds: float) -> Prediction:
    """Combine predictions of sequential kernels; the longest kernel determines the limiting
    resource."""
    longest = max(inner, key=lambda p: p.seconds)
    traffic: dict[Level, float] = defaultdict(float)
    for level, nbytes in (item for p in inner for item in p.traffic.items()):
        traffic[level] += nbytes
    return replace(
        longest,
        seconds=sum(p.seconds for p in inner) + overhead_seconds,
        roof_seconds=sum(p.roof_seconds for p in inner),
        traffic=dict(traffic),
    )


def _unit(k: KernelInfo) -> Unit:
    """Return the unit that computes most of a kernel: the dot product unit for small types."""
    if k.loops is None:
        return "f32"
    loops = [s for s in walk_statements(k.loops.body) if isinstance(s, Loop)]
    names = stored_buffers(s for s in loops if s.kind == "dot")
    sums = {k.loops.buffers[n].dtype for n in names}
    if not sums:
        return "f32"
    in_tiles = any(s.kind == "tile" for s in loops)
    if any(t.is_float for t in sums):
        return "bf16_tiles" if in_tiles else "bf16"
    return "int8_tiles" if in_tiles else "int8"


def _alone(k: KernelInfo, machine: Machine) -> dict[Level, float]:
    """Return a kernel's traffic as if the smallest sufficient cache held all operands."""
    nbytes = k.bytes_read + k.bytes_written
    return {machine.level_of(nbytes): nbytes}


class _Memory:
    """The values that a program touches, the most recently used last."""

    def __init__(self, graph: Graph, arena_bytes: int, machine: Machine) -> None:
        self.machine = machine
        self.arena_bytes = arena_bytes
        self.types: Mapping[str, Type] = graph.types
        self.views = {n.output: s for n in graph.nodes if (s := view_source(n, graph)) is not None}
        outside = {*graph.constants, *(v.name for v in graph.inputs)}
        self.footprint = arena_bytes + sum(map(self._nbytes, outside & graph.types.keys()))
        self.recent: OrderedDict[str, int] = OrderedDict()

    def traffic(self, k: KernelInfo) -> dict[Level, float]:
        """Return a launch's bytes by memory level, and mark its values as most recently used."""
        values = dict.fromkeys(map(self._root, (*k.reads, *k.writes)))
        if not all(v in self.types and in_memory(self.types[v]) for v in values):
            return _alone(k, self.machine)
        reads, writes = self._trips(k.reads), self._trips(k.writes)
        # Results overwrite arena memory of earlier values.
        writes = {v: min(d, max(self.arena_bytes, self._nbytes(v))) for v, d in writes.items()}
        found: dict[Level, float] = defaultdict(float)
        for trips, counted in ((reads, k.bytes_read), (writes, k.bytes_written)):
            whole = sum(map(self._nbytes, trips))
            share = min(counted / whole, 1.0) if whole else 0.0
            for value, distance in trips.items():
                found[self.machine.level_of(distance)] += share * self._nbytes(value)
        for v in values:
            self.recent[v] = self._nbytes(v)
            self.recent.move_to_end(v)
        return dict(found)

    def _trips(self, values: Iterable[str]) -> dict[str, int]:
        """Return, for each value, the bytes touched since its last use, including its own bytes."""
        return {v: self._distance(v) for v in map(self._root, values)}

    def _distance(self, value: str) -> int:
        touched = self._nbytes(value)
        for other, nbytes in reversed(self.recent.items()):
            if other == value or touched >= self.footprint:
                return min(touched, self.footprint)
            touched += nbytes
        return self.footprint

    def _root(self, value: str) -> str:
        while value in self.views:
            value = self.views[value]
        return value

    def _nbytes(self, value: str) -> int:
        t = self.types[value]
        return t.nbytes if isinstance(t, TensorType) and in_memory(t) else 0
