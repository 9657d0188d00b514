"""Queries on the trace: the fate of a model's node, and the reason why two nodes are not fused.

A query follows a node of the model from the imported graph to the last graph. In each graph, the
query finds the nodes and constants that list the queried node among their origins. If no such node
or constant remains after a pass, the steps of this pass give the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.graph import Graph, Node, all_nodes
from compiler.trace import Event, Step, Trace

Kind = Literal["kept", "merged", "folded", "removed", "unaccounted"]
Verdict = Literal["together", "apart", "not neighbours", "gone"]

_TOLD: Mapping[Kind, str] = {
    "kept": "remains as",
    "merged": "is computed by",
    "folded": "was computed at compile time:",
    "removed": "was removed",
    "unaccounted": "was removed without a recorded step",
}


@dataclass(frozen=True, slots=True)
class Chapter:
    """A step of a pass, with the event number and the name of the pass."""

    event: int
    pass_name: str
    step: Step

    def __str__(self) -> str:
        mark = "" if self.step.outcome == "applied" else " declined"
        return f"{self.pass_name}: {self.step.rule}{mark} at {self.step.at}: {self.step.because}"


@dataclass(frozen=True, slots=True)
class Fate:
    """The fate of a node of the model.

    `kept`: a node of the last graph has the same operator and originates from this node alone.
    `merged`: the nodes listed in `now` compute the model's node, together with other nodes or by
    other operators. `folded`: the node was evaluated at compile time to the constants listed in
    `now`. `removed`: no node computes the model's node, and the last chapter gives the reason.
    `unaccounted`: no step explains the removal, so the ledger is incomplete.
    """

    node: str
    op: str
    kind: Kind
    now: tuple[str, ...]
    chapters: tuple[Chapter, ...]

    def __str__(self) -> str:
        told = f"{self.node} ({self.op}) {_TOLD[self.kind]} {_some(self.now)}".rstrip()
        return "\n".join([told, *(f"  {c}" for c in self.chapters)])


@dataclass(frozen=True, slots=True)
class Answer:
    """The reason why two nodes of the model share a kernel, or why they do not."""

    nodes: tuple[str, str]
    verdict: Verdict
    because: str
    chapters: tuple[Chapter, ...]

    def __str__(self) -> str:
        return "\n".join([self.because, *(f"  {c}" for c in self.chapters)])


class Ledger:
    """The trace of one compilation, indexed for queries.

    A query is an index lookup, so its time does not grow with the model. The page makes a query for
    each edge of a model.
    """

    def __init__(self, trace: Trace) -> None:
        self._events = [e for e in trace.events if e.changed or e.steps]
        self._numbers = [i for i, e in enumerate(trace.events) if e.changed or e.steps]
        self._graphs = [e.before for e in trace.events[:1]] + [e.after for e in self._events]
        self._holders: list[Mapping[str, tuple[str, ...]]] = []
        for i, g in enumerate(self._graphs):
            same = i > 0 and g is self._graphs[i - 1]
            self._holders.append(self._holders[-1] if same else _holders(g))
        self._applied = [_by_value(e, "applied") for e in self._events]
        self._declines = [_by_value(e, "declined") for e in self._events]
        self._first = _by_origin(self._graphs[0]) if self._graphs else {}
        self._last = _by_origin(self._graphs[-1]) if self._graphs else {}
        self._makers: dict[int, Mapping[str, list[Node]]] = {}

    def names(self) -> list[str]:
        """Return the nodes of the model that queries accept, in order."""
        if not self._graphs:
            return []
        return list(dict.fromkeys(o for n in _outer_nodes(self._graphs[0]) for o in n.origins))

    def fate(self, name: str) -> Fate:
        """Return the fate of a node, given its name or one of its outputs. Errors: E-NODE-NAME."""
        name = self._resolved(name)
        alive = self._holders[0][name]
        op = self._first[name][0].op
        chapters: list[Chapter] = []
        for i, event in enumerate(self._events):
            after = self._holders[i + 1].get(name, ())
            told = self._told(i, {*alive, *after})
            if not told and not after:
                told = self._told(i, _enclosing(self._graphs[i], name))
            chapters += told
            if not after:
                kind: Kind = "removed" if told else "unaccounted"
                return Fate(name, op, kind, (), tuple(chapters))
            alive = after if event.changed else alive
        return Fate(name, op, self._kind(name, op), alive, tuple(chapters))

    def fates(self) -> Iterator[Fate]:
        """Yield the fate of each node of the model, in order."""
        return map(self.fate, self.names())

    def why(self, first: str, second: str) -> Answer:
        """Explain why two nodes share a kernel, or why they do not. Errors: E-NODE-NAME."""
        first, second = names = (self._resolved(first), self._resolved(second))
        for name in names:
            fate = self.fate(name)
            if fate.kind in ("folded", "removed", "unaccounted"):
                return Answer(names, "gone", str(fate).split("\n", 1)[0], fate.chapters)
        shared = set(self._holders[-1][first]) & set(self._holders[-1][second])
        if shared:
            because = f"{first} and {second} are both computed by {_some(sorted(shared))}"
            return Answer(names, "together", because, tuple(self._joined(first, second)))
        declined = tuple(self._declined(first, second))
        if declined:
            fusing = [c for c in declined if c.step.rule.startswith("fuse")]
            told = (fusing or declined)[-1]
            because = f"{first} and {second} are not fused: {told.step.because}"
            return Answer(names, "apart", because, declined)
        because = f"{first} and {second} are not neighbours: neither reads a result of the other"
        if self._are_neighbours(first, second):
            because = (
                f"{first} and {second} are not fused: no pass of this pipeline considered them"
            )
        return Answer(names, "not neighbours", because, ())

    def _resolved(self, name: str) -> str:
        """Return the name of a node, given this name or the name of one of the node's outputs."""
        if name in self._first:
            return name
        maker = self._graphs[0].producers.get(name) if self._graphs else None
        if maker is not None and maker.origins:
            return maker.origins[0]
        raise CompileError(
            "E-NODE-NAME",
            f"the model has no node {name!r:.60}",
            hint=f"the nodes are {_some(self.names())}",
        )

    def _told(self, i: int, values: Iterable[str]) -> list[Chapter]:
        """Return the applied steps of an event that involve these values, in order."""
        found = {at for v in values for at in self._applied[i].get(v, ())}
        return [self._chapter(i, self._events[i].steps[at]) for at in sorted(found)]

    def _chapter(self, i: int, step: Step) -> Chapter:
        return Chapter(self._numbers[i], self._events[i].name, step)

    def _kind(self, name: str, op: str) -> Kind:
        nodes = self._last.get(name, ())
        if not nodes:
            return "folded"
        return "kept" if any(n.op == op and n.origins == (name,) for n in nodes) else "merged"

    def _both(self, i: int, first: str, second: str) -> tuple[set[str], set[str]]:
        """Return the values that originate from each of two nodes, before and after an event."""
        a, b = (
            {v for g in (i, i + 1) for v in self._holders[g].get(name, ())}
            for name in (first, second)
        )
        return a, b

    def _joined(self, first: str, second: str) -> Iterator[Chapter]:
        """Yield the steps that involve both nodes, from the first event with such steps."""
        for i in range(len(self._events)):
            a, b = self._both(i, first, second)
            steps = self._spanning(i, self._applied[i], a, b)
            if steps:
                yield from (self._chapter(i, s) for s in steps)
                return

    def _declined(self, first: str, second: str) -> Iterator[Chapter]:
        for i in range(len(self._events)):
            a, b = self._both(i, first, second)
            for s in self._spanning(i, self._declines[i], a - b, b - a):
                yield self._chapter(i, s)

    def _spanning(
        self, i: int, by_value: Mapping[str, list[int]], a: set[str], b: set[str]
    ) -> list[Step]:
        """Return an event's steps that involve a value in `a` and a value in `b`, in order."""
        asked = {at for v in a for at in by_value.get(v, ())}
        steps = self._events[i].steps
        return [steps[at] for at in sorted(asked) if _spans(steps[at], a, b)]

    def _are_neighbours(self, first: str, second: str) -> bool:
        for i, holders in enumerate(self._holders):
            a, b = set(holders.get(first, ())), set(holders.get(second, ()))
            makers = self._makers_in(i)
            if _reads(makers, a, b) or _reads(makers, b, a):
                return True
        return False

    def _makers_in(self, i: int) -> Mapping[str, list[Node]]:
        """Map each first output in a graph and its bodies to the nodes that define this output."""
        if i not in self._makers:
            found: dict[str, list[Node]] = {}
            for node in _outer_nodes(self._graphs[i]):
                found.setdefault(node.output, []).append(node)
            self._makers[i] = found
        return self._makers[i]


def _spans(step: Step, a: set[str], b: set[str]) -> bool:
    took = {*step.took, step.at}
    return bool(took & a) and bool(took & b)


def _holders(graph: Graph) -> Mapping[str, tuple[str, ...]]:
    """Map each node of the model to the node outputs and constants that originate from it."""
    found: dict[str, dict[str, None]] = {}
    for node in _outer_nodes(graph):
        for origin in node.origins:
            found.setdefault(origin, {})[node.output] = None
    for inner in _graphs(graph):
        for name, c in inner.constants.items():
            for origin in c.origins:
                found.setdefault(origin, {})[name] = None
    return {k: tuple(v) for k, v in found.items()}


def _graphs(graph: Graph) -> Iterator[Graph]:
    """Yield a graph and all regions inside it."""
    yield graph
    for node in graph.nodes:
        for region in node.regions.values():
            yield from _graphs(region)


def _outer_nodes(graph: Graph) -> Iterator[Node]:
    """Yield each node, including nodes in control-flow regions; a fusion counts as one node."""
    for node in graph.nodes:
        yield node
        if node.op != "fusion":
            for region in node.regions.values():
                yield from _outer_nodes(region)


def _enclosing(graph: Graph, origin: str) -> set[str]:
    """Return the outputs of control-flow nodes with nodes inside that originate from `origin`."""
    return {
        n.output
        for n in _outer_nodes(graph)
        if n.op != "fusion"
        for region in n.regions.values()
        if origin in _holders(region)
    }


def _reads(makers: Mapping[str, list[Node]], made: set[str], read: set[str]) -> bool:
    """Return whether a node reads a value in `read` and computes a value in `made`."""
    return any(read & {*n.reads} for value in made for n in makers.get(value, ()))


def _by_origin(graph: Graph) -> Mapping[str, list[Node]]:
    """Map each node of the model to all nodes that originate from it, including nested nodes."""
    found: dict[str, list[Node]] = {}
    for node in all_nodes(graph):
        for origin in dict.fromkeys(node.origins):
            found.setdefault(origin, []).append(node)
    return found


def _by_value(event: Event, outcome: str) -> Mapping[str, list[int]]:
    """Map each value to the indices of the steps with this outcome that involve the value."""
    found: dict[str, list[int]] = {}
    for i, s in enumerate(event.steps):
        if s.outcome == outcome:
            for v in dict.fromkeys((s.at, *s.took, *s.made)):
                found.setdefault(v, []).append(i)
    return found


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:4])
    return f"{shown} and {len(names) - 4} more" if len(names) > 4 else shown
