"""Tests of padded copies of images: conditions for a copy, and the copied region."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
import compiler.ops
from compiler.compute.computation import Computation, Stage
from compiler.compute.lower import lower_node
from compiler.ir.text import parse_graph
from compiler.schedule.operands.padded import with_padding
from tests.compiler.schedule.test_policy import check

assert compiler.ops.__doc__

WINDOW = "kernel=[3,4], strides=[1,2], pads=[1,2,1,2], dilations=[1,1]"


def computation_of(x: str, line: str) -> Computation:
    graph = parse_graph(f"graph g(x: {x}) {{\n  {line}\n  return y\n}}")
    lowered = lower_node(graph.nodes[0], graph)
    assert lowered is not None
    return lowered.computation


@pytest.mark.parametrize("pool", ["max_pool", "average_pool", "lp_pool"])
def test_windows_that_leave_an_open_image_read_a_padded_copy(pool: str) -> None:
    c = computation_of("f32[2,3,H,W]", f"y: f32[2,3,H,W//2+1] = {pool}(x, {WINDOW})")
    copy, reader = with_padding(c).stages
    assert isinstance(copy, Stage)
    assert isinstance(reader, Stage)
    (read,) = copy.reads
    assert list(map(str, read.index)) == ["p0", "p1", "p2-1", "p3-2"]
    assert copy.target in reader.read_tensors
    assert "inside" not in str(reader.reduce)


def test_large_windows_read_a_copy_of_a_known_image_too() -> None:
    window = "kernel=[5,5], strides=[3,3], pads=[4,4,4,4], dilations=[2,2]"
    c = computation_of("f32[2,3,35,44]", f"y: f32[2,3,12,15] = max_pool(x, {window})")
    made = with_padding(c)
    assert str(made.tensors["PADDED"]) == "f32[2,3,42,51]"
    check(made)


@pytest.mark.parametrize(
    ("x", "y", "window"),
    [
        ("f32[2,3,H,W]", "f32[2,3,H-2,W-3]", "kernel=[3,4], strides=[1,1], pads=[0,0,0,0]"),
        ("f32[2,3,H,W]", "f32[2,3,H//2+1,W//2+1]", "kernel=[2,2], strides=[2,2], pads=[1,1,1,1]"),
        ("f32[2,3,9,7]", "f32[2,3,9,7]", "kernel=[3,3], strides=[1,1], pads=[1,1,1,1]"),
        ("f32[2,16,H,7]{c16}", "f32[2,16,H,7]{c16}",
         "kernel=[3,3], strides=[1,1], pads=[1,1,1,1]"),
    ],
    ids=["not padded", "read once", "small and known", "blocked channels"],
)  # fmt: skip
def test_other_windows_read_the_image(x: str, y: str, window: str) -> None:
    c = computation_of(x, f"y: {y} = max_pool(x, {window}, dilations=[1,1])")
    assert with_padding(c).stages == c.stages


@pytest.mark.parametrize("kernel", [[3, 5], [7, 2]])
@pytest.mark.parametrize("strides", [[1, 1], [2, 3], [3, 1]])
def test_pools_are_right_down_to_empty_images(kernel: list[int], strides: list[int]) -> None:
    (ky, kx), (sy, sx) = kernel, strides
    attrs = f"kernel={kernel}, strides={strides}, pads=[1,1,2,1], dilations=[1,1]"
    graph = compiler.parse(f"""
    graph g(x: f32[N,2,H,W]) {{
      y: f32[N,2,(H+3-{ky})//{sy}+1,(W+2-{kx})//{sx}+1] = max_pool(x, {attrs})
      return y
    }}
    """)
    program = compiler.compile(graph)
    for shape in ((0, 2, 5, 5), (1, 2, 0, 3), (3, 2, 1, 0), (1, 2, 2, 1), (2, 2, 11, 23)):
        x: Any = np.random.default_rng(8).standard_normal(shape, np.float32)
        expected = compiler.reference(graph, {"x": x})["y"]
        np.testing.assert_array_equal(program.run({"x": x})["y"], expected)
