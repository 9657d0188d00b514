"""Application of chosen layouts to a graph: types of results, halos of images, and copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from compiler.dataclass import dataclass
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import Cost
from compiler.ir.types import PLAIN, Layout, TensorType, Type
from compiler.passes.layout.problem import PLAIN_LABEL, Problem, Use
from compiler.trace import Log


@dataclass(slots=True)
class Laid:
    """The layout of a value, and the layout in which each reader reads it."""

    own: Layout
    taken: dict[int, Layout] = field(default_factory=dict)

    @property
    def copies(self) -> list[Layout]:
        """The layouts of the value's copies."""
        return [x for x in dict.fromkeys(self.taken.values()) if x != self.own]


def laid(problem: Problem, value: str, chosen: Sequence[int]) -> Laid:
    """Return the layouts of a value and its copies for a choice of labels."""
    t = problem.images[value]
    uses, maker = problem.uses.get(value, []), problem.maker.get(value)
    strict = value in problem.strict
    label = PLAIN_LABEL if maker is None else chosen[maker]
    bare = Layout(problem.block_of(t, label))
    wanted = {u: _wanted(problem, t, u, bare, chosen[u.reader]) for u in uses}
    padded = problem.pads_plain(value)
    around = problem.reach([u for u in uses if wanted[u] == bare and not u.strict])
    if value in problem.refused or not (padded or bare.block > 1):
        around = ()
    own = Layout(bare.block, around, problem.around(value))
    if own.block == 1 and (strict or maker is None):
        own = PLAIN
    found = Laid(own)
    for u in uses:
        same = [v for v in uses if wanted[v] == wanted[u] and not v.strict]
        reach = problem.reach(same) if value not in problem.refused else ()
        bordered = Layout(wanted[u].block, reach, problem.around(value))
        found.taken[u.reader] = _taken(found, u, bordered, padded, strict)
    return found


def _wanted(problem: Problem, t: TensorType, u: Use, own: Layout, label: int) -> Layout:
    """Return the layout that a use requires, without the halo."""
    if u.follows or u.strict:
        return Layout(problem.block_of(t, label))
    return PLAIN if label == PLAIN_LABEL else own


def _taken(found: Laid, u: Use, wanted: Layout, padded: bool, strict: bool) -> Layout:
    """Return the layout in which a use reads its operand; `wanted` includes the halo."""
    if u.strict:
        return PLAIN
    if wanted.block > 1:
        return found.own if wanted.block == found.own.block else wanted
    if u.reach and padded:
        return wanted
    if found.own.block == 1:
        return found.own
    return PLAIN if strict or not padded else wanted


class Placer:
    """Applies a choice of labels to a graph."""

    def __init__(self, problem: Problem, chosen: Sequence[int], log: Log) -> None:
        self.problem, self.log = problem, log
        self.graph = problem.graph
        self.editor = Editor(self.graph)
        self.copied: dict[tuple[str, Layout], str] = {}
        self.inner: dict[str, str] = {}
        self.n_copies, self.bytes_copied = 0, 0
        self.laid = {v: laid(problem, v, chosen) for v in problem.images}

    def apply(self) -> Graph:
        """Return the graph with layouts; the same object if all layouts are plain."""
        if all(x.own.is_plain and not x.copies for x in self.laid.values()):
            return self.graph
        for i, node in enumerate(self.graph.nodes):
            self._place(i, node)
            for v in node.values():
                if v.name in self.graph.result_values:
                    self._plain_result(v.name)
        return self.editor.graph()

    def _place(self, i: int, node: Node) -> None:
        types: list[Type] = []
        for value, t in zip(node.outputs, node.types, strict=True):
            at = self.laid.get(value) if value in self.problem.maker else None
            types.append(
                t if at is None or not isinstance(t, TensorType) else t.with_layout(at.own)
            )
        rename: dict[str, str] = {}
        for operand in dict.fromkeys(node.reads):
            at = self.laid.get(operand)
            if at is not None and at.taken.get(i, at.own) != at.own and not self._copies(i, at):
                rename[self._now(operand)] = self._copy(operand, at.taken[i])
        current = self.editor.producer(node.output)
        assert current is not None
        self._record_halos(node, types)
        new = replace(current, types=tuple(types)).with_inputs(rename)
        if new.types != current.types or rename:
            self.editor.update(current, new)

    def _copies(self, i: int, at: Laid) -> bool:
        """Whether a kernel only copies a value, and would be the only reader of a copy."""
        alone = sum(x == at.taken[i] for x in at.taken.values()) == 1
        return alone and self.problem.units[i].kind == "pieces"

    def _record_halos(self, node: Node, types: Sequence[Type]) -> None:
        for value, t in zip(node.outputs, types, strict=True):
            if isinstance(t, TensorType) and t.layout.halo:
                because = f"written with a halo of zeros, so that windows need no border tests: {t}"
                self.log.applied("halo", value, because, [value], [value])

    def _now(self, value: str) -> str:
        """Return the name of a value in its producer's layout, not the name of a plain copy."""
        return self.inner.get(value, value)

    def _copy(self, value: str, layout: Layout) -> str:
        if (value, layout) in self.copied:
            return self.copied[value, layout]
        source = self._now(value)
        before = self.editor.type(source)
        assert isinstance(before, TensorType)
        made, after = self.editor.fresh(f"{value}.laid"), before.with_layout(layout)
        self.editor.add(_copying(source, made, after, made, self._origins(value)))
        self._record(
            source, before, after, f"is copied to {str(layout) or 'plain order'} for a reader", made
        )
        self.copied[value, layout] = made
        return made

    def _record(
        self, value: str, before: TensorType, after: TensorType, words: str, *made: str
    ) -> None:
        cost = Cost(0, before.assumed.nbytes, after.assumed.nbytes)
        self.n_copies += 1
        self.bytes_copied += cost.bytes_moved
        because = f"{before} {words}; the copy moves {cost.bytes_moved:,} bytes"
        self.log.applied(
            "relayout", value, because, [value], made, cost_before=Cost(), cost_after=cost
        )

    def _origins(self, value: str) -> tuple[str, ...]:
        producer = self.graph.producers.get(value)
        if producer is not None:
            return producer.origins
        readers = self.graph.users.get(value, ())
        return readers[0].origins if readers else ()

    def _plain_result(self, value: str) -> None:
        t = self.editor.type(value)
        if not isinstance(t, TensorType) or t.layout.is_plain:
            return
        node = self.editor.producer(value)
        assert node is not None
        inner = self.inner[value] = self.editor.fresh(f"{value}.blocked")
        self.editor.rename_output(node, value, inner)
        name = self.editor.fresh(node.name)
        self.editor.add(_copying(inner, value, t.logical, name, node.origins))
        self.copied[value, PLAIN] = value
        self._record(value, t, t.logical, "is returned in plain order", inner, value)


def _copying(
    source: str, made: str, after: TensorType, name: str, origins: tuple[str, ...]
) -> Node:
    return Node("relayout", (source,), (made,), (after,), {}, name, origins)
