"""The export of ONNX Runtime's quantized operators, which the import decomposes.

The nodes that the import creates for one quantized operator have the same origin. In models without
these operators, computations on dequantized floats remain standard operators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from compiler.dataclass import dataclass
from compiler.ir.graph import Attribute, Node
from compiler.ir.operator import Array
from compiler.ir.types import DType, TensorType

if TYPE_CHECKING:
    from compiler.export.combine import Work

DOMAIN_VERSION = 1
BYTES = (DType.u8, DType.i8)

Attributes = Callable[[Node], dict[str, Attribute] | None]


@dataclass(frozen=True)
class _Operator:
    """A quantized operator; `attrs` converts a node's attributes, or returns None."""

    op_type: str
    attrs: Attributes = lambda n: {}
    result_first: bool = False


def _pool(node: Node) -> dict[str, Attribute] | None:
    a = node.attrs
    dilations = a["dilations"]
    assert isinstance(dilations, tuple), f"{node.name} has the dilations {dilations}"
    if a["auto_pad"] != "notset" or any(d != 1 for d in dilations):
        return None
    return {
        "kernel_shape": a["kernel"],
        "strides": a["strides"],
        "pads": a["pads"],
        "ceil_mode": int(bool(a["ceil_mode"])),
        "count_include_pad": int(bool(a["count_include_pad"])),
    }


def _mean(node: Node) -> dict[str, Attribute] | None:
    images = node.attrs["axes"] == tuple(range(2, node.tensor.rank))
    return {} if images and node.attrs["keepdims"] else None


OPERATORS: Mapping[str, _Operator] = {
    "add": _Operator("QLinearAdd"),
    "mul": _Operator("QLinearMul"),
    "sigmoid": _Operator("QLinearSigmoid"),
    "leaky_relu": _Operator("QLinearLeakyRelu", lambda n: {"alpha": n.attrs["alpha"]}),
    "concat": _Operator("QLinearConcat", lambda n: {"axis": n.attrs["axis"]}, True),
    "average_pool": _Operator("QLinearAveragePool", _pool),
    "reduce_mean": _Operator("QLinearGlobalAveragePool", _mean),
}
"""Quantized operators by float operator; QLinearSoftmax is missing because its attribute `opset`
has a reserved name."""


def on_codes(work: Work, node: Node, scale: Array) -> bool:
    """Recombine the quantized operator that ends in a quantize node; return whether one matches.

    `scale` is the scale of the quantize node.
    """
    made = work.graph.producers.get(node.inputs[0])
    known = OPERATORS.get(made.op) if made is not None else None
    if made is None or known is None or work.inner(node.inputs[0], made.op) is None:
        return False
    attrs = known.attrs(made)
    if made.origins != node.origins or len(node.origins) != 1 or attrs is None:
        return False
    found = [_codes(work, i) for i in made.inputs]
    operands = [f for f in found if f is not None]
    zero = _one(work, node.inputs[2] if len(node.inputs) > 2 else "", node)
    if len(operands) != len(found) or zero is None:
        return False
    given = [i for codes in operands for i in (codes.inputs[0], *_parameters(work, codes))]
    result = [work.constant(node.output, scale), work.constant(node.output, zero)]
    work.combine(
        node,
        [made, node],
        f"com.microsoft.{known.op_type}",
        [*result, *given] if known.result_first else [*given, *result],
        attrs,
    )
    work.set_version(node, DOMAIN_VERSION)
    work.loose.update(codes.output for codes in operands)
    return True


def _codes(work: Work, value: str) -> Node | None:
    """Match a node that dequantizes bytes by one scale and zero point."""
    node = work.graph.producers.get(value)
    if node is None or node.op != "dequantize" or node.output in work.taken:
        return None
    t, scale = work.type(node.inputs[0]), work.known(node.inputs[1])
    if t is None or t.dtype not in BYTES or scale is None or scale.type.n_elements != 1:
        return None
    return node if _zero(work, node, t) is not None else None


def _parameters(work: Work, codes: Node) -> tuple[str, str]:
    scale, t = work.known(codes.inputs[1]), work.type(codes.inputs[0])
    assert scale is not None, f"{codes.name} has no known scale"
    assert t is not None, f"{codes.name} reads no tensor"
    zero = _zero(work, codes, t)
    assert zero is not None, f"{codes.name} has no known zero point"
    one = scale.array().reshape(()).astype(np.float32)
    return work.constant(codes.output, one), work.constant(codes.output, zero)


def _zero(work: Work, codes: Node, t: TensorType) -> Array | None:
    point = codes.inputs[2] if len(codes.inputs) > 2 else ""
    if not point:
        return np.zeros((), t.dtype.numpy)
    known = work.known(point)
    if known is None or known.type.n_elements != 1:
        return None
    return known.array().reshape(())


def _one(work: Work, point: str, node: Node) -> Array | None:
    """Return the zero point of a node's output as one number."""
    dtype = node.attrs["to"]
    assert isinstance(dtype, DType), f"{node.name} has results of {dtype}"
    if dtype not in BYTES:
        return None
    if not point:
        return np.zeros((), dtype.numpy)
    known = work.known(point)
    return known.array().reshape(()) if known is not None and known.type.n_elements == 1 else None


def quantized(work: Work, node: Node) -> None:
    """Recombine a quantized operator with its quantize node, if the scale is one known number."""
    scale = work.known(node.inputs[1])
    if scale is not None and scale.type.n_elements == 1 and scale.type.dtype is DType.f32:
        on_codes(work, node, scale.array().reshape(()))
