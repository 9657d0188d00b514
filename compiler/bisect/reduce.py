"""Reduction of a failing model to a smaller model that fails in the same way.

The reduction removes nodes; values of removed nodes become inputs with the computed elements. The
reduction then removes nodes of regions, reduces sizes and simplifies numbers. The reduction repeats
all steps until nothing changes, or until the time limit is reached.
Source: hierarchical delta debugging, Misherghi and Su 2006: coarse before fine reductions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from compiler.bisect.ddmin import ddmin
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.constant import Constant
from compiler.ir.graph import Graph, Node, Result, Value
from compiler.ir.infer import infer
from compiler.ir.types import DType, TensorType, Type
from compiler.ir.verify import verify
from compiler.ops.evaluation.meaning import evaluate_graph

Feeds = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A failing graph, and the inputs on which it fails."""

    graph: Graph
    feeds: Feeds


Fails = Callable[[Case], bool]

SMALL_SIZES = (1, 2, 3)
"""The sizes to try for a dimension; if the case fails with none of them, the size is halved."""


def reduce_case(case: Case, fails: Fails, seconds: float = 60.0) -> Case:
    """Return the smallest failing case found within the time limit; `case` must fail."""
    end = perf_counter() + seconds

    def still(candidate: Case | None) -> bool:
        return candidate is not None and perf_counter() < end and fails(candidate)

    while perf_counter() < end:
        before = case
        case = fewer_nodes(case, still)
        for step in (_thinner_regions, _smaller_sizes, _plainer_numbers):
            case = _greedily(case, step, still)
        if case is before:
            break
    return case


def _greedily(
    case: Case, step: Callable[[Case], Iterator[Case | None]], still: Callable[[Case | None], bool]
) -> Case:
    """Replace the case with its first candidate that still fails, until no candidate fails."""
    while True:
        found = next((c for c in step(case) if still(c)), None)
        if found is None:
            return case
        case = found


# Nodes


def fewer_nodes(case: Case, still: Callable[[Case | None], bool]) -> Case:
    """Minimise the set of nodes; values of removed nodes become inputs."""
    values = all_values(case)
    keys = [n.output for n in case.graph.nodes]

    def part(kept: Sequence[str]) -> Case | None:
        return with_nodes(case, kept, values)

    if len(keys) < 2:
        return case
    chosen = ddmin(keys, lambda kept: bool(kept) and still(part(kept)))
    found = part(chosen) if chosen else None
    # A reduction must remove at least one node, and retain at least one node.
    return case if found is None or len(chosen) == len(keys) else found


def all_values(case: Case) -> Feeds:
    """Return the graph's values by name, except the values of failing nodes and their readers."""
    graph, values = case.graph, dict[str, Any](case.feeds)
    for node in graph.nodes:
        reads = {i: values[i] for i in node.reads if i in values}
        constants = {k: c for k, c in graph.constants.items() if k in node.reads}
        inputs = tuple(Value(k, graph.types[k]) for k in reads if k not in constants)
        one = Graph(graph.name, inputs, (), (node,), constants)
        try:
            made = evaluate_graph(one, reads, keep=[o for o in node.outputs if o])
        except (CompileError, KeyError):
            continue
        values.update(made)
    return values


def with_nodes(case: Case, kept: Sequence[str], values: Feeds) -> Case | None:
    """Return the case with only the nodes `kept`, or None if these form no valid graph."""
    graph, chosen = case.graph, set(kept)
    nodes = tuple(n for n in graph.nodes if n.output in chosen)
    made = {o for n in nodes for o in n.outputs if o}
    read = dict.fromkeys(i for n in nodes for i in n.reads)
    results = [r for r in graph.results if r.value in made]
    shown = {r.value for r in results}
    taken = {r.name for r in results}
    for n in nodes:  # Values whose readers are all removed.
        for o in filter(None, n.outputs):
            if o not in read and o not in shown and o not in taken and graph.users.get(o):
                results.append(Result(o, o))
    inputs, feeds = list[Value](), dict[str, Any]()
    for name in read:
        if name in made or name in graph.constants:
            continue
        if name not in values:
            return None
        inputs.append(Value(name, _type_of(values[name], graph.types.get(name))))
        feeds[name] = values[name]
    constants = {k: c for k, c in graph.constants.items() if k in read}
    return _valid(Graph(graph.name, tuple(inputs), tuple(results), nodes, constants), feeds)


def _type_of(value: Any, recorded: Type | None) -> Type:
    if isinstance(recorded, TensorType) and isinstance(value, np.ndarray):
        return TensorType(recorded.dtype, value.shape)
    assert recorded is not None, "a value that is read has a type"
    return recorded


def _valid(graph: Graph, feeds: Feeds) -> Case | None:
    """Return the case with re-inferred types, or None if the graph is invalid or has no results."""
    if not graph.results:
        return None
    try:
        typed = infer(graph)[0]
        verify(typed)
    except CompileError:
        return None
    return Case(typed, feeds)


# Regions


def _thinner_regions(case: Case) -> Iterator[Case | None]:
    """Yield cases in which an earlier value of the same type replaces one node of a region."""
    graph = case.graph
    for i, node in enumerate(graph.nodes):
        for key, region in node.regions.items():
            for thinner in _thinner(region, graph):
                changed = replace(node, regions={**node.regions, key: thinner})
                nodes = (*graph.nodes[:i], changed, *graph.nodes[i + 1 :])
                yield _valid(_without_unread(replace(graph, nodes=nodes)), case.feeds)


def _thinner(region: Graph, around: Graph) -> Iterator[Graph]:
    for i, node in reversed(list(enumerate(region.nodes))):
        if len([o for o in node.outputs if o]) != 1:
            continue
        earlier = dict.fromkeys([v.name for v in region.inputs])
        earlier.update(dict.fromkeys(region.constants))
        earlier.update(dict.fromkeys(n.output for n in region.nodes[:i]))
        types = {**around.types, **region.types}
        stand_in = next((e for e in reversed(earlier) if types[e] == node.type), None)
        if stand_in is None:
            continue
        rename = {node.output: stand_in}
        rest = [n.with_inputs(rename) for n in region.nodes[i + 1 :]]
        results = tuple(Result(r.name, rename.get(r.value, r.value)) for r in region.results)
        yield replace(region, nodes=(*region.nodes[:i], *rest), results=results)


def _without_unread(graph: Graph) -> Graph:
    read = {i for n in graph.nodes for i in n.reads} | graph.result_values
    return replace(graph, constants={k: c for k, c in graph.constants.items() if k in read})


# Sizes


def _smaller_sizes(case: Case) -> Iterator[Case | None]:
    """Yield the case with all occurrences of one size reduced; the largest size comes first."""
    types = [v.type for v in case.graph.inputs] + [c.type for c in case.graph.constants.values()]
    found = {d for t in types if isinstance(t, TensorType) and t.is_static for d in t.static_shape}
    for size in sorted(found, reverse=True):
        smaller = [s for s in SMALL_SIZES if s < size]
        if size > 2 * SMALL_SIZES[-1]:
            smaller.append(size // 2)
        for new in smaller:
            yield _resized(case, size, new)


def _resized(case: Case, old: int, new: int) -> Case | None:
    graph = case.graph
    feeds = {k: _cut(v, old, new) for k, v in case.feeds.items()}
    inputs = tuple(Value(v.name, _type_of(feeds.get(v.name), v.type)) for v in graph.inputs)
    constants = {k: _cut_constant(c, old, new) for k, c in graph.constants.items()}
    nodes = tuple(_untyped(n) for n in graph.nodes)
    return _valid(replace(graph, inputs=inputs, constants=constants, nodes=nodes), feeds)


def _untyped(node: Node) -> Node:
    """Remove recorded types, whose sizes may be outdated."""
    return replace(node, types=tuple(_opened(t) for t in node.types))


def _opened(t: Type) -> Type:
    return TensorType(t.dtype, None) if isinstance(t, TensorType) else t


def _cut(value: Any, old: int, new: int) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    return value[tuple(slice(new) if d == old else slice(None) for d in value.shape)]


def _cut_constant(c: Constant, old: int, new: int) -> Constant:
    array = _cut(c.array(), old, new)
    if c.type.dtype is DType.i64 and array.ndim <= 1:
        array = np.where(array == old, new, array)  # The array may be a shape.
    return Constant.of(array, origins=c.origins)


# Numbers


def _plainer_numbers(case: Case) -> Iterator[Case | None]:
    """Yield the case with simpler elements in one input or constant."""
    graph = case.graph
    for name, value in case.feeds.items():
        for plainer in _plainer(value):
            yield Case(graph, {**case.feeds, name: plainer})
    for name, c in graph.constants.items():
        for plainer in _plainer(c.array()) if not c.type.dtype.is_integer else ():
            constant = Constant.of(plainer, c.type.dtype, c.origins)
            if constant != c:
                yield Case(
                    replace(graph, constants={**graph.constants, name: constant}), case.feeds
                )


def _plainer(value: Any) -> Iterator[Any]:
    """Yield simpler arrays: ones, zeros, consecutive numbers, and rounded elements."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "f" or not value.size:
        return
    if np.array_equal(value, np.ones_like(value)) or np.array_equal(value, np.zeros_like(value)):
        return
    yield np.ones_like(value)
    yield np.zeros_like(value)
    counted = (1 + np.arange(value.size).reshape(value.shape)).astype(value.dtype)
    if np.array_equal(value, counted):
        return
    yield counted
    with np.errstate(all="ignore"):
        rounded = np.round(value.astype(np.float64), 1).astype(value.dtype)
    if not np.array_equal(rounded, value, equal_nan=True):
        yield rounded
