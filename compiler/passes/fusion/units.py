"""Kernels under construction: nodes, operands, stored values, and topological order.

Unlike groups grown from anchors, units may have several outputs, so a path may leave and re-enter a
unit. Each merge updates the topological order incrementally with the algorithm of Pearce and Kelly
(2006, dynamic topological sort). Two units with a path through a third unit are never merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from compiler.dataclass import dataclass
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import Cost
from compiler.ir.types import TensorType
from compiler.passes.engine.cost import CORE, node_cost
from compiler.passes.fusion.kinds import is_contraction, is_elementwise, is_reduction, why_alone
from compiler.passes.fusion.policy import Group

MOST_READERS = 64
"""Largest number of readers of a value that are examined; a value with more readers is stored."""

MOST_VISITED = 128
"""Largest number of units visited in search of a path; beyond this number a path is assumed."""


@dataclass(slots=True, eq=False)
class Unit:
    """The nodes of a kernel, by the names of their outputs, in topological order.

    `anchors` are the contraction or the reductions of the kernel; `before` are the nodes on which
    the anchors depend. `alone` is the reason that a node is never merged, or "".
    """

    kind: str
    names: list[str]
    order: int
    flops: int
    alone: str = ""
    anchors: tuple[str, ...] = ()
    before: frozenset[str] = frozenset()

    @property
    def last(self) -> str:
        """The last output in topological order."""
        return self.names[-1]


@dataclass(frozen=True, slots=True)
class Way:
    """The obstacle to a merge of two units, or the new order of the units between them.

    `path` is a path through a third unit, which prevents the merge. Of the units between the two
    in topological order, `behind` depend on the first unit, and the second unit depends on
    `in_front`. `is_long` states that a search visited too many units.
    """

    path: tuple[str, ...] = ()
    is_long: bool = False
    behind: tuple[Unit, ...] = ()
    in_front: tuple[Unit, ...] = ()

    @property
    def obstacle(self) -> str:
        """The reason that the two units cannot be one kernel, or "" if they can."""
        if self.is_long:
            return f"fusion may create a cycle: over {MOST_VISITED} kernels may lie between the two"
        return f"fusion would create a cycle: {' -> '.join(self.path)}" if self.path else ""


class Units:
    """The kernels of a graph, initially one per node."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.made = {n.output: n for n in graph.nodes}
        self.users = {
            value: dict.fromkeys(n.output for n in nodes) for value, nodes in graph.users.items()
        }
        self.unit_of: dict[str, Unit] = {}
        self.types = dict(graph.types)
        self._namer: Editor | None = None
        self._copied_from: dict[str, str] = {}
        self._nbytes: dict[str, int] = {}
        for i, n in enumerate(graph.nodes):
            unit = self._single(n, i)
            self.unit_of.update((o, unit) for o in n.outputs if o)

    def _single(self, n: Node, order: int) -> Unit:
        alone = why_alone(n)
        kind = "alone" if alone else _kind(n)
        anchors = (n.output,) if kind in ("contraction", "reduction") else ()
        return Unit(kind, [n.output], order, self._flops(n), alone, anchors)

    def _flops(self, n: Node) -> int:
        cost = node_cost(n, self.types.__getitem__)
        if cost is not None:
            return cost.flops
        t = n.type
        return t.assumed.n_elements if isinstance(t, TensorType) and t.is_ranked else 0

    # Queries

    def all(self) -> list[Unit]:
        """Yield every unit once, in order."""
        found = {id(u): u for u in self.unit_of.values()}
        return sorted(found.values(), key=lambda u: u.order)

    def nodes(self, unit: Unit) -> list[Node]:
        """Return the current nodes of a unit, in order."""
        return [self.made[n] for n in unit.names]

    def values(self, unit: Unit) -> Iterator[str]:
        """Return the values that a unit computes."""
        for name in unit.names:
            yield from filter(None, self.made[name].outputs)

    def nbytes(self, value: str) -> int:
        """Return the bytes moved by a read or write of a value; 0 for a broadcast scalar."""
        found = self._nbytes.get(value)
        if found is None:
            found = self._nbytes[value] = self._bytes_of(value)
        return found

    def _bytes_of(self, value: str) -> int:
        t, constant = self.types[value], self.graph.constants.get(value)
        if not (isinstance(t, TensorType) and t.is_ranked):
            return 0
        return 0 if constant is not None and constant.is_splat else t.assumed.nbytes

    def operands(self, unit: Unit) -> dict[str, None]:
        """Return the outside values that a unit reads."""
        own = set(self.values(unit))
        return dict.fromkeys(r for n in self.nodes(unit) for r in n.reads if r not in own)

    def sources(self, unit: Unit) -> dict[Unit, None]:
        """Return the units that compute a unit's operands."""
        makers = (self.unit_of.get(o) for o in self.operands(unit))
        return dict.fromkeys(u for u in makers if u is not None)

    def is_stored(self, value: str, unit: Unit) -> bool:
        """Whether a value of a unit is read outside the unit."""
        if value in self.graph.result_values:
            return True
        return any(self.unit_of[u] is not unit for u in self.users.get(value, ()))

    def stored(self, unit: Unit) -> list[str]:
        """Return the values of a unit that are read outside the unit."""
        return [v for v in self.values(unit) if self.is_stored(v, unit)]

    def readers_of(self, value: str) -> list[Unit]:
        """Return the units that read a value, in order; [] if it has too many readers."""
        users = self.users.get(value, {})
        if len(users) > MOST_READERS:
            return []
        return sorted(dict.fromkeys(self.unit_of[u] for u in users), key=lambda u: u.order)

    def readers(self, unit: Unit) -> list[Unit]:
        """Return the readers of a unit's values, in order."""
        found = {r: None for v in self.values(unit) for r in self.readers_of(v) if r is not unit}
        return sorted(found, key=lambda u: u.order)

    def has_many_readers(self, unit: Unit) -> bool:
        """Whether a value of a unit has too many readers to examine."""
        return any(len(self.users.get(v, ())) > MOST_READERS for v in self.values(unit))

    def seconds(self, flops: int, read: Iterable[str], written: Iterable[str]) -> float:
        """Estimate the time of a kernel in seconds."""
        n_read, n_written = sum(map(self.nbytes, read)), sum(map(self.nbytes, written))
        return CORE.seconds(Cost(flops, n_read, n_written))

    # Topological order

    def way(self, a: Unit, b: Unit) -> Way:
        """Return the relation of two units, without regard to values passed directly."""
        a, b = (a, b) if a.order < b.order else (b, a)
        came: dict[Unit, Unit] = {}
        pending, n_seen = [a], 0
        while pending:
            u = pending.pop()
            for r in (self.unit_of[x] for v in self.values(u) for x in self.users.get(v, ())):
                n_seen += 1
                if n_seen > 8 * MOST_VISITED or len(came) > MOST_VISITED:
                    return Way(is_long=True)
                if r is b and u is not a:
                    return Way(_trail(came, u, a, b))
                if r is not a and r.order < b.order and r not in came:
                    came[r] = u
                    pending.append(r)
        in_front = self._in_front(a, b)
        return Way(is_long=True) if in_front is None else Way((), False, tuple(came), in_front)

    def _in_front(self, a: Unit, b: Unit) -> tuple[Unit, ...] | None:
        """Return the units after `a` in order on which `b` depends; None if too many."""
        found: dict[Unit, None] = {}
        pending = [b]
        while pending:
            for s in self.sources(pending.pop()):
                if s is not a and s.order > a.order and s not in found:
                    found[s] = None
                    pending.append(s)
            if len(found) > MOST_VISITED:
                return None
        return tuple(found)

    # Changes

    def merge(self, a: Unit, b: Unit, way: Way) -> Unit:
        """Merge two units, and restore the topological order."""
        first, second = (a, b) if a.order < b.order else (b, a)
        front = sorted(way.in_front, key=lambda u: u.order)
        behind = sorted(way.behind, key=lambda u: u.order)
        places = sorted(u.order for u in (*front, *behind, first, second))
        made = self.absorb(first, second)
        self._drop_repeats(made)
        for u, place in zip([*front, made], places, strict=False):
            u.order = place
        for u, place in zip(reversed(behind), reversed(places), strict=False):
            u.order = place
        return made

    def absorb(self, first: Unit, second: Unit) -> Unit:
        """Prepend the nodes of the first unit to the second unit, which keeps its position."""
        if second.anchors and not first.anchors:
            read = {u for v in self.values(first) for u in self.users.get(v, ())}
            is_before = bool(read & ({*second.anchors} | second.before))
            second.before |= frozenset(first.names if is_before else ())
        elif first.anchors:
            second.kind = first.kind
            second.anchors = (*first.anchors, *second.anchors)
            second.before |= first.before
        second.names = [*first.names, *second.names]
        second.flops += first.flops
        self.unit_of.update((v, second) for v in self.values(first))
        return second

    def copy_into(self, unit: Unit, reader: Unit) -> dict[str, Node]:
        """Duplicate a unit into a reader; return the copy of each original node."""
        if self._namer is None:
            self._namer = Editor(self.graph)
        names = {n: self._namer.fresh(n) for n in unit.names}
        copies: dict[str, Node] = {}
        for n in self.nodes(unit):
            made = replace(n.with_inputs(names), outputs=(names[n.output],), name=names[n.output])
            self._add(made)
            copies[n.output] = made
            self._copied_from[made.output] = self._copied_from.get(n.output, n.output)
        for n in self.nodes(reader):
            if any(i in names for i in n.inputs):
                self._read_others(n, names)
        copied = replace(unit, names=list(names.values()))
        copied.before = frozenset(names[n] for n in unit.before)
        self.absorb(copied, reader)
        return copies

    def _drop_repeats(self, unit: Unit) -> None:
        """Remove copies of nodes that the unit already contains."""
        if not self._copied_from:
            return
        first: dict[tuple[str, tuple[str, ...]], str] = {}
        for name in list(unit.names):
            n = self.made[name]
            kept = first.setdefault((self._copied_from.get(name, name), n.inputs), name)
            if kept == name or name not in self._copied_from:
                continue
            for user in [self.made[u] for u in self.users.get(name, ())]:
                self._read_others(user, {name: kept})
            unit.names.remove(name)
            unit.before -= {name}
            unit.flops -= self._flops(n)
            for r in n.reads:
                self.users[r].pop(name, None)
            del self.made[name], self.unit_of[name]

    def _add(self, n: Node) -> None:
        self.made[n.output] = n
        self.types[n.output] = n.type
        for r in n.reads:
            self.users.setdefault(r, {})[n.output] = None

    def _read_others(self, n: Node, names: dict[str, str]) -> None:
        for r in n.reads:
            if r in names:
                self.users[r].pop(n.output, None)
                self.users.setdefault(names[r], {})[n.output] = None
        self.made[n.output] = n.with_inputs(names)

    # Results

    def result(self) -> tuple[Graph, list[Group]]:
        """Return the graph, with duplicates, and the units of more than one node."""
        graph = self.graph
        if self._namer is not None:
            unsorted = replace(graph, nodes=tuple(self.made.values()))
            graph = Editor(unsorted).graph()
        groups: list[Group] = []
        for unit in self.all():
            if len(unit.names) > 1:
                nodes = self.nodes(unit)
                first = self.made[unit.anchors[0]] if unit.anchors else nodes[-1]
                group = Group(unit.kind, first, nodes[-1])
                group.add(nodes)
                groups.append(group)
        return graph, groups


def _kind(n: Node) -> str:
    if is_elementwise(n):
        return "elementwise"
    if is_contraction(n):
        return "contraction"
    return "reduction" if is_reduction(n) else "other"


def _trail(came: dict[Unit, Unit], u: Unit, a: Unit, b: Unit) -> tuple[str, ...]:
    """Return the path from a through u to b, as the last output of each kernel on the path."""
    names = [b.last, u.last]
    while came[u] is not a:
        u = came[u]
        names.append(u.last)
    return (a.last, *reversed(names))
