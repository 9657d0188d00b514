"""Function bodies of operators whose body in the ONNX standard loses digits.

The standard's body of ReduceLogSumExp overflows for elements above 709. The standard's bodies of
window functions compute in f32, even if the result is f64.
"""

from __future__ import annotations

from typing import Any

_REDUCE_LOG_SUM_EXP = """
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

_WINDOW = """
<domain: "", opset_import: ["" : 17]>
{name} <periodic, output_datatype> (size) => (window)
{{
  one = Constant <value = double {{1.0}}> ()
  zero = Constant <value = double {{0.0}}> ()
  turn = Constant <value = double {{6.283185307179586}}> ()
  mean = Constant <value = double {{{mean!r}}}> ()
  first = Constant <value = double {{{first!r}}}> ()
  second = Constant <value = double {{{second!r}}}> ()
  n = Cast <to = 11> (size)
  flag = Constant <value_int: int = @periodic> ()
  is_periodic = Cast <to = 11> (flag)
  is_symmetric = Sub (one, is_periodic)
  period = Sub (n, is_symmetric)
  increment = Div (turn, period)
  steps = Range (zero, n, one)
  angles = Mul (steps, increment)
  waves = Cos (angles)
  lowered = Mul (first, waves)
  raised = Sub (mean, lowered)
  doubled = Add (angles, angles)
  second_waves = Cos (doubled)
  added = Mul (second, second_waves)
  numbers = Add (raised, added)
  window = Cast <to: int = @output_datatype> (numbers)
}}
"""

_TEXTS = {
    "ReduceLogSumExp": _REDUCE_LOG_SUM_EXP,
    "HannWindow": _WINDOW.format(name="HannWindow", mean=0.5, first=0.5, second=0.0),
    "HammingWindow": _WINDOW.format(name="HammingWindow", mean=25 / 46, first=21 / 46, second=0.0),
    "BlackmanWindow": _WINDOW.format(name="BlackmanWindow", mean=0.42, first=0.5, second=0.08),
}


def precise_body(op_type: str) -> Any | None:
    """Return the body of an operator of the ONNX domain as a FunctionProto, or None."""
    import onnx.parser

    text = _TEXTS.get(op_type)
    return None if text is None else onnx.parser.parse_function(text)
