"""Control flow: If, Loop, Scan and SequenceMap over regions, typed and evaluated here.

The regions are graphs like any other; they read values of the graph around them by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from compiler.errors import CompileError, require
from compiler.ir import affine
from compiler.ir.affine import identifier, symbol
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import Array
from compiler.ir.types import Dim, OpaqueType, SequenceType, TensorType, Type, open_symbols

CONTROL_FLOW = ("onnx.If", "onnx.Loop", "onnx.Scan", "onnx.SequenceMap")
"""Carried operators with regions."""


def types_of(
    node: Node, types: Sequence[Type | None], known: Sequence[Array | None]
) -> tuple[Type, ...]:
    """The types of a control-flow node's outputs, from those its regions give.

    Errors: E-GRAPH-TYPE when a region is missing or has the wrong number of results.
    """
    regions = [_region(node, key) for key in _REGIONS[node.op]]
    made = _TYPES[node.op](node, types, regions)
    if len(made) < len(node.outputs):
        raise CompileError(
            "E-GRAPH-TYPE", f"{node.op} gives {len(made)} values, {len(node.outputs)} are named"
        )
    return tuple(made)


_REGIONS = {
    "onnx.If": ("then_branch", "else_branch"),
    "onnx.Loop": ("body",),
    "onnx.Scan": ("body",),
    "onnx.SequenceMap": ("body",),
}


def _region(node: Node, key: str) -> Graph:
    found = node.regions.get(key)
    require(found is not None, "E-GRAPH-TYPE", f"{node.op} needs a region named {key}")
    assert found is not None
    return found


def _results(g: Graph) -> list[Type]:
    """Types of a region's results; of captured values handed on nothing is known here."""
    return [g.types.get(r.value, OpaqueType()) for r in g.results]


def _if_types(node: Node, types: Sequence[Type | None], regions: list[Graph]) -> list[Type]:
    then, other = map(_results, regions)
    require(
        len(then) == len(other), "E-GRAPH-TYPE", "the branches give different numbers of values"
    )
    return [_join(a, b, _base(node, k)) for k, (a, b) in enumerate(zip(then, other, strict=True))]


def _loop_types(node: Node, types: Sequence[Type | None], regions: list[Graph]) -> list[Type]:
    (body,) = regions
    states = list(types[2:])
    made = _results(body)[1:]
    enough = len(body.inputs) == len(states) + 2 and len(made) >= len(states)
    require(enough, "E-GRAPH-TYPE", f"the body of the loop does not fit {len(states)} states")
    outside = open_symbols(t for t in types if t is not None)
    result: list[Type] = []
    for k, t in enumerate(made):
        base = _base(node, k)
        if k < len(states):
            result.append(_closed(_join(states[k] or t, t, base), outside, base))
        else:
            result.append(_stacked(t, symbol(f"{base}_d0"), 0, outside, base))
    return result


def _scan_types(node: Node, types: Sequence[Type | None], regions: list[Graph]) -> list[Type]:
    (body,) = regions
    made = _results(body)
    n_scanned, old = _n_scanned(node), _is_batched(node)
    operands = list(types[1:] if old else types)
    n_states = len(operands) - n_scanned
    require(0 <= n_states <= len(made), "E-GRAPH-TYPE", "the body does not fit the operands")
    outside = open_symbols(t for t in types if t is not None)
    result: list[Type] = []
    for k, t in enumerate(made):
        base = _base(node, k)
        if old:
            result.append(TensorType(t.dtype, None) if isinstance(t, TensorType) else OpaqueType())
        elif k < n_states:
            result.append(_closed(_join(operands[k] or t, t, base), outside, base))
        else:
            axis = _entry(node, "scan_output_axes", k - n_states)
            length = _scan_length(node, operands[n_states:]) or symbol(f"{base}_d0")
            result.append(_stacked(t, length, axis, outside, base))
    return result


def _map_types(node: Node, types: Sequence[Type | None], regions: list[Graph]) -> list[Type]:
    outside = open_symbols(t for t in types if t is not None)
    return [
        SequenceType(_closed(t, outside, _base(node, k)))
        for k, t in enumerate(_results(regions[0]))
    ]


_TYPES = {
    "onnx.If": _if_types,
    "onnx.Loop": _loop_types,
    "onnx.Scan": _scan_types,
    "onnx.SequenceMap": _map_types,
}


def _base(node: Node, position: int) -> str:
    name = node.outputs[position] if position < len(node.outputs) else ""
    return identifier(name or f"{node.output}_{position}")


def _join(a: Type, b: Type, base: str) -> Type:
    """What is true of both types."""
    if a == b:
        return a
    if isinstance(a, SequenceType) and isinstance(b, SequenceType):
        return SequenceType(_join(a.element, b.element, base))
    if not (isinstance(a, TensorType) and isinstance(b, TensorType) and a.dtype is b.dtype):
        return OpaqueType()
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
        return TensorType(a.dtype, None)
    shape = tuple(
        x if x == y else symbol(f"{base}_d{i}")
        for i, (x, y) in enumerate(zip(a.shape, b.shape, strict=True))
    )
    return TensorType(a.dtype, shape)


def _closed(t: Type, outside: frozenset[str], base: str) -> Type:
    """The type without sizes that mean something only inside the region, each time anew."""
    if isinstance(t, SequenceType):
        return SequenceType(_closed(t.element, outside, base))
    if not isinstance(t, TensorType) or t.shape is None:
        return t
    shape: list[Dim] = [
        d if affine.symbols(d) <= outside else symbol(f"{base}_d{i}") for i, d in enumerate(t.shape)
    ]
    return replace(t, shape=tuple(shape))


def _stacked(t: Type, length: Dim, axis: int, outside: frozenset[str], base: str) -> Type:
    """Many values of one type put together along a new axis."""
    if not isinstance(t, TensorType):
        return OpaqueType()
    if t.shape is None:
        return TensorType(t.dtype, None)
    at = axis if axis >= 0 else axis + len(t.shape) + 1
    shape = (*t.shape[:at], length, *t.shape[at:])
    return _closed(TensorType(t.dtype, shape), outside | affine.symbols(length), base)


def _scan_length(node: Node, scanned: Sequence[Type | None]) -> Dim | None:
    for k, t in enumerate(scanned):
        if isinstance(t, TensorType) and t.shape:
            return t.shape[_entry(node, "scan_input_axes", k) % len(t.shape)]
    return None


def _is_batched(node: Node) -> bool:
    """Scan of opset 8 has sequence lengths as its first operand and a batch axis everywhere."""
    return int(node.attrs.get("opset", 9)) < 9


def _n_scanned(node: Node) -> int:
    n = node.attrs.get("num_scan_inputs")
    require(isinstance(n, int) and n > 0, "E-GRAPH-TYPE", "Scan needs num_scan_inputs above 0")
    assert isinstance(n, int)
    return n


def _entry(node: Node, attribute: str, k: int) -> int:
    values = node.attrs.get(attribute) or ()
    return int(values[k]) if k < len(values) else 0


# Running


def evaluate(node: Node, values: Sequence[Any], outer: Mapping[str, Any]) -> tuple[Any, ...]:
    """The outputs of a control-flow node. Errors: those of the nodes inside, E-RUN-OPERATOR."""
    made = _EVALUATE[node.op](node, list(values), outer)
    return tuple(made[: len(node.outputs)])


def _run(region: Graph, values: Sequence[Any], outer: Mapping[str, Any]) -> list[Any]:
    from compiler.ops.meaning import evaluate_graph

    inputs = {v.name: value for v, value in zip(region.inputs, values, strict=True)}
    found = evaluate_graph(region, inputs, outer)
    return [found[r.value] for r in region.results]


def _flag(value: Any) -> bool:
    array = np.asarray(value)
    require(array.size == 1, "E-RUN-OPERATOR", f"a condition is one element, got {array.size}")
    return bool(array.reshape(-1)[0])


def _if(node: Node, values: list[Any], outer: Mapping[str, Any]) -> list[Any]:
    key = "then_branch" if _flag(values[0]) else "else_branch"
    return _run(node.regions[key], [], outer)


def _loop(node: Node, values: list[Any], outer: Mapping[str, Any]) -> list[Any]:
    body = node.regions["body"]
    limit = None if values[0] is None else int(np.asarray(values[0]).reshape(-1)[0])
    going = values[1] is None or _flag(values[1])
    states = values[2:]
    piles: list[list[Any]] = [[] for _ in body.results[1 + len(states) :]]
    step = 0
    while going and (limit is None or step < limit):
        counter = np.array(step, np.int64)
        flag, *made = _run(body, [counter, np.array(going), *states], outer)
        going = _flag(flag)
        states = made[: len(states)]
        for pile, value in zip(piles, made[len(states) :], strict=True):
            pile.append(value)
        step += 1
    declared = _results(body)[1 + len(states) :]
    return [*states, *(_pile(p, 0, t) for p, t in zip(piles, declared, strict=True))]


def _pile(values: list[Any], axis: int, t: Type) -> Any:
    """Values put together along a new axis; of none, as much as the type says."""
    if values:
        return np.stack(values, axis)
    require(isinstance(t, TensorType), "E-RUN-OPERATOR", "a loop without steps gives no values")
    assert isinstance(t, TensorType)
    shape = [d if isinstance(d, int) else 0 for d in t.shape or ()]
    at = axis if axis >= 0 else axis + len(shape) + 1
    shape.insert(at, 0)
    return np.zeros(shape, t.dtype.numpy)


def _scan(node: Node, values: list[Any], outer: Mapping[str, Any]) -> list[Any]:
    if not _is_batched(node):
        return _scan_once(node, values, outer)
    lengths, *operands = values
    n_states = len(operands) - _n_scanned(node)
    runs: list[list[Any]] = []
    for b in range(operands[0].shape[0]):
        n = operands[n_states].shape[1] if lengths is None else int(lengths[b])
        parts = [v[b] if k < n_states else v[b][:n] for k, v in enumerate(operands)]
        made = _scan_once(node, parts, outer)
        longest = operands[n_states].shape[1]
        runs.append([*made[:n_states], *(_lengthened(v, longest) for v in made[n_states:])])
    return [np.stack(v) for v in zip(*runs, strict=True)]


def _lengthened(value: Array, n: int) -> Array:
    missing = [(0, n - value.shape[0])] + [(0, 0)] * (value.ndim - 1)
    return np.pad(value, missing)


def _scan_once(node: Node, values: list[Any], outer: Mapping[str, Any]) -> list[Any]:
    body, n_scanned = node.regions["body"], _n_scanned(node)
    states, scanned = values[:-n_scanned], values[-n_scanned:]
    directions = "directions" if _is_batched(node) else "scan_input_directions"
    rows: list[Array] = []
    for k, v in enumerate(scanned):
        moved = np.moveaxis(v, _entry(node, "scan_input_axes", k), 0)
        rows.append(moved[::-1] if _entry(node, directions, k) else moved)
    n_states = len(states)
    piles: list[list[Any]] = [[] for _ in body.results[n_states:]]
    require(len({len(r) for r in rows}) == 1, "E-RUN-OPERATOR", "scanned axes differ in length")
    for step in range(len(rows[0])):
        made = _run(body, [*states, *(r[step] for r in rows)], outer)
        states = made[:n_states]
        for pile, value in zip(piles, made[n_states:], strict=True):
            pile.append(value)
    outputs: list[Any] = []
    for k, (pile, t) in enumerate(zip(piles, _results(body)[n_states:], strict=True)):
        ordered = pile[::-1] if _entry(node, "scan_output_directions", k) else pile
        outputs.append(_pile(ordered, _entry(node, "scan_output_axes", k), t))
    return [*states, *outputs]


def _sequence_map(node: Node, values: list[Any], outer: Mapping[str, Any]) -> list[Any]:
    body, (sequence, *rest) = node.regions["body"], values
    columns: list[list[Any]] = [[] for _ in body.results]
    for i, element in enumerate(sequence):
        others = [v[i] if isinstance(v, list) else v for v in rest]
        for column, value in zip(columns, _run(body, [element, *others], outer), strict=True):
            column.append(value)
    return columns


_EVALUATE = {
    "onnx.If": _if,
    "onnx.Loop": _loop,
    "onnx.Scan": _scan,
    "onnx.SequenceMap": _sequence_map,
}
