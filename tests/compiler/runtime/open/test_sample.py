"""Tests of the sizes of an example plan."""

from __future__ import annotations

import pytest

import compiler
from compiler.ir import affine
from compiler.ir.graph import Graph
from compiler.runtime.open.build import NotOpen, _sample


def graph(*sizes: str) -> Graph:
    lines = "".join(
        f"  y{i}: f32[{size}] = onnx.ReduceSum(x, axes, keepdims=0, opset=18)\n"
        for i, size in enumerate(sizes)
    )
    results = ", ".join(f"y{i}" for i in range(len(sizes)))
    return compiler.parse(f"graph g(x: f32[N,M], axes: i64[1]) {{\n{lines}  return {results}\n}}\n")


def sizes_of(*sizes: str) -> list[int]:
    found = _sample(graph(*sizes), None)
    return [int(str(affine.substitute(affine.parse(size), found))) for size in sizes]


@pytest.mark.parametrize(
    "sizes",
    [
        ("N-500", "M+1"),  # a window larger than the assumed size
        ("max(0, min(6, M)-max(0, M-9))-2", "N"),  # a slice from the end: only 2 <= M <= 13
        ("max(0, min(6, M)-max(0, M-9))-2", "N-500"),  # both
    ],
)
def test_no_size_is_negative(sizes: tuple[str, ...]) -> None:
    assert min(sizes_of(*sizes)) >= 0


def test_a_model_without_possible_sizes_has_no_example_plan() -> None:
    with pytest.raises(NotOpen):
        _sample(graph("-1-M", "N"), None)
