"""The export of an LSTM with quantized weights as ONNX Runtime's operator."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.dataclass import dataclass
from compiler.ir.graph import Node
from compiler.ir.operator import Array

if TYPE_CHECKING:
    from compiler.export.combine import Work

DOMAIN_VERSION = 1


@dataclass(frozen=True)
class _Weights:
    """Weights as bytes [D, I, 4H], with scales and zero points [D] or [D, 4H]."""

    bytes: Array
    scale: Array
    zero: Array
    parts: tuple[Node, ...]


def quantized_lstm(work: Work, node: Node) -> None:
    """Recombine a quantized LSTM, since no standard operator rounds the state of every step."""
    x = _rounded_input(work, node.inputs[0])
    w, r = (_weights(work, i) for i in node.inputs[1:3])
    if not node.attrs["rounded_states"] or node.attrs["layout"] or not (x and w and r):
        return
    given = [*node.inputs[3:8], *[""] * (8 - len(node.inputs))]
    parameters = [work.constant(node.output, a) for a in (w.scale, w.zero, r.scale, r.zero)]
    weights = [work.constant(node.output, a.bytes) for a in (w, r)]
    a = node.attrs
    attrs: dict[str, Any] = {
        "hidden_size": r.bytes.shape[1],
        "direction": a["direction"],
        "input_forget": int(bool(a["input_forget"])),
        "activations": a["activations"] or None,
        "activation_alpha": a["alphas"] or None,
        "activation_beta": a["betas"] or None,
        "clip": a["clip"] or None,
    }
    source, parts = x.source, x.parts
    if x.turned is not None:
        work.made[x.turned.output] = replace(x.turned, inputs=(source,))
        source = x.turned.output
    work.combine(
        node,
        [*parts, *w.parts, *r.parts, node],
        "com.microsoft.DynamicQuantizeLSTM",
        [source, *weights, *given, *parameters],
        {k: v for k, v in attrs.items() if v is not None},
    )
    work.set_version(node, DOMAIN_VERSION)


@dataclass(frozen=True)
class _Input:
    """An input of the LSTM that is quantized and dequantized again, then possibly transposed."""

    source: str
    parts: tuple[Node, ...]
    turned: Node | None


def _rounded_input(work: Work, value: str) -> _Input | None:
    turned = work.inner(value, "transpose")
    back = work.inner(turned.inputs[0] if turned else value, "dequantize")
    there = None if back is None else work.graph.producers.get(back.inputs[0])
    if back is None or there is None or there.op != "dynamic_quantize":
        return None
    if tuple(back.inputs) != tuple(there.outputs):
        return None
    readers = {n.output for o in there.outputs for n in work.graph.users.get(o, ())}
    gone = readers == {back.output} and not set(there.outputs) & work.graph.result_values
    return _Input(there.inputs[0], (back, there) if gone else (back,), turned)


def _weights(work: Work, value: str) -> _Weights | None:
    """Return the stored bytes of weights that are dequantized at run time."""
    parts: list[Node] = []

    def step(op: str, at: str) -> Node | None:
        found = work.inner(at, op)
        if found is not None:
            parts.append(found)
        return found

    turn = step("transpose", value)
    if turn is not None:
        if tuple(turn.attrs["perm"]) != (0, 2, 1):
            return None
        value = turn.inputs[0]
    back = step("dequantize", value)
    if back is None:
        return None
    stored, scale = (work.known(i) for i in back.inputs[:2])
    zero = work.known(back.inputs[2]) if any(back.inputs[2:]) else None
    if scale is None or stored is None or stored.type.dtype.bits != 8:
        return None
    if (any(back.inputs[2:]) and zero is None) or stored.type.rank != 3:
        return None
    raw, factors = stored.array(), scale.array()
    points = np.zeros_like(factors) if zero is None else zero.array()
    if turn is None:
        raw = raw.transpose(0, 2, 1)
    listed = [_by_direction(a, raw) for a in (factors, points)]
    if any(a is None for a in listed):
        return None
    factor, point = (np.asarray(a) for a in listed)
    point = np.broadcast_to(point, factor.shape).astype(raw.dtype)
    return _Weights(np.ascontiguousarray(raw), factor, np.ascontiguousarray(point), tuple(parts))


def _by_direction(values: Array, weights: Array) -> Array | None:
    """Reshape to [D] (one per direction) or [D, 4H] (one per column); None for other sizes."""
    n, columns = weights.shape[0], weights.shape[2]
    if values.size == n * columns:
        return values.reshape(n, columns)
    if values.size == n:
        return values.reshape(n)
    return None
