"""Decomposition of scans over any axis, or over a batch, into scans over first axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.errors import CompileError
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, Result, Value
from compiler.ir.operator import Operand, Regioned, Tensor
from compiler.ir.regions import without_origins
from compiler.ir.types import TensorType, Type
from compiler.ops.control_flow.control import entry, is_batched, n_scanned
from compiler.ops.data_movement.transpose import transpose

OPSET = 9


def is_plain_scan(node: Node) -> bool:
    """Return whether a Scan has no batch axis and scans only first axes."""
    n_states = len(node.inputs) - n_scanned(node)
    axes = [entry(node, "scan_input_axes", k) for k in range(n_scanned(node))]
    axes += [entry(node, "scan_output_axes", k) for k in range(len(node.outputs) - n_states)]
    return not is_batched(node) and not any(axes)


def plain_scan(node: Node, operands: Sequence[Tensor | None]) -> tuple[Operand, ...]:
    """Decompose a Scan into scans over first axes.

    Errors: E-SHAPE-OPEN for sequences of open length or open rank.
    """
    return _batched(node, operands) if is_batched(node) else _turned(node, operands)


def _turned(node: Node, operands: Sequence[Tensor | None]) -> tuple[Operand, ...]:
    n = n_scanned(node)
    states, scanned = _all(operands[:-n]), _all(operands[-n:])
    moved = [_to_front(x, entry(node, "scan_input_axes", k)) for k, x in enumerate(scanned)]
    first = scanned[0]
    length = first.shape[entry(node, "scan_input_axes", 0)]
    ends = _results_of_iteration(node, len(states))
    results = [
        t if k < len(states) else TensorType(t.dtype, (length, *t.dims)) for k, t in enumerate(ends)
    ]
    attrs: dict[str, Any] = {
        k: v for k, v in node.attrs.items() if k not in ("scan_input_axes", "scan_output_axes")
    }
    made = Regioned(node.op, (*states, *moved), attrs, node.regions, tuple(results))
    outputs: list[Operand] = [made.out(k) for k in range(len(states))]
    for k, t in enumerate(results[len(states) :]):
        axis = entry(node, "scan_output_axes", k)
        out = made.out(len(states) + k)
        outputs.append(_from_front(out, t.rank, axis) if axis else out)
    return tuple(outputs)


def _results_of_iteration(node: Node, n_states: int) -> list[TensorType]:
    """Return the types of the body's results.

    The types of captured values follow from the results of the scan, since the body lacks them.
    """
    body = node.regions["body"]
    found: list[TensorType] = []
    for k, (r, t) in enumerate(zip(body.results, node.types, strict=True)):
        one = body.types[r.value] if r.value in body.types else _of_iteration(node, k, n_states, t)
        found.append(_tensor(one))
    return found


def _of_iteration(node: Node, k: int, n_states: int, t: Type) -> Type:
    """Return the type of a result in one iteration, from the type of the scan's result."""
    if not isinstance(t, TensorType) or not t.is_ranked:
        return t
    dims = t.dims[1:] if is_batched(node) else t.dims
    if k < n_states:
        return TensorType(t.dtype, dims)
    axis = 0 if is_batched(node) else entry(node, "scan_output_axes", k - n_states) % len(dims)
    return TensorType(t.dtype, (*dims[:axis], *dims[axis + 1 :]))


def _to_front(x: Tensor, axis: int) -> Operand:
    at = axis % x.rank
    if not at:
        return x
    return transpose(x, perm=(at, *(i for i in range(x.rank) if i != at)))


def _from_front(x: Operand, rank: int, axis: int) -> Operand:
    order = list(range(1, rank))
    order.insert(axis % rank, 0)
    return transpose(x, perm=tuple(order))


def _batched(node: Node, operands: Sequence[Tensor | None]) -> tuple[Operand, ...]:
    """Nest the scan of one sequence in a scan over the batch."""
    if operands[0] is not None:
        raise CompileError(
            "E-SHAPE-OPEN", "the lengths of the sequences are known only at run time"
        )
    given, n = _all(operands[1:]), n_scanned(node)
    batch, length = given[-1].shape[:2]
    rows = [Value(f"row{k}", TensorType(t.dtype, t.shape[1:])) for k, t in enumerate(given)]
    body = node.regions["body"]
    n_states = len(given) - n
    ends = _results_of_iteration(node, n_states)
    inner = tuple(
        t if k < n_states else TensorType(t.dtype, (length, *t.dims)) for k, t in enumerate(ends)
    )
    attrs: Mapping[str, Any] = {
        "num_scan_inputs": n,
        "scan_input_directions": tuple(node.attrs.get("directions") or (0,) * n),
        "opset": OPSET,
    }
    editor = Editor(Graph("sequence", tuple(rows), (), ()))
    parts = [editor.tensor(v.name) for v in rows]
    one = Regioned(node.op, tuple(parts), attrs, {"body": body}, inner)
    made = [editor.build(one.out(k), hint="part") for k in range(len(inner))]
    editor.results = [Result(f"part{k}", v) for k, v in enumerate(made)]
    outer = tuple(TensorType(t.dtype, (batch, *t.dims)) for t in inner)
    every = {"num_scan_inputs": len(given), "opset": OPSET}
    region = without_origins(editor.graph())
    whole = Regioned(node.op, tuple(given), every, {"body": region}, outer)
    return tuple(whole.out(k) for k in range(len(outer)))


def _all(operands: Sequence[Tensor | None]) -> list[Tensor]:
    assert all(x is not None for x in operands), "a Scan has all its operands"
    return [x for x in operands if x is not None]


def _tensor(t: object) -> TensorType:
    if not isinstance(t, TensorType):
        raise CompileError("E-SHAPE-OPEN", f"an iteration returns {t}, not a tensor")
    return t
