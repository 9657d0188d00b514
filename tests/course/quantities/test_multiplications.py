"""Tests of the count of multiplications, against counts by hand."""

from __future__ import annotations

import pytest

from compiler.passes.pipeline.run import run_pipeline
from compiler.passes.pipeline.text import parse_pipeline
from course.graphs import read_graph
from course.quantities.multiplications import multiplications
from course.quantities.subject import Subject

PIPELINE = "fuse,assign_layout,choose_algorithms"


def counted(text: str, pipeline: str = "none") -> float:
    graph = run_pipeline(read_graph(text), parse_pipeline(pipeline))[0]
    return multiplications(Subject(graph))


CONV = """graph g(x: f32[1,64,30,26]) {
  const w: f32[80,64,3,3] = seeded(1, 0.1)
  a = conv(x, w, strides=[1,1], pads=[1,1,1,1], dilations=[1,1])
  y = relu(a)
  return y
}"""


@pytest.mark.parametrize(
    ("pipeline", "places"),
    [
        ("none", 30 * 26 * 9),
        (PIPELINE, 15 * 13 * 16),
        (f"{PIPELINE}{{budget=0.001}}", 8 * 7 * 36),
    ],
)
def test_a_convolution_has_those_of_its_algorithm(pipeline: str, places: int) -> None:
    assert counted(CONV, pipeline) == 64 * 80 * places


ELEMENTS = """graph g(x: f32[6,7], z: f32[6,7], v: f32[7,5]) {
  const half: f32[] = splat(0.5)
  a = mul(x, z)
  b = mul(a, half)
  c = exp(b)
  y = matmul(c, v)
  return y
}"""


@pytest.mark.parametrize("pipeline", ["none", "fuse"])
def test_products_with_constants_do_not_count(pipeline: str) -> None:
    assert counted(ELEMENTS, pipeline) == 42 + 6 * 7 * 5


BRANCHES = """graph g(x: f32[6,7], v: f32[7,5], z: f32[6,5], c: bool[]) {
  y = onnx.If(c, opset=16) {
    then_branch: graph then() {
      a = matmul(x, v)
      return a
    }
    else_branch: graph otherwise() {
      b = neg(z)
      return b
    }
  }
  return y
}"""


def test_regions_read_values_of_the_graph_around_them() -> None:
    assert counted(BRANCHES) == 6 * 7 * 5
