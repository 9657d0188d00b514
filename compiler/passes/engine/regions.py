"""Passes inside control flow: every pass also runs on the regions of a graph's nodes.

To a pass, a region is a graph: captured values are inputs of known types, and captured constants
are constants. The resulting graph replaces the region, and each step in the ledger names the
region.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

from compiler.errors import CompileError
from compiler.ir.closing import with_closed_types
from compiler.ir.graph import Graph, Node, names_inside
from compiler.ir.regions import close, rename_values, reopen
from compiler.ir.verify import verify
from compiler.ops.control_flow.control import CONTROL_FLOW
from compiler.passes.engine.account import complete
from compiler.trace import Log
from compiler.trace import Step as TracedStep

Step = Callable[[Graph, Log], Graph]
"""A pass with its options."""


def in_regions(step: Step, graph: Graph, log: Log, taken: Collection[str] = ()) -> Graph:
    """Apply a pass to the regions of a graph's nodes, and to regions nested in them.

    `taken` holds the names of the enclosing graphs. Return the same graph object if nothing
    changed.
    """
    if not any(n.op in CONTROL_FLOW for n in graph.nodes):
        return graph
    around = {*taken, *graph.types}
    nodes = tuple(_visited(step, n, graph, log, around) for n in graph.nodes)
    if all(a is b for a, b in zip(nodes, graph.nodes, strict=True)):
        return graph
    return with_closed_types(replace(graph, nodes=nodes))


def _visited(step: Step, node: Node, graph: Graph, log: Log, taken: set[str]) -> Node:
    if node.op not in CONTROL_FLOW:
        return node
    regions = {
        key: _changed(step, region, graph, log, taken, (node.output, key))
        for key, region in node.regions.items()
    }
    same = all(regions[k] is g for k, g in node.regions.items())
    return node if same else replace(node, regions=regions)


def _changed(
    step: Step, region: Graph, graph: Graph, log: Log, taken: set[str], way: tuple[str, str]
) -> Graph:
    closed = close(region, graph.types, graph.constants).graph
    try:
        verify(closed)
    except CompileError:
        return region  # The region fails at run time if it runs.
    inner = log.inside()
    after = in_regions(step, step(closed, inner), inner, taken)
    steps = complete(inner.steps, closed, after)
    opened = region if after is closed else reopen(after, region, graph.constants)
    names = {} if opened is region else dict(_clashes(opened, region, taken))
    log.steps += [_placed(s, way, names) for s in steps]
    return rename_values(opened, names)


def _placed(step: TracedStep, way: tuple[str, str], names: Mapping[str, str]) -> TracedStep:
    """Return a step of a region as a step of the enclosing graph."""
    node, key = way
    return replace(
        step,
        because=f"in {key} of {node}: {step.because}",
        made=tuple(names.get(name, name) for name in step.made),
        inside=(way, *step.inside),
    )


def _clashes(after: Graph, before: Graph, taken: set[str]) -> Iterator[tuple[str, str]]:
    """Return the new names in a region that clash with outer names, each with a free name."""
    used = {*taken, *names_inside(after)}
    for name in [n for n in after.types if n in taken and n not in before.types]:
        fresh, n = name, 1
        while fresh in used:
            n += 1
            fresh = f"{name}_{n}"
        used.add(fresh)
        yield name, fresh
