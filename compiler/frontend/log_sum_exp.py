"""The body of ReduceLogSumExp, with the largest element subtracted before the exponentials.

The body of the ONNX standard overflows for elements above 709.
"""

from __future__ import annotations

from typing import Any

NAME = "ReduceLogSumExp"

TEXT = """
<domain: "", opset_import: ["" : 18]>
ReduceLogSumExp <noop_with_empty_axes, keepdims> (data, axes) => (reduced)
{
  wide = Cast <to = 11> (data)
  top = ReduceMax <keepdims = 1, noop_with_empty_axes: int = @noop_with_empty_axes> (wide, axes)
  endless = IsInf (top)
  zero = Constant <value = double {0.0}> ()
  shift = Where (endless, zero, top)
  less = Sub (wide, shift)
  powers = Exp (less)
  sums = ReduceSum <keepdims: int = @keepdims, noop_with_empty_axes: int = @noop_with_empty_axes> (powers, axes)
  logs = Log (sums)
  back = ReduceMax <keepdims: int = @keepdims, noop_with_empty_axes: int = @noop_with_empty_axes> (shift, axes)
  whole = Add (logs, back)
  reduced = CastLike (whole, data)
}
"""  # noqa: E501


def stable_body() -> Any:
    """Return the body as a FunctionProto of opset 18."""
    import onnx.parser

    return onnx.parser.parse_function(TEXT)
