"""Graphs of lessons and answers: text with or without types, within limits, and templates."""

from __future__ import annotations

import importlib
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from compiler.errors import CompileError, Where
from compiler.ir.draft import Draft, parse_draft
from compiler.ir.graph import Graph, all_nodes
from compiler.ir.infer import infer
from compiler.ir.types import TensorType
from compiler.ir.verify import verify

MOST_CHARACTERS = 200_000
MOST_NODES = 2_000
MOST_ELEMENTS = 1 << 22
"""Maximum number of elements of all constants and inputs of a graph together."""

_HOLE = re.compile(r"\{([A-Z]\w*)\}")


def read_graph(text: str, source: str = "graph", first_line: int = 1) -> Graph:
    """Read the text of a graph, infer missing types, and verify the graph.

    `first_line` is the line of the file in which the text begins.
    Errors: E-ANSWER-SIZE, and those of parsing and verifying, at the line of the file.
    """
    importlib.import_module("compiler.ops")  # Registers the operators that the text names.
    try:
        with lines_from(first_line):
            return _read(text, source)
    except RecursionError:
        where = Where(source, first_line, 1)
        raise CompileError("E-ANSWER-SIZE", "the text is nested too deeply", where=where) from None


def _read(text: str, source: str) -> Graph:
    _limit("characters", len(text), MOST_CHARACTERS, source)
    draft = parse_draft(text, source)
    _limit("nodes", sum(1 for _ in all_nodes(draft.graph)), MOST_NODES, source)
    _limit("elements", _n_elements(draft.graph), MOST_ELEMENTS, source)
    try:
        graph = infer(draft.graph)[0]
        verify(graph)
    except CompileError as e:
        raise _placed(e, draft) from None
    return graph


def _placed(error: CompileError, draft: Draft) -> CompileError:
    """Return an error about a node with the node's position in the text."""
    if error.where.line or not error.where.node:
        return error
    name = error.where.node
    where = draft.where(("operator", name), ("output", name), ("type", name))
    if not where.line:
        return error
    return error.moved_to(where)


def _limit(what: str, found: int, most: int, source: str) -> None:
    if found > most:
        message = f"the text has {found:,} {what}; the limit is {most:,}"
        raise CompileError("E-ANSWER-SIZE", message, where=Where(source))


def _n_elements(graph: Graph) -> int:
    regions = [r for node in all_nodes(graph) for r in node.regions.values()]
    constants = [c.type for g in (graph, *regions) for c in g.constants.values()]
    types = [*constants, *(v.type for v in graph.inputs)]
    return sum(t.n_elements for t in types if isinstance(t, TensorType) and t.is_static)


@contextmanager
def lines_from(first_line: int) -> Generator[None]:
    """Convert positions in errors of the block from lines of the text to lines of its file."""
    try:
        yield
    except CompileError as e:
        w = e.where
        if not w.line:
            raise
        line = w.line + first_line - 1
        raise e.moved_to(Where(w.source, line, w.column, w.length, w.node)) from None


def filled_in(text: str, values: Mapping[str, object]) -> str:
    """Return a template with values in its holes: `{N}` and `{T}` in `x: {T}[{N},3]`."""
    return _HOLE.sub(lambda hole: str(values.get(hole[1], hole[0])), text)


def variants(
    text: str, types: Sequence[str], sizes: Mapping[str, Sequence[int]]
) -> list[tuple[str, Mapping[str, object]]]:
    """Return values for the holes of a template, with the words that describe them.

    The first variant has the first type and the first size of each list, and so on; a shorter list
    starts again.
    """
    n = max([len(types), *map(len, sizes.values())], default=1) or 1
    found: dict[str, tuple[str, Mapping[str, object]]] = {}
    for i in range(n):
        values: dict[str, object] = {k: v[i % len(v)] for k, v in sizes.items() if v}
        if types:
            values["T"] = types[i % len(types)]
        used = {k: v for k, v in values.items() if f"{{{k}}}" in text}
        words = ", ".join(str(v) if k == "T" else f"{k}={v}" for k, v in used.items())
        found.setdefault(words, (words, used))
    return list(found.values())
