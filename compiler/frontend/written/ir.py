"""Models in the text form of graphs; types of nodes are optional and inferred."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import compiler.ops
from compiler.errors import CompileError
from compiler.frontend.tracing.tracing import check_input, like_one_of
from compiler.frontend.written.text import Line, WritingLimits, Written
from compiler.ir.draft import Draft, parse_draft
from compiler.ir.graph import Graph, Node, all_nodes
from compiler.ir.infer import Facts, keep_layout, stated, typed_regions
from compiler.ir.operator import OPERATORS
from compiler.ir.types import OpaqueType, Type
from compiler.ir.verify import refines, verify

assert compiler.ops.__doc__, "importing the operators registers them"


def read_ir(text: str, source: str = "text", limits: WritingLimits | None = None) -> Written:
    """Read a graph's text: infer the types of nodes, and report problems at their positions.

    A node that reads a result of a faulty node is not checked.
    """
    limits = limits or WritingLimits()
    try:
        limits.check_text(text)
        draft = parse_draft(text, source)
        _check_size(draft.graph, limits)
    except CompileError as e:
        return Written(None, (_with_hint(e),), ())
    reading = _Reading(draft)
    reading.read()
    return Written(
        reading.graph if not reading.problems else None,
        tuple(reading.problems),
        tuple(reading.lines()),
    )


def _check_size(graph: Graph, limits: WritingLimits) -> None:
    found, most = sum(1 for _ in all_nodes(graph)), limits.tracing.n_nodes
    if found > most:
        raise CompileError("E-WRITE-LIMIT", f"the text has {found:,} nodes; the limit is {most:,}")
    regions = [r for node in all_nodes(graph) for r in node.regions.values()]
    constants = [c for g in (graph, *regions) for c in g.constants.values()]
    found, most = sum(c.type.n_elements for c in constants), limits.tracing.n_elements
    if found > most:
        message = f"the constants have {found:,} elements; the limit is {most:,}"
        raise CompileError("E-WRITE-LIMIT", message)


def _with_hint(error: CompileError) -> CompileError:
    if error.code != "E-TEXT-OPERATOR":
        return error
    name = error.message.rpartition("operator ")[2].strip("'")
    hint = like_one_of(name, OPERATORS)
    return CompileError(error.code, error.message, where=error.where, hint=hint)


class _Reading:
    """The node-by-node type inference of a draft."""

    def __init__(self, draft: Draft) -> None:
        self.draft, self.graph = draft, draft.graph
        self.problems: list[CompileError] = []
        self.types: dict[str, Type] = {}
        self.doubtful: set[str] = set()

    def read(self) -> None:
        """Infer the types of every node, then verify the graph."""
        facts = Facts.of_graph(self.graph)
        self.types.update(facts.types)
        for v in self.graph.inputs:
            try:
                check_input(v.name, v.type)
            except CompileError as e:
                self.fail(e, ("type", v.name))
        nodes = [self.typed(node, facts) for node in self.graph.nodes]
        for r in self.graph.results:
            if r.value not in facts.types and r.value not in self.doubtful:
                hint = like_one_of(r.value, facts.types)
                message = f"the result {r.value!r} is not defined"
                self.fail(CompileError("E-GRAPH-NAME", message, hint=hint), ("result", r.name))
        if self.problems:
            return
        self.graph = replace(self.graph, nodes=tuple(nodes))
        try:
            verify(self.graph)
        except CompileError as e:
            name = e.where.node
            self.fail(e, ("type", name), ("operator", name), ("output", name))

    def typed(self, node: Node, facts: Facts) -> Node:
        """Infer the types of a node; if inference fails, retain the declared types."""
        if any(i in self.doubtful for i in node.reads):
            self.leave(node, facts)
            return node
        try:
            self.check_names(node, facts)
            node = typed_regions(node, facts)
            inferred = facts.visit(node)
        except CompileError as e:
            self.fail(e, *self.places_of(e, node))
            self.leave(node, facts)
            return node
        made: list[Type] = []
        for name, t, old in zip(node.outputs, inferred, node.types, strict=True):
            if not isinstance(old, OpaqueType) and old != t and not refines(old, t):
                if not isinstance(t, OpaqueType):
                    message = f"{name!r} is declared as {old}, but {node.op} returns {t}"
                    self.fail(CompileError("E-GRAPH-TYPE", message), ("type", name))
            made.append(keep_layout(stated(t, old), old))
        facts.types.update((o, t) for o, t in zip(node.outputs, made, strict=True) if o)
        self.types.update((o, t) for o, t in zip(node.outputs, made, strict=True) if o)
        return replace(node, types=tuple(made))

    def check_names(self, node: Node, facts: Facts) -> None:
        for name in filter(None, node.outputs):
            if name in facts.types or name in self.doubtful:
                where = self.draft.where(("output again", name), ("output", name))
                raise CompileError("E-GRAPH-NAME", f"{name!r} is defined twice", where=where)
        for name in filter(None, node.inputs):
            if name not in facts.types:
                hint = like_one_of(name, facts.types)
                message = f"{name!r} is used before it is defined"
                where = self.draft.where(("operand", f"{node.name} {name}"))
                raise CompileError("E-GRAPH-NAME", message, where=where, hint=hint)

    def places_of(self, error: CompileError, node: Node) -> Iterator[tuple[str, str]]:
        """Yield possible positions of an error; the position of a node inside a region is first."""
        if error.where.node and error.where.node != node.name:
            yield "operator", error.where.node
        yield "operator", node.name

    def leave(self, node: Node, facts: Facts) -> None:
        for name, t in zip(node.outputs, node.types, strict=True):
            if isinstance(t, OpaqueType):
                self.doubtful.add(name)
            elif name:
                facts.types[name] = t

    def fail(self, error: CompileError, *places: tuple[str, str]) -> None:
        where = error.where if error.where.line else self.draft.where(*places)
        self.problems.append(
            CompileError(
                error.code,
                error.message,
                where=replace(where, node=""),
                notes=error.notes,
                hint=error.hint,
            )
        )

    def lines(self) -> Iterator[Line]:
        """Yield each value that a line of the text defines, with the value's type."""
        for part, name in self.draft.spans:
            if part == "output" and name in self.types:
                yield Line(self.draft.where((part, name)).line, name, self.types[name])
