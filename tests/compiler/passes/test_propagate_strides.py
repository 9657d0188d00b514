"""Tests of moving strides toward the inputs: supported nodes, and reasons to stop."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.ir.graph import Graph
from compiler.ir.types import TensorType
from compiler.ir.verify import verify
from compiler.passes import PASSES
from compiler.passes.engine.rule import ROUNDINGS
from compiler.reference import reference
from compiler.trace import Log
from tests.compiler.passes.numbers import (
    applied,
    assert_same_results,
    declined,
    graph,
    random_inputs,
    special_inputs,
)

ONE = "pads=[0,0,0,0], dilations=[1,1]"


def early(g: Graph) -> tuple[Graph, Log]:
    log = Log()
    after = PASSES["propagate_strides"].run(g, log)
    verify(after)
    return after, log


def shape(g: Graph, value: str) -> tuple[int, ...]:
    t = g.types[value]
    assert isinstance(t, TensorType)
    return t.static_shape


def same(g: Graph, after: Graph) -> None:
    for seed in range(2):
        assert_same_results(g, after, random_inputs(g, seed), error=ROUNDINGS)
        assert_same_results(g, after, special_inputs(g, seed), error=ROUNDINGS)


def bottlenecks(height: int, width: int) -> Graph:
    """Return the end of one stage of ResNet-50 and the start of the next, with few channels."""
    h2, w2 = -(-height // 2), -(-width // 2)
    return graph(
        f"""
        graph g(x: f32[1,32,{height},{width}], w1: f32[16,32,1,1], w2: f32[16,16,3,3],
            w3: f32[32,16,1,1], w4: f32[20,32,1,1], w5: f32[40,32,1,1]) {{
          a: f32[1,16,{height},{width}] = conv(x, w1, strides=[1,1], {ONE})
          b: f32[1,16,{height},{width}] = conv(a, w2, strides=[1,1], pads=[1,1,1,1],
            dilations=[1,1])
          c: f32[1,16,{height},{width}] = relu(b)
          d: f32[1,32,{height},{width}] = conv(c, w3, strides=[1,1], {ONE})
          s: f32[1,32,{height},{width}] = add(d, x)
          r: f32[1,32,{height},{width}] = relu(s)
          y: f32[1,20,{h2},{w2}] = conv(r, w4, strides=[2,2], {ONE})
          z: f32[1,40,{h2},{w2}] = conv(r, w5, strides=[2,2], {ONE})
          return y, z
        }}
        """
    )


@pytest.mark.parametrize(("height", "width"), [(56, 48), (29, 26)])
def test_the_end_of_a_stage_computes_a_quarter(height: int, width: int) -> None:
    g = bottlenecks(height, width)
    after, log = early(g)
    assert applied(log.steps) == ["propagate_strides"] * 2
    half = (-(-height // 2), -(-width // 2))
    assert [shape(after, v)[2:] for v in "bcdsr"] == [half] * 5
    assert shape(after, "a")[2:] == (height, width)
    assert [n.op for n in after.nodes].count("max_pool") == 1
    assert after.producers["x.picked"].attrs["strides"] == (2, 2)
    before, after_it = log.steps[0].cost_before, log.steps[0].cost_after
    assert before is not None
    assert after_it is not None
    assert before.flops > 3 * after_it.flops
    same(g, after)


def one_window(body: str, *, strides: str = "2,2", result: str = "") -> Graph:
    return graph(
        f"""
        graph g(x: f32[2,64,9,8], w: f32[24,64,3,2], v: f32[5,24,1,1], q: f32[2,24,7,7],
            p: f32[24,1,1], v8: f32[5,48,1,1]) {{
          h: f32[2,24,7,7] = conv(x, w, strides=[1,1], {ONE})
          {body}
          y: f32[...] = conv(r, {"v8" if "concat" in body else "v"}, strides=[{strides}], {ONE})
          return y{result}
        }}
        """
    )


MOVES = {
    "nothing between": "r: f32[2,24,7,7] = identity(h)",
    "a scale of each channel": "r: f32[2,24,7,7] = mul(h, p)",
    "a value read twice": "s: f32[2,24,7,7] = sigmoid(h) r: f32[2,24,7,7] = mul(h, s)",
    "another whole operand": "r: f32[2,24,7,7] = add(q, h)",
    "a concatenation": "k: f32[2,24,7,7] = neg(h) r: f32[2,48,7,7] = concat(k, q, axis=1)",
}


@pytest.mark.parametrize("strides", ["2,2", "3,1", "1,4"])
@pytest.mark.parametrize("body", MOVES.values(), ids=list(MOVES))
def test_strides_move_through_what_works_place_by_place(body: str, strides: str) -> None:
    g = one_window(body, strides=strides)
    after, log = early(g)
    assert applied(log.steps) == ["propagate_strides"]
    assert shape(after, "h") == (2, 24, *shape(after, "y")[2:])
    same(g, after)


@pytest.mark.parametrize("kind", ["max", "average"])
def test_strides_of_pools_are_multiplied(kind: str) -> None:
    g = one_window(
        f"""m: f32[2,24,4,3] = {kind}_pool(h, kernel=[2,3], strides=[2,2], pads=[1,0,0,0],
        dilations=[1,1]) r: f32[2,24,4,3] = relu(m)"""
    )
    after, _ = early(g)
    assert after.producers["m"].attrs["strides"] == (4, 4)
    same(g, after)


def test_only_axes_of_one_element_give_up_their_strides() -> None:
    g = graph(
        f"""
        graph g(x: f32[2,3,9,8], w: f32[4,3,2,2], v: f32[5,4,1,3]) {{
          h: f32[2,4,8,7] = conv(x, w, strides=[1,1], {ONE})
          y: f32[2,5,4,3] = conv(h, v, strides=[2,2], {ONE})
          return y
        }}
        """
    )
    after, _ = early(g)
    assert after.producers["h"].attrs["strides"] == (2, 1)
    assert after.producers["y"].attrs["strides"] == (1, 2)
    same(g, after)


STAYS = {
    "a result": ("r: f32[2,24,7,7] = relu(h)", "2,2", ", whole=r", ""),
    "a result before": ("r: f32[2,24,7,7] = relu(h)", "2,2", ", whole=h", "no convolution or pool"),
    "no strides": ("r: f32[2,24,7,7] = relu(h)", "1,1", "", ""),
    "rows that move": (
        "r: f32[2,24,7,7] = softmax(h, axis=2)",
        "2,2",
        "",
        "no convolution or pool before r could compute fewer elements",
    ),
    "a column that broadcasts": (
        "c: f32[7,1] = reduce_sum(h, axes=[0,1,3]) r: f32[2,24,7,7] = add(h, c)",
        "2,2",
        "",
        "no convolution or pool",
    ),
    "a pool that sticks out": (
        """r: f32[2,24,4,4] = max_pool(h, kernel=[2,2], strides=[2,2], pads=[0,0,0,0],
        dilations=[1,1], ceil_mode=true)""",
        "2,2",
        "",
        "no convolution or pool",
    ),
}


@pytest.mark.parametrize(("body", "strides", "result", "says"), STAYS.values(), ids=list(STAYS))
def test_strides_stay_where_elements_are_needed(
    body: str, strides: str, result: str, says: str
) -> None:
    g = one_window(body, strides=strides, result=result)
    after, log = early(g)
    assert after is g
    reasons = declined(log.steps, "propagate_strides")
    assert any(says in r for r in reasons) if says else not reasons


def test_readers_that_disagree_keep_the_elements() -> None:
    g = graph(
        f"""
        graph g(x: f32[2,3,9,8], w: f32[4,3,2,2], v: f32[5,4,1,1]) {{
          h: f32[2,4,8,7] = conv(x, w, strides=[1,1], {ONE})
          y: f32[2,5,4,4] = conv(h, v, strides=[2,2], {ONE})
          z: f32[2,5,4,7] = conv(h, v, strides=[2,1], {ONE})
          return y, z
        }}
        """
    )
    assert early(g)[0] is g


def test_picking_is_not_dearer_than_what_is_saved() -> None:
    g = graph(
        f"""
        graph g(x: f32[1,1,64,64], w: f32[8,1,1,1], v: f32[2,8,1,1], q: f32[1,8,64,64]) {{
          h: f32[1,8,64,64] = conv(x, w, strides=[1,1], {ONE})
          r: f32[1,8,64,64] = add(h, q)
          y: f32[1,2,32,32] = conv(r, v, strides=[2,2], {ONE})
          return y, q
        }}
        """
    )
    after, log = early(g)
    reasons = declined(log.steps, "propagate_strides")
    assert (after is g) == any("slicing q takes" in r for r in reasons)
    same(g, after)


def test_what_is_computed_is_a_selection_of_what_was() -> None:
    g = one_window("r: f32[2,24,7,7] = relu(h)")
    after, _ = early(g)
    inputs = random_inputs(g)
    whole = reference(graph(str(g).replace("return y", "return r")), inputs)["r"]
    part = reference(graph(str(after).replace("return y", "return r")), inputs)["r"]
    np.testing.assert_allclose(whole[:, :, ::2, ::2], part, rtol=1e-5, atol=1e-3)
