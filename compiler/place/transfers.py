"""Graphs with explicit transfers: nodes in the order of their starts in a schedule."""

from __future__ import annotations

from dataclasses import replace

from compiler.ir.graph import Graph, Node, Result
from compiler.ir.operator import OPERATORS
from compiler.place.of_graph import view_sources
from compiler.place.platform import Platform
from compiler.place.schedule import Activity, Move, Schedule
from compiler.place.tasks import TaskGraph


def with_transfers(graph: Graph, tasks: TaskGraph, platform: Platform, s: Schedule) -> Graph:
    """Insert a `transfer` node for each move of a value, and redirect readers to the node's result.

    `s` is a schedule of `tasks`, the tasks of the graph. No node is inserted for transfers of
    weights, or of values other than tensors. The values and names of the graph's results stay the
    same.
    """
    return _Writer(graph, tasks, platform, s).graph_with_transfers()


class _Writer:
    def __init__(self, graph: Graph, tasks: TaskGraph, platform: Platform, s: Schedule) -> None:
        self.graph, self.tasks, self.platform, self.schedule = graph, tasks, platform, s
        self.source = view_sources(graph)
        self.nodes = {n.output: n for n in graph.nodes}
        self.taken = set(graph.types)
        self.here: dict[tuple[str, str], str] = {}
        """For each value and memory: the name of the copy of the value in the memory."""
        self.made: list[Node] = []

    def graph_with_transfers(self) -> Graph:
        home = self.platform.home
        everything: list[Activity] = [*self.schedule.slots, *self.schedule.moves]
        # Operands are computed before a task starts, so no reader precedes its operands.
        for x in sorted(everything, key=lambda x: (x.start, x.end)):
            if isinstance(x, Move):
                self._move(x)
            else:
                memory = self.platform.device_of[x.device].memory
                self._add_task(self.nodes[x.task], memory)
                for value in self.nodes[x.task].values():
                    self.here[value.name, memory] = value.name
        results = tuple(Result(r.name, self._called(r.value, home)) for r in self.graph.results)
        return replace(self.graph, nodes=tuple(self.made), results=results)

    def _move(self, move: Move) -> None:
        datum, source, to = move.datum, move.source, move.to
        if datum not in self.graph.types or datum in self.graph.constants:
            return
        before = self._called(datum, source)
        name = self._name(f"{datum}.{to}")
        t = self.graph.types[datum]
        attrs = OPERATORS["transfer"].bind({"source": source, "to": to})
        node = self.nodes.get(datum) or self.graph.producers.get(datum)
        origins = node.origins if node is not None else ()
        self.made.append(Node("transfer", (before,), (name,), (t,), attrs, name, origins))
        self.here[datum, to] = name

    def _add_task(self, node: Node, memory: str) -> None:
        rename = {r: self._called(r, memory) for r in dict.fromkeys(node.reads)}
        self.made.append(node.with_inputs({k: v for k, v in rename.items() if k != v}))

    def _called(self, value: str, memory: str) -> str:
        """Return the name of a value's copy in a memory.

        A view is not copied: a node recreates the view from a copy of its source.
        """
        if value not in self.source:
            return self.here.get((value, memory), value)
        if (value, memory) not in self.here:
            node = self.nodes[value]
            is_first = not any(v == value for v, _ in self.here)
            name = value if is_first else self._name(f"{value}.{memory}")
            before = self._called(node.inputs[0], memory)
            read = node.with_inputs({node.inputs[0]: before})
            outputs = (name,)
            self.made.append(replace(read, outputs=outputs))
            self.here[value, memory] = name
        return self.here[value, memory]

    def _name(self, wanted: str) -> str:
        name, n = wanted, 1
        while name in self.taken:
            n += 1
            name = f"{wanted}.{n}"
        self.taken.add(name)
        return name
