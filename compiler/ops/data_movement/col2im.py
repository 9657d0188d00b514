"""Assembly of images from columns of overlapping blocks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.errors import require
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.operator import Array, Call, Cost, OnnxCall, Operand, Tensor, op, standard
from compiler.ir.types import Dim, TensorType
from compiler.ops.convolution.window import extent
from compiler.ops.type_rules.dims import known_value, length, open_dim, parameter, sizes_of
from compiler.ops.type_rules.requirements import (
    require_elements,
    require_rank,
    require_size,
    traffic,
)

Ints = tuple[int, ...]


@op(kind="reduction", exact=False)
def col2im(
    x: Tensor, image: Tensor, block: Tensor, *, strides: Ints, pads: Ints, dilations: Ints
) -> TensorType:
    """Assemble images from columns of one block each; overlapping blocks are added.

    Shapes: `image` and `block` list the spatial sizes; x is [N, C * block elements, block
    positions], the result [N, C, *image]. The pads (all begins, then all ends) are cropped from the
    image.
    Errors: E-OP-SHAPE, E-OP-DTYPE, E-OP-ATTRIBUTE.
    Source: ONNX Col2Im-18.
    """
    require_elements("col2im", "number", x)
    require_rank("col2im", x, [3])
    n_axes = length(parameter(image, "the sizes of the image"))
    if not isinstance(n_axes, int) or length(parameter(block, "the block's sizes")) != n_axes:
        return TensorType(x.dtype, None)
    fits = len(strides) == len(dilations) == n_axes and len(pads) == 2 * n_axes
    found = f"strides {strides}, pads {pads}, dilations {dilations}"
    message = (
        f"col2im on {n_axes} axes needs one positive stride and dilation per axis, got {found}"
    )
    require(fits and min((*strides, *dilations), default=1) > 0, "E-OP-ATTRIBUTE", message)
    channels: Dim = open_dim(1, x, block)
    if block.value is not None:
        taps, rows = math.prod(block.known.tolist()), x.shape[1]
        fits = taps > 0 and (not isinstance(rows, int) or rows % taps == 0)
        require(fits, "E-OP-SHAPE", f"{x.type} does not consist of blocks of {taps} elements")
        channels = affine.floordiv(rows, taps)
    if image.value is None:
        spatial: list[Dim] = [open_dim(2 + d, image) for d in range(n_axes)]
    else:
        spatial = sizes_of(image.value)
        if block.value is not None:
            places = _places(spatial, block.known.tolist(), strides, pads, dilations)
            require_size("col2im", "the block positions of x", x.shape[2], math.prod(places))
    return TensorType(x.dtype, (x.shape[0], channels, *spatial))


def _places(image: Any, block: Any, strides: Ints, pads: Ints, dilations: Ints) -> list[Any]:
    """Return the number of positions of blocks along each spatial axis."""
    n = len(strides)
    return [
        (image[d] + pads[d] + pads[n + d] - extent(block[d], dilations[d])) // strides[d] + 1
        for d in range(n)
    ]


@col2im.reference
def _(x: Array, image: Array, block: Array, *, strides: Ints, pads: Ints, dilations: Ints) -> Array:
    sizes, taps, n = image.tolist(), block.tolist(), len(strides)
    places = _places(sizes, taps, strides, pads, dilations)
    columns = x.reshape(len(x), -1, *taps, *places)
    padded = np.zeros(
        (*columns.shape[:2], *(sizes[d] + pads[d] + pads[n + d] for d in range(n))), x.dtype
    )
    for tap in itertools.product(*map(range, taps)):
        index = tuple(
            slice(t * dilations[d], t * dilations[d] + strides[d] * places[d], strides[d])
            for d, t in enumerate(tap)
        )
        padded[:, :, *index] += columns[:, :, *tap]
    return padded[:, :, *(slice(pads[d], pads[d] + sizes[d]) for d in range(n))]


@col2im.cost
def _(x: TensorType, image: TensorType, block: TensorType, *, out: TensorType, **_: Any) -> Cost:
    return traffic([x], out, x.n_elements)


@col2im.lower
def _(
    k: Lowering,
    x: Handle,
    image: Handle,
    block: Handle,
    out: Handle,
    *,
    strides: Ints,
    pads: Ints,
    dilations: Ints,
) -> None:
    known_value(image, "the size of the image")
    sizes = sizes_of(known_value(block, "the size of a block"))
    places = _places(out.shape[2:], sizes, strides, pads, dilations)
    n, c, *at = k.axes(out.shape, "ncyxz")
    taps = k.axes(sizes, "tuv")
    row: Expr = c
    column: Expr = 0
    tests: list[tuple[Expr, Expr]] = []
    for d, (i, tap) in enumerate(zip(at, taps, strict=True)):
        behind = i + pads[d] - tap * dilations[d]
        place = behind // strides[d]
        tests.append((place, places[d]))
        if strides[d] > 1:
            tests.append((behind % strides[d], 1))
        row = row * sizes[d] + tap
        column = column * places[d] + place
    element = k.inside(tests, x[n, row, column], 0)
    k.assign(out[n, c, *at], k.sum(element, over=taps))


@col2im.onnx("Col2Im")
def _(call: OnnxCall) -> Call | None:
    n = length(call.operand(1))
    if not isinstance(n, int):
        return None
    return col2im(
        *(call.operand(i) for i in range(3)),
        strides=tuple(call.attr("strides") or (1,) * n),
        pads=tuple(call.attr("pads") or (0,) * (2 * n)),
        dilations=tuple(call.attr("dilations") or (1,) * n),
    )


@col2im.export
def _(
    x: Tensor, image: Tensor, block: Tensor, *, strides: Ints, pads: Ints, dilations: Ints
) -> Operand:
    return standard("Col2Im", x, image, block, strides=strides, pads=pads, dilations=dilations)


@col2im.samples
def _() -> Iterator[tuple[Any, ...]]:
    plain: dict[str, Any] = {"strides": (1, 1), "pads": (0,) * 4, "dilations": (1, 1)}
    yield ["f32[2,12,8]", np.array([4, 5]), np.array([3, 2])], plain
    odd = {"strides": (2, 3), "pads": (1, 0, 2, 1), "dilations": (1, 2)}
    yield ["f32[1,6,8]", np.array([6, 9]), np.array([2, 3])], odd
    line = {"strides": (2,), "pads": (1, 1), "dilations": (3,)}
    yield ["i32[2,6,3]", np.array([6]), np.array([2])], line
