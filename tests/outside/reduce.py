"""Reduction of a failing model (delta debugging, Zeller and Hildebrandt 2002).

Results are dropped. Nodes are removed, and their used results become inputs with the values that
ONNX Runtime computed. Inputs become constants, and an If is replaced by one of its branches.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, helper

from compiler.bisect.ddmin import ddmin
from tests.outside.case import Case, drop_unused, values_of
from tests.outside.children import Died, in_child
from tests.outside.draft import tensor_proto, value_info
from tests.outside.trial import WAYS, Outcome, Way, try_case
from tests.outside.values import NARROW, label_of

Fails = Callable[[Case], bool]


def outcome_of(case: Case, ways: Sequence[Way] = WAYS, seconds: float = 60) -> Outcome:
    """Return the outcome of a trial in a child process, whose death is a crash."""
    try:
        return in_child(lambda: try_case(case, ways), seconds)
    except Died as e:
        return Outcome("crash", detail=str(e))


def reduced(case: Case, outcome: Outcome, seconds: float = 120) -> Case:
    """Return a case that fails in the same way, with the fewest nodes found in this time."""
    ways = [w for w in WAYS if str(w) == outcome.way] or list(WAYS)
    if "other bits" in outcome.detail:
        ways = list(WAYS)
    deadline = time.monotonic() + seconds

    def fails(smaller: Case) -> bool:
        if time.monotonic() > deadline:
            return False
        found = outcome_of(smaller, ways)
        return found.kind == outcome.kind and _alike(found.detail, outcome.detail)

    for k in range(len(case.feeds)):
        alone = Case(case.model, [case.feeds[k]])
        if len(case.feeds) > 1 and fails(alone):
            case = alone
            break
    before = None
    while before != (size := len(case.model.SerializeToString())) and time.monotonic() < deadline:
        before = size
        case = _first(_single_nodes(case, outcome.result), fails, case)
        case = _first(_results(case, outcome.result), fails, case)
        case = _fewer_nodes(case, fails)
        case = _first(_unfolded(case), fails, case)
        case = _closed(case, fails)
    return case


def _alike(a: str, b: str) -> bool:
    """Return whether two failures are of one kind: error, exception, or kind of difference."""
    if " for " in a and " of " in a.split(" for ")[0]:
        return " of " in b.split(" for ")[0]
    return a.split()[:2] == b.split()[:2] or (" for " in a and " for " in b)


def _first(candidates: Iterator[Case], fails: Fails, otherwise: Case) -> Case:
    return next((c for c in candidates if fails(c)), otherwise)


def _copy(case: Case) -> Case:
    model = ModelProto.FromString(case.model.SerializeToString())
    return Case(model, [dict(f) for f in case.feeds])


def _used(case: Case) -> Case:
    """Return the case without parts that no result needs."""
    drop_unused(case.model)
    names = {v.name for v in case.model.graph.input}
    return Case(case.model, [{n: v for n, v in f.items() if n in names} for f in case.feeds])


def _all_values(case: Case) -> list[dict[str, Any]]:
    found = [values_of(case.model, f) for f in case.feeds]
    return [f for f in found if f is not None]


def _single_nodes(case: Case, result: str) -> Iterator[Case]:
    """Yield cases of a single node, first the node of the wrong result."""
    values = _all_values(case)
    if len(values) != len(case.feeds) or len(case.model.graph.node) == 1:
        return
    order = sorted(
        range(len(case.model.graph.node)),
        key=lambda k: (result not in case.model.graph.node[k].output, -k),
    )
    yield from (_cut(case, {k}, values) for k in order)


def _results(case: Case, result: str) -> Iterator[Case]:
    """Yield cases of a single result: the wrong result, each value, each original result."""
    values = _all_values(case)
    if not values:
        return
    made = [o for n in case.model.graph.node for o in n.output if o]
    first = [result] if result in made else []
    for name in [*first, *made, *(o.name for o in case.model.graph.output)]:
        value = values[0][name]
        if value is None or label_of(value) in NARROW or isinstance(value, list):
            continue
        if [o.name for o in case.model.graph.output] == [name]:
            return
        smaller = _copy(case)
        del smaller.model.graph.output[:]
        smaller.model.graph.output.add().CopyFrom(value_info(name, value, ranked=False))
        yield _used(smaller)


def _fewer_nodes(case: Case, fails: Fails) -> Case:
    values = _all_values(case)
    if len(values) != len(case.feeds):
        return case
    n = len(case.model.graph.node)

    def keeping(kept: Sequence[int]) -> Case:
        return _cut(case, set(kept), values)

    kept = ddmin(list(range(n)), lambda k: bool(k) and fails(keeping(k)))
    smaller = keeping(kept)
    return smaller if len(kept) < n and fails(smaller) else case


def _cut(case: Case, kept: set[int], values: Sequence[Mapping[str, Any]]) -> Case:
    """Return a case of these nodes; other values become inputs or constants."""
    smaller = _copy(case)
    graph = smaller.model.graph
    nodes = list(graph.node)
    del graph.node[:]
    for k, node in enumerate(nodes):
        if k in kept:
            graph.node.add().CopyFrom(node)
            continue
        for name in (o for o in node.output if o):
            _give(smaller, name, [v[name] for v in values], as_constant=node.op_type == "Constant")
    made = {o for node in graph.node for o in node.output}
    shown = [o for o in graph.output if o.name in made]
    outputs = [type(o).FromString(o.SerializeToString()) for o in shown]
    del graph.output[:]
    graph.output.extend(outputs)
    if not outputs:
        for name in (o for node in graph.node for o in node.output if o):
            if label_of(values[0][name]) and label_of(values[0][name]) not in NARROW:
                graph.output.add().CopyFrom(value_info(name, values[0][name], ranked=False))
    return _used(smaller)


def _give(case: Case, name: str, values: Sequence[Any], as_constant: bool) -> None:
    first = values[0]
    if first is None:
        return
    constant = as_constant or label_of(first) in NARROW
    if constant and not isinstance(first, list):
        case.model.graph.initializer.add().CopyFrom(tensor_proto(first, name))
        return
    info = value_info(name, first)
    if not isinstance(first, list):
        for axis, dim in enumerate(info.type.tensor_type.shape.dim):
            if any(np.shape(v)[axis] != first.shape[axis] for v in values):
                dim.Clear()
    case.model.graph.input.add().CopyFrom(info)
    for feeds, value in zip(case.feeds, values, strict=True):
        feeds[name] = value


def _unfolded(case: Case) -> Iterator[Case]:
    """Yield cases with a branch in place of an If."""
    for k, node in enumerate(case.model.graph.node):
        if node.op_type != "If":
            continue
        for attribute in node.attribute:
            smaller = _copy(case)
            nodes = list(smaller.model.graph.node)
            inside = _inlined(attribute.g, node, smaller.model.graph)
            del smaller.model.graph.node[:]
            smaller.model.graph.node.extend([*nodes[:k], *inside, *nodes[k + 1 :]])
            yield _used(smaller)


def _inlined(branch: GraphProto, node: NodeProto, graph: GraphProto) -> list[NodeProto]:
    graph.initializer.extend(branch.initializer)
    named = [
        helper.make_node("Identity", [inner.name], [outer])
        for inner, outer in zip(branch.output, node.output, strict=False)
        if outer
    ]
    return [*branch.node, *named]


def _closed(case: Case, fails: Fails) -> Case:
    """Return the case with fixed instead of open sizes, then with constants instead of inputs."""
    if len(case.feeds) == 1:
        smaller = _copy(case)
        for v in smaller.model.graph.input:
            for axis, dim in enumerate(v.type.tensor_type.shape.dim):
                dim.Clear()
                dim.dim_value = np.shape(case.feeds[0][v.name])[axis]
        if smaller.model != case.model and fails(smaller):
            case = smaller
    return case
