"""The attributes of sliding windows as patterns take them: each a placeholder of its own name."""

from __future__ import annotations

from compiler.passes.rules.affine_parts import attributes

CONV = attributes("strides", "pads", "dilations", "groups", "auto_pad")
DECONV = attributes(
    "strides", "pads", "output_padding", "dilations", "groups", "output_shape", "auto_pad"
)
MAX_POOL = attributes("kernel", "strides", "pads", "dilations", "ceil_mode", "auto_pad")
