"""Runs of control-flow nodes body by body, so that noise affects every node of a body."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import GraphProto, NodeProto

RunBody = Callable[[GraphProto, Sequence[Any]], list[Any]]
"""Runs a body on its inputs, and returns its outputs."""


def run_bodies(node: NodeProto, values: Mapping[str, Any], run: RunBody) -> list[Any] | None:
    """Return all outputs of a control-flow node.

    Returns None for other operators, and if a result without iterations has an unknown shape.
    """
    runner = _RUNNERS.get(node.op_type)
    inputs = [values[name] if name else None for name in node.input]
    return None if runner is None else runner(node, inputs, run)


def _if(node: NodeProto, inputs: list[Any], run: RunBody) -> list[Any] | None:
    taken = "then_branch" if np.asarray(inputs[0]).item() else "else_branch"
    return run(_attribute(node, taken).g, [])


def _loop(node: NodeProto, inputs: list[Any], run: RunBody) -> list[Any] | None:
    body = _attribute(node, "body").g
    limit, go, *states = inputs
    n_states, piles = len(states), [list[Any]() for _ in range(len(body.output) - 1 - len(states))]
    n = 0
    while (limit is None or n < int(limit)) and (go is None or bool(np.asarray(go).item())):
        condition = np.array(True) if go is None else go
        given = _as_declared(body, [np.array(n, np.int64), condition])
        out = run(body, [*given, *states])
        go, states = out[0] if go is not None else None, out[1 : 1 + n_states]
        _pile(piles, out[1 + n_states :])
        n += 1
    if piles and n == 0:
        return None
    return [*states, *(np.stack(pile) for pile in piles)]


def _as_declared(body: GraphProto, scalars: list[Any]) -> list[Any]:
    """Return the iteration number and the condition in the shapes that the body declares."""
    return [
        value.reshape([1] * len(v.type.tensor_type.shape.dim))
        for v, value in zip(body.input[:2], scalars, strict=True)
    ]


def _scan(node: NodeProto, inputs: list[Any], run: RunBody) -> list[Any] | None:
    body, n_scanned = _attribute(node, "body").g, _attribute(node, "num_scan_inputs").i
    states, scanned = inputs[:-n_scanned], inputs[-n_scanned:]
    n_states, n_piles = len(states), len(body.output) - len(states)
    axes = _list(node, "scan_input_axes", n_scanned)
    ways = _list(node, "scan_input_directions", n_scanned)
    length = scanned[0].shape[axes[0]]
    if length == 0 and n_piles:
        return None
    piles = [list[Any]() for _ in range(n_piles)]
    for n in range(length):
        at = [length - 1 - n if way else n for way in ways]
        parts = [
            np.asarray(np.take(x, k, axis)) for x, k, axis in zip(scanned, at, axes, strict=True)
        ]
        out = run(body, [*states, *parts])
        states = out[:n_states]
        _pile(piles, out[n_states:])
    made = zip(
        piles,
        _list(node, "scan_output_axes", n_piles),
        _list(node, "scan_output_directions", n_piles),
        strict=True,
    )
    return [*states, *(np.stack(p[::-1] if way else p, axis) for p, axis, way in made)]


def _sequence_map(node: NodeProto, inputs: list[Any], run: RunBody) -> list[Any] | None:
    body = _attribute(node, "body").g
    piles = [list[Any]() for _ in body.output]
    for n in range(len(inputs[0])):
        _pile(piles, run(body, [x[n] if isinstance(x, list) else x for x in inputs]))
    return list(piles)


def _pile(piles: list[list[Any]], parts: Sequence[Any]) -> None:
    for pile, part in zip(piles, parts, strict=True):
        pile.append(part)


def _attribute(node: NodeProto, name: str) -> Any:
    return next(a for a in node.attribute if a.name == name)


def _list(node: NodeProto, name: str, n: int) -> list[int]:
    found = [list(a.ints) for a in node.attribute if a.name == name]
    return found[0] if found else [0] * n


_RUNNERS: Mapping[str, Callable[[NodeProto, list[Any], RunBody], list[Any] | None]] = {
    "If": _if,
    "Loop": _loop,
    "Scan": _scan,
    "SequenceMap": _sequence_map,
}
