"""The evaluation of control flow: If, Loop, Scan and SequenceMap over regions.

Regions are ordinary graphs that capture values of the enclosing graph by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from compiler.errors import CompileError, require
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import Array
from compiler.ir.types import DType, OpaqueType, TensorType, Type
from compiler.limits import check
from compiler.ops.protos import opset_of

CONTROL_FLOW = ("onnx.If", "onnx.Loop", "onnx.Scan", "onnx.SequenceMap")
"""Foreign operators with regions."""


STEPS_LIMIT = 1_000_000
"""After this number of iterations, a loop whose condition never changes counts as endless."""


def always_goes_on(body: Graph) -> bool:
    """Return whether a Loop's body returns its condition unchanged, or the constant true."""
    value = body.results[0].value
    while (node := body.producers.get(value)) is not None and node.op in _SAME:
        value = node.inputs[0]
    if value == body.inputs[1].name:
        return True
    c = body.constants.get(value)
    return c is not None and c.type.n_elements == 1 and bool(c.array().reshape(-1)[0])


_SAME = ("identity", "onnx.Identity")


def is_batched(node: Node) -> bool:
    """Return whether a node is a Scan of opset 8, which has a batch axis and sequence lengths."""
    return opset_of(node, 9) < 9


def n_scanned(node: Node) -> int:
    """Return the number of scanned operands of a Scan. Errors: E-GRAPH-TYPE."""
    n = node.attrs.get("num_scan_inputs")
    require(isinstance(n, int) and n > 0, "E-GRAPH-TYPE", "Scan needs num_scan_inputs above 0")
    assert isinstance(n, int)
    return n


def entry(node: Node, attribute: str, k: int) -> int:
    """Return an element of a list attribute of a Scan; 0 beyond the end of the list."""
    values = node.attrs.get(attribute) or ()
    return int(values[k]) if k < len(values) else 0


# Evaluation


Run = Callable[[str, Sequence[Any]], list[Any]]
"""A function that runs the region of a given key on input values and returns the region's
results."""

Outer = Mapping[str, Any]
"""Outer values that the regions of a node capture by name."""


def evaluate(
    node: Node, values: Sequence[Any], outer: Mapping[str, Any], run: Run | None = None
) -> tuple[Any, ...]:
    """Evaluate a control-flow node; `run` evaluates regions, by default by reference semantics.

    Errors: those of the nodes in the regions, E-RUN-OPERATOR, E-RUN-ENDLESS.
    """
    run = run or by_reference(node, outer)

    def checked(key: str, values: Sequence[Any]) -> list[Any]:
        check(f"a step of {node.op}")
        return run(key, values)

    made = _EVALUATE[node.op](node, list(values), checked, outer)
    return tuple(made[: len(node.outputs)])


def by_reference(node: Node, outer: Mapping[str, Any]) -> Run:
    """Return a function that evaluates regions by the reference semantics of their nodes."""
    from compiler.ops.evaluation.meaning import evaluate_graph

    def run(key: str, values: Sequence[Any]) -> list[Any]:
        region = node.regions[key]
        inputs = {v.name: value for v, value in zip(region.inputs, values, strict=True)}
        found = evaluate_graph(region, inputs, outer)
        return [found[r.value] for r in region.results]

    return run


def _flag(value: Any) -> bool:
    array = np.asarray(value)
    require(
        array.size == 1, "E-RUN-OPERATOR", f"a condition must have one element, got {array.size}"
    )
    return bool(array.reshape(-1)[0])


def _if(node: Node, values: list[Any], run: Run, outer: Outer) -> list[Any]:
    key = "then_branch" if _flag(values[0]) else "else_branch"
    return run(key, [])


def _loop(node: Node, values: list[Any], run: Run, outer: Outer) -> list[Any]:
    body = node.regions["body"]
    limit = None if values[0] is None else int(np.asarray(values[0]).reshape(-1)[0])
    going = values[1] is None or _flag(values[1])
    states = values[2:]
    piles: list[list[Any]] = [[] for _ in body.results[1 + len(states) :]]
    step = 0
    never_ends = always_goes_on(body)
    while going and (limit is None or step < limit):
        if never_ends and step >= STEPS_LIMIT:
            raise CompileError(
                "E-RUN-ENDLESS", f"the loop does not end: it ran {STEPS_LIMIT:,} iterations"
            )
        counter = np.array(step, np.int64)
        flag, *made = run("body", [counter, np.array(going), *states])
        going = _flag(flag)
        states = made[: len(states)]
        for pile, value in zip(piles, made[len(states) :], strict=True):
            pile.append(value)
        step += 1
    declared = _results(body, outer)[1 + len(states) :]
    return [*states, *(_pile(p, 0, t) for p, t in zip(piles, declared, strict=True))]


def _results(g: Graph, outer: Outer) -> list[Type]:
    """Return the types of a region's results, including returned captures."""
    return [g.types.get(r.value) or _type_of(outer.get(r.value)) for r in g.results]


def _type_of(value: Any) -> Type:
    if not isinstance(value, np.ndarray):
        return OpaqueType()
    return TensorType(DType.from_numpy(value.dtype), value.shape)


def _pile(values: list[Any], axis: int, t: Type) -> Any:
    """Stack values along a new axis; without values, return an empty array of the type."""
    if values:
        return np.stack(values, axis)
    require(
        isinstance(t, TensorType), "E-RUN-OPERATOR", "a loop without iterations returns no values"
    )
    assert isinstance(t, TensorType)
    shape = [d if isinstance(d, int) else 0 for d in t.shape or ()]
    at = axis if axis >= 0 else axis + len(shape) + 1
    shape.insert(at, 0)
    return np.zeros(shape, t.dtype.numpy)


def _scan(node: Node, values: list[Any], run: Run, outer: Outer) -> list[Any]:
    if not is_batched(node):
        return _scan_once(node, values, run, outer)
    lengths, *operands = values
    n_states = len(operands) - n_scanned(node)
    runs: list[list[Any]] = []
    for b in range(operands[0].shape[0]):
        n = operands[n_states].shape[1] if lengths is None else int(lengths[b])
        parts = [v[b] if k < n_states else v[b][:n] for k, v in enumerate(operands)]
        made = _scan_once(node, parts, run, outer)
        longest = operands[n_states].shape[1]
        runs.append([*made[:n_states], *(_lengthened(v, longest) for v in made[n_states:])])
    return [np.stack(v) for v in zip(*runs, strict=True)]


def _lengthened(value: Array, n: int) -> Array:
    missing = [(0, n - value.shape[0])] + [(0, 0)] * (value.ndim - 1)
    return np.pad(value, missing)


def _scan_once(node: Node, values: list[Any], run: Run, outer: Outer) -> list[Any]:
    body, n = node.regions["body"], n_scanned(node)
    states, scanned = values[:-n], values[-n:]
    directions = "directions" if is_batched(node) else "scan_input_directions"
    rows: list[Array] = []
    for k, v in enumerate(scanned):
        moved = np.moveaxis(v, entry(node, "scan_input_axes", k), 0)
        rows.append(moved[::-1] if entry(node, directions, k) else moved)
    n_states = len(states)
    piles: list[list[Any]] = [[] for _ in body.results[n_states:]]
    require(len({len(r) for r in rows}) == 1, "E-RUN-OPERATOR", "scanned axes differ in length")
    for step in range(len(rows[0])):
        made = run("body", [*states, *(r[step] for r in rows)])
        states = made[:n_states]
        for pile, value in zip(piles, made[n_states:], strict=True):
            pile.append(value)
    outputs: list[Any] = []
    for k, (pile, t) in enumerate(zip(piles, _results(body, outer)[n_states:], strict=True)):
        ordered = pile[::-1] if entry(node, "scan_output_directions", k) else pile
        outputs.append(_pile(ordered, entry(node, "scan_output_axes", k), t))
    return [*states, *outputs]


def _sequence_map(node: Node, values: list[Any], run: Run, outer: Outer) -> list[Any]:
    body, (sequence, *rest) = node.regions["body"], values
    columns: list[list[Any]] = [[] for _ in body.results]
    for i, element in enumerate(sequence):
        others = [v[i] if isinstance(v, list) else v for v in rest]
        for column, value in zip(columns, run("body", [element, *others]), strict=True):
            column.append(value)
    return columns


_EVALUATE = {
    "onnx.If": _if,
    "onnx.Loop": _loop,
    "onnx.Scan": _scan,
    "onnx.SequenceMap": _sequence_map,
}
