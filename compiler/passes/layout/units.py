"""Kernels and their constraints on the layouts of operands and results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from compiler.dataclass import dataclass
from compiler.ir.constant import Constant
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import OPERATORS, with_trait
from compiler.ir.types import Dim, DType, TensorType, Type
from compiler.ops.convolution.conv_transpose import Spreading, reach_of_phases
from compiler.ops.convolution.window import Window, extent, output_dims, resolve_pads, tap_parts

CHANNELWISE = with_trait("channelwise")
"""Operators that compute each channel separately, and so accept any layout of channels."""

REDUCTIONS = with_trait("axis_reduction") - with_trait("staged")
"""Reductions that are channelwise if they reduce only pixels, with `keepdims`."""

PIECES = {"concat", "split"}
"""Operators that copy parts of tensors, and so can read and write different layouts."""

SCATTERING = with_trait("scattering")
"""Operators whose generated code stores the result in plain (row-major) order."""

READERS = {"quantization_range", "window_sums"}
"""Operators that read an image in any layout, and return no image."""

ELEMENTS = frozenset({DType.f32, DType.u8, DType.i8})
"""Element types of images with assigned layouts."""

UnitKind = Literal["flexible", "pieces", "conv", "reader", "other"]


@dataclass(frozen=True, slots=True)
class Unit:
    """A node as a kernel, classified by the layouts that it accepts.

    `flexible` kernels are channelwise or elementwise, with equal layouts of operands and results.
    `pieces` kernels concatenate or split tensors. `conv` kernels are convolutions with epilogues.
    `reader` kernels accept any layout and return no image. `other` kernels read and write plain
    order.
    """

    node: Node
    kind: UnitKind
    anchor: Node | None
    operand_of: Mapping[str, str]
    """The operand of the node for each input of a fusion's body."""

    @property
    def data(self) -> str:
        """The name of a convolution's image operand in the graph."""
        assert self.anchor is not None
        return self.operand_of[self.anchor.inputs[0]]

    @property
    def sums_bytes(self) -> bool:
        """Whether this is a convolution of bytes, whose instructions sum four adjacent channels."""
        return self.anchor is not None and self.anchor.op == "conv_codes"

    @property
    def around(self) -> int:
        """The value of the halo of a convolution's image."""
        return int(self.anchor.attrs["around"]) if self.anchor and self.sums_bytes else 0

    @property
    def weights(self) -> str:
        """The name of a convolution's weights in the graph."""
        assert self.anchor is not None
        return self.operand_of[self.anchor.inputs[1]]


def unit_of(node: Node, graph: Graph) -> Unit:
    """Return the kernel of a node or fusion."""
    nodes, outer = (node,), {i: i for i in node.inputs if i}
    if node.op == "fusion":
        body = node.regions["body"]
        outer = {v.name: i for v, i in zip(body.inputs, node.inputs, strict=True)}
        nodes = body.nodes
    anchors = [n for n in nodes if kind_of(n) != "elementwise"]
    anchor = anchors[0] if anchors else None
    return Unit(node, _unit_kind(node, anchors, outer, graph), anchor, outer)


def _unit_kind(node: Node, anchors: list[Node], outer: Mapping[str, str], graph: Graph) -> UnitKind:
    if node.op in READERS:
        return "reader"
    if not any(is_image(t) for t in node.types):
        return "other"
    if all(_is_channelwise(n, graph) for n in anchors):
        return "flexible"
    if len(anchors) > 1 or not all(is_image(t) for o, t in _outputs(node) if o):
        return "other"
    (anchor,) = anchors
    if node.op in PIECES:
        return "pieces"
    if anchor.op not in _REACH or not all(i in outer for i in anchor.inputs[:2]):
        return "other"
    data = graph.types[outer[anchor.inputs[0]]]
    return "conv" if is_image(data) else "other"


def _outputs(node: Node) -> list[tuple[str, Type]]:
    return list(zip(node.outputs, node.types, strict=True))


def _is_channelwise(node: Node, graph: Graph) -> bool:
    if node.op == "pad":
        return _keeps_channels(node, graph)
    if node.op in REDUCTIONS:
        return bool(node.attrs["keepdims"]) and all(a >= 2 for a in node.attrs["axes"] or (0,))
    return node.op in CHANNELWISE


def _keeps_channels(pad: Node, graph: Graph) -> bool:
    """Whether a pad is known to leave batch and channels unpadded."""
    widths = graph.constants.get(pad.inputs[1])
    if widths is None or any(pad.inputs[3:]):
        return False
    n = widths.type.n_elements // 2
    known = widths.array()
    return not any(known[i] for i in (0, 1, n, n + 1))


def kind_of(node: Node) -> str:
    """Return the kind of a node's operator; `opaque` for foreign operators."""
    return OPERATORS[node.op].kind if node.op in OPERATORS else "opaque"


def is_image(t: Type | None) -> bool:
    """Whether a value has channels and pixels, as layouts require."""
    return (
        isinstance(t, TensorType)
        and t.is_ranked
        and t.rank in (3, 4, 5)
        and t.dtype in ELEMENTS
        and isinstance(t.dims[1], int)
    )


def is_kernel(node: Node) -> bool:
    """Whether the generated code of a node can write its result in any layout.

    Scattering operators and operators without generated code write plain order.
    """
    if node.op == "fusion":
        return True
    stored = kind_of(node) in ("elementwise", "contraction", "reduction", "movement")
    return stored and node.op not in SCATTERING and not node.regions


def stored_weights(unit: Unit, graph: Graph) -> Constant | None:
    """Return the weights of a convolution if they are constant and so can be packed, else None."""
    w = graph.constants.get(unit.weights)
    if w is None or w.type.rank not in (3, 4, 5) or w.type.dtype not in ELEMENTS:
        return None
    return w


def same_channels(a: Type, b: Type) -> bool:
    """Whether two images have the same number of channels, and more than one channel."""
    if not (isinstance(a, TensorType) and isinstance(b, TensorType)):
        return False
    if not (is_image(a) and is_image(b)) or a.rank != b.rank:
        return False
    return a.dims[1] == b.dims[1] != 1


def reach_outside(unit: Unit, graph: Graph, t: TensorType) -> tuple[int, ...]:
    """Return the extent of a convolution's window beyond the borders of its input t."""
    conv = unit.anchor
    assert conv is not None
    weights = graph.types[unit.weights]
    assert isinstance(weights, TensorType)
    if not weights.is_ranked:
        return (0,) * (t.rank - 2)
    sizes, kernel = t.dims[2:], [d for d in weights.dims[2:] if isinstance(d, int)]
    if len(kernel) < len(sizes):
        # The extent is known only at run time: such a convolution tests every position.
        return (0,) * len(sizes)
    return _REACH[conv.op](conv, sizes, kernel)


def _reach_transposed(conv: Node, sizes: Sequence[Dim], kernel: Sequence[int]) -> tuple[int, ...]:
    made = conv.types[0]
    assert isinstance(made, TensorType)
    window = {name: given for name, given in conv.attrs.items() if name != "groups"}
    return reach_of_phases(sizes, made.dims[2:], Spreading(tuple(kernel), **window))


def _reach_of_window(conv: Node, sizes: Sequence[Dim], kernel: Sequence[int]) -> tuple[int, ...]:
    steps, taps = conv.attrs["strides"], conv.attrs["dilations"]
    window = (kernel, steps, conv.attrs["pads"], taps, conv.attrs["auto_pad"])
    before, after = resolve_pads(sizes, *window)
    places = output_dims(sizes, *window)
    if tap_parts(sizes, places, Window(tuple(kernel), steps, taps, before, after)):
        return (0,) * len(sizes)  # No part of the convolution reads outside the image.
    reach: list[int] = []
    for d, size in enumerate(sizes):
        behind = after[d]
        if isinstance(size, int):
            last = (int(places[d]) - 1) * steps[d] + extent(kernel[d], taps[d]) - before[d]
            behind = last - size
        if not (isinstance(before[d], int) and isinstance(behind, int)):
            return (0,) * len(sizes)  # Padding that depends on open sizes requires border tests.
        reach.append(max(before[d], behind, 0))
    return tuple(reach)


_REACH: dict[str, Callable[[Node, Sequence[Dim], Sequence[int]], tuple[int, ...]]] = {
    "conv": _reach_of_window,
    "conv_codes": _reach_of_window,
    "conv_transpose": _reach_transposed,
}
"""For each convolution operator: the extent of the window beyond the borders of the input."""
