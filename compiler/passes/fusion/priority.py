"""Fusion of producers into all of their readers, in order of decreasing time saved.

Source: XLA, xla/service/gpu/transforms/priority_fusion.cc. A priority queue orders the producers by
the time that their fusion saves according to the cost model. Each fusion updates the priorities of
its neighbours.
"""

from __future__ import annotations

import heapq

from compiler.ir.graph import Node
from compiler.ir.types import TensorType
from compiler.passes.engine.cost import traffic_text
from compiler.passes.fusion.fits import why_not_into
from compiler.passes.fusion.kinds import EXPENSIVE
from compiler.passes.fusion.policy import Limits
from compiler.passes.fusion.units import Unit, Units
from compiler.trace import Log
from compiler.units import count_text

MOST_COPIES = 8
"""Limit on the number of readers into which a node is duplicated."""

MOST_COPIED = 4
"""Largest number of nodes of a duplicated kernel."""


class Priorities:
    """The priority queue of producers, and the reasons against fusing other producers."""

    def __init__(self, units: Units, limits: Limits, log: Log) -> None:
        self.units, self.limits, self.log = units, limits, log
        self.kept_apart: dict[str, str] = {}
        self._queue: list[tuple[float, int, int, Unit]] = []
        self._version: dict[Unit, int] = {}
        self._may: dict[str, bool] = {}
        self._n = 0

    def run(self) -> None:
        """Fuse until no producer saves time."""
        for unit in self.units.all():
            self._weigh(unit)
        while self._queue:
            _, _, version, unit = heapq.heappop(self._queue)
            if self._version.get(unit) != version:
                continue
            readers = self._readers(unit)
            if readers and (len(readers) == 1 or self._may_copy(unit)):
                self._fuse(unit, readers)

    def _weigh(self, unit: Unit) -> None:
        """Enqueue a unit with the time in seconds that its fusion saves in the current graph."""
        self._n += 1
        self._version[unit] = self._n
        readers = self._readers(unit)
        saved = self._saved(unit, readers) if readers else 0.0
        if saved > 0:
            heapq.heappush(self._queue, (-saved, unit.order, self._n, unit))
        elif readers:
            self._keep(
                unit, f"the cost model predicts no gain from computing {unit.last} in its readers"
            )

    def _keep(self, unit: Unit, reason: str) -> list[Unit]:
        self.kept_apart.update((n, reason) for n in unit.names)
        return []

    def _readers(self, unit: Unit) -> list[Unit]:
        """Return the readers of a unit if it can fuse into all of them, else record the reason."""
        units = self.units
        if unit.alone or unit.kind == "other" or units.has_many_readers(unit):
            return []
        readers = units.readers(unit)
        results = [n for n in unit.names if n in units.graph.result_values]
        if results:
            return self._keep(unit, f"{results[0]} is also a result of the graph")
        if len(readers) > 1:
            reason = self._why_not_copied(unit, readers)
            if reason:
                return self._keep(unit, reason)
        for r in readers:
            reason = why_not_into(units, unit, r, self.limits.max_nodes, is_copy=len(readers) > 1)
            if reason:
                where = f"a producer fuses into all readers or none, but cannot into {r.last}: "
                return self._keep(unit, f"{where}{reason}" if len(readers) > 1 else "")
        return readers

    def _why_not_copied(self, unit: Unit, readers: list[Unit]) -> str:
        """Return the reason against duplicating a unit into several readers, or ""."""
        shown = ", ".join(r.last for r in readers[:3]) + (", ..." if len(readers) > 3 else "")
        if not self.limits.duplicate:
            return f"{unit.last} has several readers ({shown}), and duplication is disabled"
        if len(readers) > MOST_COPIES or len(unit.names) > MOST_COPIED:
            n_nodes = count_text(len(unit.names), "node")
            where = f"each of {len(readers)} kernels ({shown})"
            return f"{unit.last} takes {n_nodes}, which would run in {where}"
        nodes = self.units.nodes(unit)
        expensive = next((n for n in nodes if n.op in EXPENSIVE or unit.anchors), None)
        if expensive is not None:
            return (
                f"{expensive.op} is expensive: computing {unit.last} in each of {shown} repeats "
                f"{unit.flops:,} operations"
            )
        return ""

    def _may_copy(self, unit: Unit) -> bool:
        if unit.last not in self._may:
            self._may[unit.last] = self.log.may("copy_cheap_producer", unit.last)
        if not self._may[unit.last]:
            self._keep(unit, f"copies of {unit.last} are disabled for this compilation")
        return self._may[unit.last]

    def _saved(self, unit: Unit, readers: list[Unit]) -> float:
        """Return the time in seconds saved by computing a unit in each of its readers."""
        units = self.units
        reads, makes = units.operands(unit), set(units.values(unit))
        stored = units.stored(unit)
        saved = units.seconds(unit.flops, reads, stored)
        for r in readers:
            before, written = units.operands(r), units.stored(r)
            after = dict.fromkeys([*reads, *(v for v in before if v not in makes)])
            saved += units.seconds(r.flops, before, written)
            saved -= units.seconds(unit.flops + r.flops, after, written)
        return saved

    def _fuse(self, unit: Unit, readers: list[Unit]) -> None:
        units = self.units
        sources = units.sources(unit)
        copied: dict[str, list[Node]] = {n: [units.made[n]] for n in unit.names}
        for r in readers[1:]:
            for name, copy in units.copy_into(unit, r).items():
                copied[name].append(copy)
        self._log(unit, copied, readers)
        made = units.absorb(unit, readers[0])
        self._version.pop(unit, None)
        touched = dict.fromkeys([*sources, *(s for r in readers for s in units.sources(r))])
        for u in [*touched, made, *readers[1:]]:
            if u is not unit:
                self._weigh(u)

    def _log(self, unit: Unit, copied: dict[str, list[Node]], readers: list[Unit]) -> None:
        if len(readers) == 1:
            return
        for name, nodes in copied.items():
            t = nodes[0].type
            nbytes = t.assumed.nbytes if isinstance(t, TensorType) else 0
            because = (
                f"computed in each of its {len(readers)} readers; "
                f"{traffic_text(nbytes * (1 + len(readers)))}, and repeats {unit.flops:,} "
                "operations"
            )
            self.log.applied("copy_cheap_producer", name, because, nodes[:1], nodes)
