"""Attributes of window operators as placeholders, and the sizes and positions of windows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compiler.ir.operator import Tensor
from compiler.ir.types import Dim
from compiler.ops.convolution.window import Window
from compiler.ops.pooling.geometry import Pooling
from compiler.passes.rules.affine_parts import Objection, attributes

CONV = attributes("strides", "pads", "dilations", "groups", "auto_pad")
DECONV = attributes(
    "strides", "pads", "output_padding", "dilations", "groups", "output_shape", "auto_pad"
)
MAX_POOL = attributes("kernel", "strides", "pads", "dilations", "ceil_mode", "auto_pad")


def empty_window(attrs: Mapping[str, Any]) -> str:
    """Return the reason that a pool window may lie entirely in the padding, or "" if none can."""
    kernel, n = attrs["kernel"], len(attrs["kernel"])
    pads = attrs["pads"] if attrs["auto_pad"] == "notset" else (0,) * (2 * n)
    for d, size in enumerate(kernel):
        widest = max(pads[d], pads[n + d])
        if widest >= size:
            return f"windows of size {size} fit into the {widest} rows of padding"
        if attrs["dilations"][d] != 1 and (widest or attrs["auto_pad"] != "notset"):
            return f"windows with dilation {attrs['dilations'][d]} may skip over the image"
    return ""


def spatial_dims(x: Tensor) -> tuple[Dim, ...]:
    """Return the spatial sizes of a tensor. Errors: Objection if its rank is open."""
    if x.type.shape is None:
        raise Objection(f"the rank of {x.name} is open")
    return x.shape[2:]


def spatial_sizes(x: Tensor) -> list[int]:
    """Return the spatial sizes as numbers. Errors: Objection if a size is open."""
    sizes = [size for size in spatial_dims(x) if isinstance(size, int)]
    if len(sizes) < x.rank - 2:
        raise Objection(f"the size of {x.name} is open")
    return sizes


def placed(x: Tensor, pooling: Pooling, sizes: list[int]) -> tuple[list[int], list[int], Window]:
    """Return sizes, positions and window of a pool. Errors: Objection for zero sizes."""
    places = [int(n) for n in pooling.places(sizes)]
    if not all(sizes) or not all(places):
        raise Objection(f"{x.name} or its pool has no elements")
    return sizes, places, pooling.window(sizes)
