"""Tests of the sizes assumed for open dimensions: layout, names, operators, and empty tensors."""

from __future__ import annotations

import pytest

import compiler
from compiler.errors import CompileError
from compiler.frontend.written import PAGE_LIMITS, graph_of
from compiler.ir.infer import specialize
from compiler.runtime.assumed import assumed_shapes, empty_values, shapes_that_fit


def graph(inputs: str, *lines: str) -> compiler.Graph:
    """A graph with the result y, as a written model: inference finds the types."""
    body = "".join(f"    {line}\n" for line in (*lines, "return y"))
    return graph_of(f"def g({inputs}):\n{body}", "py", "g.py", PAGE_LIMITS)


CONV = "conv(t, w, strides=[2, 2], pads=[0, 0, 0, 0], dilations=[1, 1]"


@pytest.mark.parametrize(
    ("image", "channels", "expected"),
    [
        ("a,b,c,d", 3, (1, 224, 224, 3)),
        ("a,b,c,d", 1, (1, 224, 224, 1)),
        ("a,b,c,5", 5, (1, 224, 224, 5)),
        ("a,64,c,d", 3, (1, 64, 256, 3)),
    ],
)
def test_a_transpose_before_a_convolution_shows_the_layout_and_the_channels(
    image: str, channels: int, expected: tuple[int, ...]
) -> None:
    g = graph(
        f"x: f32[{image}], w: f32[8,{channels},3,3]",
        "u = relu(x)",
        "t = transpose(u, perm=[0, 3, 1, 2])",
        f"y = {CONV})",
    )
    assert assumed_shapes(g)["x"] == expected


def test_a_convolution_shows_the_channels_of_its_groups() -> None:
    g = graph("t: f32[N,C,H,W], w: f32[8,2,3,3]", f"y = {CONV}, groups=4)")
    assert assumed_shapes(g)["t"] == (1, 8, 224, 224)


@pytest.mark.parametrize(
    ("type_", "shape"),
    [
        ("f32[N,H,W,3]", (1, 224, 224, 3)),
        ("f32[N,A,B,1]", (1, 224, 224, 1)),
        ("f32[batch,height,width,channels]", (1, 224, 224, 3)),
        ("f32[batch,channels,height,width]", (1, 3, 224, 224)),
        ("f32[N,H,W,C]", (1, 224, 224, 3)),
        ("f32[N,32,W,1]", (1, 32, 128, 1)),
        ("f32[image_height,image_width,3]", (224, 224, 3)),
        ("f32[batch_size,sequence_length]", (1, 16)),
        ("f32[N,T,64]", (1, 16, 64)),
    ],
)
def test_names_and_fixed_sizes_show_the_layout(type_: str, shape: tuple[int, ...]) -> None:
    assert assumed_shapes(graph(f"x: {type_}", "y = relu(x)")) == {"x": shape}


def test_a_product_needs_the_inner_size_and_a_constant_is_a_likely_size() -> None:
    g = graph("x: f32[N,K], w: f32[48,8]", "y = matmul(x, w)")
    assert assumed_shapes(g)["x"] == (1, 48)
    g = graph("x: f32[N,K], w: f32[40]", "y = mul(x, w)")
    assert assumed_shapes(g)["x"] == (1, 40)


def test_sizes_without_empty_tensors_are_preferred() -> None:
    # The window is larger than the usual image.
    g = graph(
        "x: f32[N,3,H,W]",
        "y = max_pool(x, kernel=[250, 250], strides=[1, 1], pads=[0, 0, 0, 0], dilations=[1, 1])",
    )
    assert empty_values(specialize(g, assumed_shapes(g))) == ["y"]
    fitting = shapes_that_fit(g, {})
    assert fitting == {"x": (1, 3, 256, 256)}
    assert not empty_values(specialize(g, fitting))


def test_a_tensor_that_is_always_empty_does_not_prevent_a_guess() -> None:
    g = graph("x: f32[N,4], z: f32[0,4]", "e = relu(z)", "y = concat(x, e, axis=0)")
    assert shapes_that_fit(g, {}) == {"x": (1, 4)}


def test_without_a_fitting_guess_the_first_guess_is_named() -> None:
    g = graph("x: f32[A, B]", "y = reshape(x, [40, 41])")
    with pytest.raises(CompileError) as caught:
        shapes_that_fit(g, {})
    assert caught.value.notes[-1] == "open sizes of the model were assumed: x=1,16"
