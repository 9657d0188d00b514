"""Tests of loops as exporters write them: lists as step numbers, and sizes with a shared name."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import compiler
from compiler.reference import reference

STEP_AS_LIST = """
<ir_version: 8, opset_import: ["": 18]>
parts (float[N,5,L] x) => (float[a,b,c] first, float[a,b,c] second, float[a,b,c] third) {
  one = Constant <value: tensor = int64[1] {1}> ()
  steps = Constant <value: tensor = int64[1] {2}> ()
  yes = Constant <value: tensor = bool {1}> ()
  ends = Constant <value: tensor = int64[3] {0,1,4}> ()
  none = SequenceEmpty <dtype: int = 1> ()
  cut = Loop (steps, yes, none) <body: graph = body (int64[1] t, bool go, seq(float[a,b,c]) made)
    => (bool on, seq(float[a,b,c]) more) {
      from = Gather <axis: int = 0> (ends, t)
      next = Constant <value: tensor = int64 {1}> ()
      u = Add (t, next)
      to = Gather <axis: int = 0> (ends, u)
      part = Slice (x, from, to, one)
      more = SequenceInsert (made, part)
      on = Identity (yes)
  }>
  four = Constant <value: tensor = int64[1] {4}> ()
  five = Constant <value: tensor = int64[1] {5}> ()
  rest = Slice (x, four, five, one)
  all = SequenceInsert (cut, rest)
  p = Constant <value: tensor = int64 {0}> ()
  first = SequenceAt (all, p)
  q = Constant <value: tensor = int64 {1}> ()
  second = SequenceAt (all, q)
  r = Constant <value: tensor = int64 {2}> ()
  third = SequenceAt (all, r)
}
"""


@pytest.mark.parametrize("shape", [(2, 5, 3), (1, 5, 4)])
def test_tensor_split_of_torchscript_gives_parts_of_several_sizes(
    shape: tuple[int, int, int],
) -> None:
    model = onnx.parser.parse_model(STEP_AS_LIST).SerializeToString()
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    graph = compiler.load(model)
    for made in (reference(graph, {"x": x}), compiler.compile(graph).run({"x": x})):
        for value, needed in zip(made.values(), np.split(x, (1, 4), 1), strict=True):
            np.testing.assert_array_equal(value, needed)


STATE_OF_ONE_SIZE = """
<ir_version: 8, opset_import: ["": 17]>
sums (float[3,L] x) => (float[a,b] last, float[s,a,b] each) {
  steps = Constant <value: tensor = int64 {2}> ()
  last, each = Loop (steps, "", x) <body: graph = body (int64 t, bool go, float[3,4] state)
    => (bool on, float[a,b] more, float[a,b] shown) {
      on = Identity (go)
      column = Constant <value: tensor = float[3,1] {1,2,4}> ()
      more = Add (column, state)
      shown = Identity (more)
  }>
}
"""


@pytest.mark.parametrize("pipeline", ["O0", "default"])
def test_a_state_recorded_for_one_size_stays_open(pipeline: str) -> None:
    model = onnx.parser.parse_model(STATE_OF_ONE_SIZE).SerializeToString()
    program = compiler.compile(compiler.load(model), pipeline=pipeline)
    for n in (4, 7):
        x = np.arange(3 * n, dtype=np.float32).reshape(3, n)
        one = np.array([[1], [2], [4]], np.float32)
        made = program.run({"x": x})
        np.testing.assert_array_equal(made["last"], x + 2 * one)
        np.testing.assert_array_equal(made["each"], [x + one, x + 2 * one])


SIZES_OF_ONE_FILE = {
    "a state whose size no inference relates to the inputs": """
  parts = SequenceConstruct (x)
  state = ConcatFromSequence <axis: int = 1> (parts)
  last, y = Loop (steps, "", state) <body: graph = body (int64 t, bool go, float[3,1] s)
    => (bool on, float[a,b] more, float[a,b] half) {
      on = Identity (go)
      half = Mul (s, s)
      more = Add (s, x)
  }>""",
    "an element of a sequence": """
  parts = SequenceConstruct (x, x)
  made = SequenceMap (parts) <body: graph = body (float[3,1] s) => (float[a,b] more) {
      more = Mul (s, s)
  }>
  y = ConcatFromSequence <axis: int = 0, new_axis: int = 1> (made)
""",
    "a slice of a scan": """
  y = Scan <num_scan_inputs = 1, body: graph = body (float[1] s) => (float[a] more) {
      more = Mul (s, s)
  }> (x)
""",
}


@pytest.mark.parametrize("pipeline", ["O0", "default"])
@pytest.mark.parametrize("nodes", SIZES_OF_ONE_FILE.values(), ids=SIZES_OF_ONE_FILE)
def test_a_size_recorded_in_a_body_does_not_hold_for_other_inputs(
    nodes: str, pipeline: str
) -> None:
    text = f"""<ir_version: 9, opset_import: ["": 18]>
    open (float[3,n] x) => (float[p,q,r] y) <int64 steps = {{2}}> {{ {nodes} }}"""
    program = compiler.compile(
        compiler.load(onnx.parser.parse_model(text).SerializeToString()), pipeline=pipeline
    )
    for n in (1, 4):
        x = np.arange(1, 3 * n + 1, dtype=np.float32).reshape(3, n)
        (y,) = program.run({"x": x}).values()
        square = x * x
        if "Loop" in nodes:
            square = np.stack([square, 4 * square])
        elif "SequenceMap" in nodes:
            square = np.stack([square, square])
        np.testing.assert_array_equal(y, square)
