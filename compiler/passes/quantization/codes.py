"""The operands of a dequantize: quantized integers, scales and zero points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from compiler.dataclass import dataclass
from compiler.ir.constant import Constant
from compiler.ir.editor import Editor
from compiler.ir.graph import Node
from compiler.ir.operator import Array
from compiler.ir.types import DType

BYTES = (DType.u8, DType.i8)
LOW, HIGH = -128, 127
"""The range of i8."""


@dataclass(frozen=True, slots=True)
class Codes:
    """Quantized integers `codes` with one constant scale; they represent scale * (codes - zero)."""

    value: str
    scale: np.float32
    zero: int
    node: Node


@dataclass(frozen=True, slots=True)
class RunCodes:
    """Quantized integers, and the names of a scale and zero point known only at run time."""

    value: str
    scale: str
    zero: str
    node: Node


@dataclass(frozen=True, slots=True)
class Weights:
    """Constant quantized weights minus their zero points, with scales.

    `scale` is a single number, or a number for each index along `axis`.
    """

    codes: Array
    scale: Array
    axis: int
    nodes: tuple[Node, ...]

    def turned(self, perm: tuple[int, ...], *by: Node) -> Weights:
        """Permute the axes of the weights."""
        axis = perm.index(self.axis)
        return Weights(self.codes.transpose(perm), self.scale, axis, (*self.nodes, *by))


def codes_of(ed: Editor, value: str) -> Codes | str:
    """Return the quantized integers of a dequantized value, or the reason against their use."""
    node = ed.producer(value)
    if node is None or node.op != "dequantize":
        return f"{value} is not dequantized"
    found = _parameters(ed, node)
    if isinstance(found, str):
        return found
    scale, zero = found
    if scale.size != 1 or zero.size != 1:
        return f"{value} has {scale.size} scales, but sums over its channels require a single scale"
    return Codes(node.inputs[0], np.float32(scale.reshape(-1)[0]), int(zero.reshape(-1)[0]), node)


def run_codes_of(ed: Editor, value: str) -> RunCodes | None:
    """Return the operands of a u8 dequantize with a scale known only at run time, else None."""
    node = ed.producer(value)
    if node is None or node.op != "dequantize" or node.attrs["block_size"]:
        return None
    codes, scale, zero = node.inputs[0], node.inputs[1], operand(node, 2)
    if not zero or ed.constant(scale) is not None or ed.tensor(codes).dtype is not DType.u8:
        return None
    single = all(ed.tensor(v).type.is_static and ed.tensor(v).rank == 0 for v in (scale, zero))
    is_f32 = node.tensor.dtype is DType.f32 is ed.tensor(scale).dtype
    return RunCodes(codes, scale, zero, node) if single and is_f32 else None


def weights_of(ed: Editor, value: str) -> Weights | str:
    """Return the constant integers of dequantized weights, or the reason against their use.

    A transpose, or a squeeze of the first axis, may follow the dequantize. The weights may also be
    the slice of recurrent weights for one direction.
    """
    node = ed.producer(value)
    if node is not None and node.op in MOVED:
        return MOVED[node.op](ed, node, value)
    if node is None or node.op != "dequantize":
        return f"{value} is not dequantized"
    stored = _constant(ed, node.inputs[0])
    if stored is None:
        return f"the weights {node.inputs[0]} are not constant"
    found = _parameters(ed, node)
    if isinstance(found, str):
        return found
    scale, zero = found
    axis = int(node.attrs["axis"]) % max(stored.ndim, 1)
    along = [-1 if d == axis else 1 for d in range(stored.ndim)]
    origin = zero.reshape(along if zero.size > 1 else ())
    return Weights(stored.astype(np.int32) - origin, scale.reshape(-1), axis, (node,))


def _squeezed(ed: Editor, node: Node, value: str) -> Weights | str:
    if node.attrs["axes"] != (0,):
        return f"{value} is not dequantized"
    inner = weights_of(ed, node.inputs[0])
    if isinstance(inner, str):
        return inner
    if inner.axis == 0 and inner.scale.size > 1:
        return f"{value} squeezes the axis of its scales"
    axis = max(inner.axis - 1, 0)
    return Weights(inner.codes[0], inner.scale, axis, (*inner.nodes, node))


def _transposed(ed: Editor, node: Node, value: str) -> Weights | str:
    inner = weights_of(ed, node.inputs[0])
    return inner if isinstance(inner, str) else inner.turned(tuple(node.attrs["perm"]), node)


def _part(ed: Editor, node: Node, value: str) -> Weights | str:
    """Return weights sliced along the first axis, whose matrices may have separate scales."""
    found, at = _scaled(ed, node.inputs[0]), _first_and_end(ed, node, value)
    if found is None or at is None:
        return f"{value} is not dequantized"
    codes, scale = found[0][slice(*at)], found[1][slice(*at)]
    along = [d for d, n in enumerate(scale.shape) if n > 1]
    if len(along) > 1:
        return f"{value} has scales along {len(along)} axes; a single axis is supported"
    return Weights(codes, scale.reshape(-1), along[0] if along else 1, (*found[2], node))


MOVED: dict[str, Callable[[Editor, Node, str], Weights | str]] = {
    "transpose": _transposed,
    "squeeze": _squeezed,
    "slice": _part,
    "split": _part,
}
"""Operators allowed between dequantized weights and their product: for each operator, the function
that applies the operator to the weights."""


def _first_and_end(ed: Editor, node: Node, value: str) -> tuple[int, int] | None:
    """Return the range of the first axis that a slice selects; None if it slices another axis."""
    if node.op == "split":
        sizes = node.attrs["sizes"]
        k = node.outputs.index(value)
        return None if node.attrs["axis"] or not sizes else (sum(sizes[:k]), sum(sizes[: k + 1]))
    bounds = [ed.known(i) for i in node.inputs[1:]]
    if len(bounds) < 3 or any(b is None or b.size != 1 for b in bounds):
        return None
    first, end, axis, *step = (int(b.reshape(-1)[0]) for b in bounds if b is not None)
    return None if axis or step not in ([], [1]) or first < 0 or end < 0 else (first, end)


def _scaled(ed: Editor, value: str) -> tuple[Array, Array, tuple[Node, ...]] | None:
    """Return constant integers minus zero points, their scales, and the nodes that compute them."""
    node = ed.producer(value)
    if node is not None and node.op == "transpose":
        inner, perm = _scaled(ed, node.inputs[0]), node.attrs["perm"]
        if inner is None:
            return None
        return inner[0].transpose(perm), inner[1].transpose(perm), (*inner[2], node)
    if node is None or node.op != "dequantize" or node.tensor.dtype is not DType.f32:
        return None
    stored, scale = _constant(ed, node.inputs[0]), ed.constant(node.inputs[1])
    name = operand(node, 2)
    zero = ed.constant(name) if name else Constant.of(np.zeros((), np.int32))
    if stored is None or scale is None or zero is None:
        return None
    scales, zeros = (_along(c.array(), node, stored.shape) for c in (scale, zero))
    if scales is None or zeros is None or not (np.isfinite(scales).all() and (scales > 0).all()):
        return None
    return stored.astype(np.int32) - zeros.astype(np.int32), scales.astype(np.float32), (node,)


def _along(values: Array, node: Node, shape: tuple[int, ...]) -> Array | None:
    """Reshape scales or zero points to broadcast to the integers; None for block-wise scales."""
    if values.size == 1:
        return values.reshape((1,) * len(shape))
    if values.ndim == 1 and not node.attrs["block_size"]:
        axis = int(node.attrs["axis"]) % len(shape)
        return values.reshape([-1 if d == axis else 1 for d in range(len(shape))])
    whole = all(n in (1, size) for n, size in zip(values.shape, shape, strict=True))
    return values if whole else None


def _constant(ed: Editor, value: str) -> Array | None:
    """Return the elements of a constant, possibly transposed or squeezed, or None."""
    stored = ed.constant(value)
    if stored is not None:
        return stored.array()
    node = ed.producer(value)
    if node is None or node.op not in ("transpose", "squeeze"):
        return None
    inner = _constant(ed, node.inputs[0])
    if inner is None:
        return None
    if node.op == "transpose":
        return inner.transpose(node.attrs["perm"])
    return inner.reshape(ed.tensor(value).type.static_shape)


def _parameters(ed: Editor, node: Node) -> tuple[Array, Array] | str:
    """Return the scales and zero points of a dequantize of bytes, or the reason for rejection."""
    if node.tensor.dtype is not DType.f32 or node.attrs["block_size"]:
        return f"{node.output} has block-wise scales, or is not f32"
    if ed.tensor(node.inputs[0]).dtype not in (*BYTES, DType.i32):
        return f"the elements of {node.inputs[0]} are {ed.tensor(node.inputs[0]).dtype}, not bytes"
    scale = ed.constant(node.inputs[1])
    name = operand(node, 2)
    zero = ed.constant(name) if name else None
    if scale is None or (name and zero is None):
        return f"the scale or zero point of {node.output} is not known at compile time"
    scales = scale.array().astype(np.float32)
    if not (np.isfinite(scales).all() and (scales > 0).all()):
        return f"the scales of {node.output} are not all positive"
    origin = np.zeros((), np.int32) if zero is None else zero.array().astype(np.int32)
    return scales, origin


LANES = 16
"""Number of adjacent channels in a block, and of i32 accumulators in the widest vectors."""


def objection_to_groups(groups: int, n_filters: int, per_group: int) -> str:
    """Return the reason that a grouped convolution cannot use integers, or "" if it can."""
    own = per_group == 1 and n_filters == groups >= LANES
    whole = per_group % LANES == 0 and (n_filters // groups) % LANES == 0
    if groups == 1 or own or whole:
        return ""
    return (
        f"{groups} groups of {per_group} channels and {n_filters // groups} filters do not fill "
        f"vectors of {LANES}"
    )


def operand(node: Node, at: int) -> str:
    """Return an optional operand, or "" if it is omitted."""
    return node.inputs[at] if at < len(node.inputs) else ""


def as_bytes(codes: Array) -> Array | None:
    """Convert integers to i8; return None if an integer does not fit."""
    if codes.size and (codes.min() < LOW or codes.max() > HIGH):
        return None
    return codes.astype(np.int8)
