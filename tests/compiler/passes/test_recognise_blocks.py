"""Tests of recognising channel shuffles and blocks of pixels in any decomposition; near misses."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import compiler
from compiler.export import to_onnx
from compiler.ir.graph import Graph
from compiler.passes import PASSES, presets
from compiler.passes.rules.recognise.blocks import order_of
from compiler.trace import Log
from tests.compiler.passes.numbers import assert_same_results, declined, graph, random_inputs
from tests.models import light_model


def moved(x: str, parts: str, perm: str, turned: str, y: str) -> Graph:
    """Return a reshape, a transpose and a reshape, with shapes as lists of sizes."""

    def sizes(shape: str) -> str:
        known = ["-1" if n == "H*W" else "0" if n.isalpha() else n for n in shape.split(",")]
        return f"i64[{len(known)}] = literal({','.join(known)})"

    return graph(
        f"""
        graph g(x: f32[{x}]) {{
          const s: {sizes(parts)}
          const r: {sizes(y)}
          a: f32[{parts}] = reshape(x, s)
          b: f32[{turned}] = transpose(a, perm=[{perm}])
          y: f32[{y}] = reshape(b, r)
          return y
        }}
        """
    )


SHUFFLES = {
    "as published": ("2,6,4,5", "2,3,2,4,5", "0,2,1,3,4", "2,2,3,4,5", "2,6,4,5"),
    "space as one axis": ("2,6,4,5", "2,3,2,20", "0,2,1,3", "2,2,3,20", "2,6,4,5"),
    "one image": ("1,6,4,5", "3,2,4,5", "1,0,2,3", "2,3,4,5", "1,6,4,5"),
    "rows of one": ("2,6,1,5", "2,3,2,5", "0,2,1,3", "2,2,3,5", "2,6,1,5"),
    "rows apart": ("2,6,4,5", "2,3,2,2,2,5", "0,2,1,3,4,5", "2,2,3,2,2,5", "2,6,4,5"),
    "signals": ("2,6,7", "2,3,2,7", "0,2,1,3", "2,2,3,7", "2,6,7"),
    "channels alone": ("4,6", "4,3,2", "0,2,1", "4,2,3", "4,6"),
    "any batch": ("N,6,4,5", "N,3,2,4,5", "0,2,1,3,4", "N,2,3,4,5", "N,6,4,5"),
    "any batch and rows": ("N,6,H,5", "N,3,2,5*H", "0,2,1,3", "N,2,3,5*H", "N,6,H,5"),
}


@pytest.mark.parametrize("case", SHUFFLES.values(), ids=list(SHUFFLES))
@pytest.mark.parametrize("before", ["dead_code_elimination", "simplify"])
def test_every_cut_of_shuffled_channels_is_recognised(
    case: tuple[str, str, str, str, str], before: str
) -> None:
    if "5*H" in case[1]:
        g = _open_rows()
    else:
        g = moved(*case)
    after = PASSES["recognise_shuffle"].run(PASSES[before].run(g))
    assert [(n.op, n.attrs["groups"]) for n in after.nodes] == [("channel_shuffle", 3)]
    assert_same_results(g, after, random_inputs(g), error=0)


def _open_rows() -> Graph:
    return graph(
        """
        graph g(x: f32[N,6,H,5]) {
          const s: i64[4] = literal(0,3,2,-1)
          const r: i64[4] = literal(0,6,-1,5)
          a: f32[N,3,2,5*H] = reshape(x, s)
          b: f32[N,2,3,5*H] = transpose(a, perm=[0,2,1,3])
          y: f32[N,6,H,5] = reshape(b, r)
          return y
        }
        """
    )


def test_shuffled_channels_of_any_image_are_recognised() -> None:
    """The sizes are read from the tensor itself, as exporters write them."""
    g = graph(
        """
        graph g(x: f32[N,6,H,W]) {
          const i: i64[2] = literal(2,3)
          n: i64[1] = shape(x, start=0, end=1)
          hw: i64[2] = shape(x, start=2, end=4)
          s: i64[5] = concat(n, i, hw, axis=0)
          z: i64[4] = shape(x)
          a: f32[N,2,3,H,W] = reshape(x, s)
          b: f32[N,3,2,H,W] = transpose(a, perm=[0,2,1,3,4])
          y: f32[N,6,H,W] = reshape(b, z)
          return y
        }
        """
    )
    after = PASSES["dead_code_elimination"].run(PASSES["recognise_shuffle"].run(g))
    assert [(n.op, n.attrs["groups"]) for n in after.nodes] == [("channel_shuffle", 2)]
    assert_same_results(g, after, random_inputs(g), error=0)


NEITHER = {
    "in space": ("2,6,4,5", "2,6,2,2,5", "0,1,3,2,4", "2,6,2,2,5", "2,6,4,5"),
    "channels and rows": ("2,6,6,5", "2,6,6,5", "0,2,1,3", "2,6,6,5", "2,6,6,5"),
    "rows inside": ("2,6,4,5", "2,3,8,5", "0,2,1,3", "2,8,3,5", "2,6,4,5"),
    "batch and group": ("2,6,4,5", "2,3,2,4,5", "1,0,2,3,4", "3,2,2,4,5", "2,6,4,5"),
    "three parts": ("2,12,5", "2,2,3,2,5", "0,3,2,1,4", "2,2,3,2,5", "2,12,5"),
    "last channels": ("2,4,6", "2,4,3,2", "0,1,3,2", "2,4,2,3", "2,4,6"),
    "another shape": ("2,6,4,5", "2,3,2,4,5", "0,2,1,3,4", "2,2,3,4,5", "2,6,5,4"),
}


@pytest.mark.parametrize("case", NEITHER.values(), ids=list(NEITHER))
def test_what_is_moved_otherwise_is_no_shuffle(case: tuple[str, str, str, str, str]) -> None:
    g, log = moved(*case), Log()
    assert PASSES["recognise_shuffle"].run(g, log) is g
    assert declined(log.steps, "channel_shuffle_of_transpose")


BLOCKS = {
    "depth to space, place first": (
        ("2,12,4,5", "2,2,2,3,4,5", "0,3,4,1,5,2", "2,3,4,2,5,2", "2,3,8,10"),
        'depth_to_space(x, blocksize=2, mode="DCR")',
    ),
    "depth to space, channel first": (
        ("2,12,4,5", "2,3,2,2,4,5", "0,1,4,2,5,3", "2,3,4,2,5,2", "2,3,8,10"),
        'depth_to_space(x, blocksize=2, mode="CRD")',
    ),
    "three by three": (
        ("2,18,1,5", "2,2,3,3,1,5", "0,1,4,2,5,3", "2,2,1,3,5,3", "2,2,3,15"),
        'depth_to_space(x, blocksize=3, mode="CRD")',
    ),
    "one image, squares apart": (
        ("1,12,4,5", "3,2,2,4,5", "0,3,1,4,2", "3,4,2,5,2", "1,3,8,10"),
        'depth_to_space(x, blocksize=2, mode="CRD")',
    ),
    "one channel is left": (
        ("2,4,3,5", "2,2,2,3,5", "0,3,1,4,2", "2,3,2,5,2", "2,1,6,10"),
        'depth_to_space(x, blocksize=2, mode="DCR")',
    ),
    "space to depth": (
        ("2,3,4,10", "2,3,2,2,5,2", "0,3,5,1,2,4", "2,2,2,3,2,5", "2,12,2,5"),
        "space_to_depth(x, blocksize=2)",
    ),
    "space to depth, batch and channels as one": (
        ("1,3,4,10", "3,2,2,5,2", "2,4,0,1,3", "2,2,3,2,5", "1,12,2,5"),
        "space_to_depth(x, blocksize=2)",
    ),
}


@pytest.mark.parametrize(("case", "text"), BLOCKS.values(), ids=list(BLOCKS))
@pytest.mark.parametrize("name", ["recognise", "simplify"])
def test_blocks_are_recognised(case: tuple[str, str, str, str, str], text: str, name: str) -> None:
    g = moved(*case)
    after = PASSES[name].run(g)
    assert str(after).partition("f32[" + case[4] + "] = ")[2].startswith(text)
    assert len(after.nodes) == 1
    assert_same_results(g, after, random_inputs(g), error=0)


NO_BLOCKS = {
    "rows and columns exchanged": (
        ("2,12,4,4", "2,3,2,2,4,4", "0,1,5,2,4,3", "2,3,4,2,4,2", "2,3,8,8")
    ),
    "places in the square exchanged": (
        ("2,12,4,5", "2,3,2,2,4,5", "0,1,4,3,5,2", "2,3,4,2,5,2", "2,3,8,10")
    ),
    "stripes": ("2,12,4,5", "2,3,4,4,5", "0,1,3,2,4", "2,3,4,4,5", "2,3,16,5"),
    "channels before the place": (
        ("2,3,4,10", "2,3,2,2,5,2", "0,1,3,5,2,4", "2,3,2,2,2,5", "2,12,2,5")
    ),
    "columns before rows": (
        ("2,3,4,10", "2,3,2,2,5,2", "0,5,3,1,2,4", "2,2,2,3,2,5", "2,12,2,5")
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NO_BLOCKS.values(), ids=list(NO_BLOCKS))
def test_other_orders_stay_written_out(case: tuple[str, str, str, str, str]) -> None:
    g = moved(*case)
    after = PASSES["simplify"].run(g)
    assert not {n.op for n in after.nodes} & {"depth_to_space", "space_to_depth"}
    assert_same_results(g, after, random_inputs(g), error=0)


def test_parts_that_others_read_are_not_moved_twice() -> None:
    text = str(moved(*SHUFFLES["as published"])).replace("return y", "return y, b")
    g, log = graph(text), Log()
    assert PASSES["recognise_shuffle"].run(g, log) is g
    assert declined(log.steps, "channel_shuffle_of_transpose")


def test_the_order_of_parts_forgets_ones_and_joins_neighbours() -> None:
    assert order_of((2, 1, 3, 5, 7), (0, 3, 4, 1, 2)) == ((2, 3, 35), (0, 2, 1))
    assert order_of((2, 3), (0, 1)) == ((6,), (0,))
    assert order_of((1, 1), (1, 0)) == ((), ())


def test_shuffled_channels_run_and_go_back_to_three_nodes() -> None:
    g = moved(*SHUFFLES["as published"])
    after = PASSES["recognise_shuffle"].run(g)
    given = random_inputs(g)
    made = compiler.compile(after).run(given)["y"]
    x = given["x"]
    by_hand = np.stack([x[:, i // 3 + 2 * (i % 3)] for i in range(6)], axis=1)
    np.testing.assert_array_equal(made, by_hand)
    written = [n.op_type for n in onnx.load_from_string(to_onnx(after)).graph.node]
    assert written == ["Reshape", "Transpose", "Reshape"]


def test_all_shuffles_of_a_real_model_are_found() -> None:
    g = PASSES["recognise_shuffle"].run(compiler.load(light_model("shufflenet")))
    assert sum(n.op == "channel_shuffle" for n in g.nodes) == 16
    assert "transpose" not in {n.op for n in g.nodes}


def test_what_runs_no_faster_is_in_no_preset_that_is_about_speed() -> None:
    for name in ("default", "O0", "O1", "O2", "O3"):
        assert "recognise_shuffle" not in str(presets()[name])
