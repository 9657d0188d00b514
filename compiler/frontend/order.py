"""Topological sorting of a graph's nodes."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any

from compiler.errors import CompileError, Where


def in_order(
    nodes: Sequence[Any],
    names: Sequence[str],
    taken: Container[str],
    is_defined: Callable[[str], bool],
) -> list[int]:
    """Return the nodes' positions in a stable topological order; a valid order is not changed.

    `names` label the nodes. `taken` are the names defined before all nodes; `is_defined` tests
    whether an enclosing graph defines a name.
    Errors: E-MODEL-NAME for a value defined twice or not at all, E-MODEL-CYCLE.
    """
    producer: dict[str, int] = {}
    for i, node in enumerate(nodes):
        for output in filter(None, node.output):
            if output in producer or output in taken:
                other = f"{names[producer[output]]!r}" if output in producer else "an input"
                raise CompileError(
                    "E-MODEL-NAME",
                    f"{output!r} is defined twice, also by {other}",
                    where=Where(node=names[i]),
                )
            producer[output] = i
    needs = [_needs(node, i, producer, is_defined, names) for i, node in enumerate(nodes)]
    if all(p < i for i, found in enumerate(needs) for p in found):
        return list(range(len(nodes)))
    return _sorted(needs, names)


def _needs(
    node: Any,
    i: int,
    producer: dict[str, int],
    is_defined: Callable[[str], bool],
    names: Sequence[str],
) -> list[int]:
    """Return the positions of the nodes whose outputs a node reads."""
    found: list[int] = []
    for name in reads(node):
        if name in producer:
            found.append(producer[name])
        elif not is_defined(name):
            raise CompileError(
                "E-MODEL-NAME",
                f"{name!r} is read but not defined",
                where=Where(node=names[i]),
            )
    return found


def _sorted(needs: list[list[int]], names: Sequence[str]) -> list[int]:
    done: dict[int, None] = {}
    open_: set[int] = set()
    for root in range(len(needs)):
        stack = [root]
        while stack:
            i = stack[-1]
            if i in done:
                stack.pop()
                continue
            missing = [p for p in needs[i] if p not in done]
            if not missing:
                done[i] = None
                stack.pop()
                continue
            if i in open_:
                raise CompileError(
                    "E-MODEL-CYCLE",
                    f"{names[i]!r} depends on its own output",
                    where=Where(node=names[i]),
                )
            open_.add(i)
            stack.extend(reversed(missing))
    return list(done)


def reads(node: Any) -> Iterator[str]:
    """Yield all names that a node reads: its operands, and the captures of its subgraphs."""
    yield from filter(None, node.input)
    for g in subgraphs(node):
        yield from captured(g)


def subgraphs(node: Any) -> Iterator[Any]:
    """Yield the graphs among a node's attributes."""
    for a in node.attribute:
        if a.HasField("g"):
            yield a.g
        yield from a.graphs


def captured(graph: Any) -> dict[str, None]:
    """Return the names that a subgraph captures from the enclosing graph."""
    defined = {v.name for v in graph.input} | {t.name for t in graph.initializer}
    defined |= {t.values.name for t in graph.sparse_initializer}
    defined |= {o for n in graph.node for o in n.output}
    free: dict[str, None] = {}
    for node in graph.node:
        free.update((name, None) for name in reads(node) if name not in defined)
    free.update((v.name, None) for v in graph.output if v.name not in defined)
    return free
