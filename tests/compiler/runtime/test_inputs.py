import numpy as np
import pytest

import compiler
from compiler.errors import CompileError
from compiler.reference import check_inputs
from compiler.runtime.assumed import assumed_shapes
from compiler.runtime.inputs import random_inputs


def graph(*inputs: str) -> compiler.Graph:
    first = inputs[0].partition(":")[0]
    return compiler.parse(f"graph g({', '.join(inputs)}) {{\n  return {first}\n}}")


def test_every_type_gets_values_that_the_graph_accepts() -> None:
    g = graph("f: f32[2,3]", "h: bf16[4]", "n: i8[5]", "u: u64[2]", "b: bool[3]", "s: string[2]",
              "c: c64[2]", "z: f32[]", "q: seq(f32[2])")  # fmt: skip
    given = random_inputs(g, seed=3)
    assert list(check_inputs(g, given)) == list(given)
    again = random_inputs(g, seed=3)
    assert np.array_equal(given["f"], again["f"])
    assert not np.array_equal(given["f"], random_inputs(g, seed=4)["f"])


@pytest.mark.parametrize(
    ("type_", "shape"),
    [
        ("f32[N,3,H,W]", (1, 3, 224, 224)),
        ("f32[N,C,H,W]", (1, 3, 224, 224)),
        ("f32[N,3,48,W]", (1, 3, 48, 192)),
        ("f32[N,77]", (1, 77)),
        ("i64[B,T]", (1, 16)),
        ("f32[2*N,5]", (1, 5)),
    ],
)
def test_open_dimensions_get_a_plausible_size(type_: str, shape: tuple[int, ...]) -> None:
    assert assumed_shapes(graph(f"x: {type_}")) == {"x": shape}


def test_a_name_has_one_size_throughout_and_given_shapes_decide() -> None:
    g = graph("x: f32[N,T]", "y: f32[T,4]")
    assert assumed_shapes(g) == {"x": (1, 16), "y": (16, 4)}
    assert assumed_shapes(g, {"x": (3, 9)}) == {"y": (9, 4)}
    made = random_inputs(g, 0, {"x": (3, 9)})
    assert (made["x"].shape, made["y"].shape) == ((3, 9), (9, 4))


def test_static_graphs_leave_nothing_to_assume() -> None:
    assert assumed_shapes(graph("x: f32[2,3]")) == {}


def test_values_that_nothing_is_known_about_have_to_be_given() -> None:
    with pytest.raises(CompileError) as caught:
        random_inputs(graph("x: opaque"))
    assert caught.value.code == "E-INPUT-DTYPE"
