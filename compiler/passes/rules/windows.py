"""Placeholders for the attributes of window operators, each named after its attribute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compiler.passes.rules.affine_parts import attributes

CONV = attributes("strides", "pads", "dilations", "groups", "auto_pad")
DECONV = attributes(
    "strides", "pads", "output_padding", "dilations", "groups", "output_shape", "auto_pad"
)
MAX_POOL = attributes("kernel", "strides", "pads", "dilations", "ceil_mode", "auto_pad")


def empty_window(attrs: Mapping[str, Any]) -> str:
    """Return the reason that pool windows may be entirely in the padding, or "" if they are not."""
    kernel, n = attrs["kernel"], len(attrs["kernel"])
    pads = attrs["pads"] if attrs["auto_pad"] == "notset" else (0,) * (2 * n)
    for d, size in enumerate(kernel):
        widest = max(pads[d], pads[n + d])
        if widest >= size:
            return f"windows of {size} fit into {widest} rows of padding"
        if attrs["dilations"][d] != 1 and (widest or attrs["auto_pad"] != "notset"):
            return f"windows with dilation {attrs['dilations'][d]} may skip over the image"
    return ""
