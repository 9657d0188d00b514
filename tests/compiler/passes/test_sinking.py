"""Tests of sinking operators to fewer elements or bytes, bit for bit where promised."""

from __future__ import annotations

import pytest

from compiler.ir.graph import Graph
from compiler.ir.verify import verify
from compiler.passes import PASSES
from compiler.trace import Log
from tests.compiler.passes.numbers import (
    applied,
    assert_same_results,
    declined,
    graph,
    random_inputs,
    special_inputs,
)


def ran(name: str, g: Graph) -> tuple[Graph, Log]:
    log = Log()
    after = PASSES[name].run(g, log)
    verify(after)
    assert PASSES[name].run(after) is after
    return after, log


def same(g: Graph, after: Graph, error: float = 0) -> None:
    for seed in range(4):
        assert_same_results(g, after, random_inputs(g, seed), error=error)
        assert_same_results(g, after, special_inputs(g, seed), error=error)


PICKED = {
    "slice": "slice(r, one, three, last)",
    "slice backwards": "slice(r, three, one, last, back)",
    "gather": "gather(r, at, axis=1)",
    "gather of one": "gather(r, index, axis=1)",
}

UNARY = {
    "exp": "exp(x)",
    "clip by numbers": "clip(x, half, two)",
    "times a number": "mul(x, half)",
    "a comparison": "less(x, half)",
    "leaky_relu": "leaky_relu(x, alpha=-0.5)",
}

CONSTANTS = """
  const one: i64[1] = literal(1)
  const three: i64[1] = literal(3)
  const last: i64[1] = literal(-1)
  const back: i64[1] = literal(-1)
  const at: i64[2] = literal(2,-4)
  const index: i64[] = literal(2)
  const half: f32[] = literal(0.5)
  const two: f32[] = literal(2.0)
  const four: f32[5] = literal(1.0,2.0,3.0,4.0,5.0)
"""


def one(body: str, unary: str, *, rest: str = "", shape: str = "3,4,5") -> Graph:
    dtype = "bool" if unary.startswith("less") else "f32"
    return graph(
        f"""
        graph g(x: f32[{shape}]) {{
          {CONSTANTS}
          r: {dtype}[{shape}] = {unary}
          y: {dtype}[...] = {body}
          return y{rest}
        }}
        """
    )


@pytest.mark.parametrize("unary", UNARY.values(), ids=list(UNARY))
@pytest.mark.parametrize("body", PICKED.values(), ids=list(PICKED))
def test_what_is_thrown_away_is_not_computed(body: str, unary: str) -> None:
    g = one(body, unary)
    after, log = ran("sink_elementwise", g)
    assert [n.op for n in after.nodes] == [body.split("(")[0], unary.split("(")[0]]
    assert applied(log.steps) == ["compute_what_is_left"]
    same(g, after)


POOL = "max_pool(r, kernel=[3,2], strides=[2,2], pads=[1,0,1,1], dilations=[1,1])"
EXACT = ["relu(x)", "clip(x, half, two)", "clip(x, two, half)", "leaky_relu(x, alpha=0.1)",
         "hard_sigmoid(x, alpha=0.3, beta=0.4)", "mul(x, half)", "add(x, two)", "div(x, half)",
         "max(x, half)", "floor(x)"]  # fmt: skip
NEARLY = ["sigmoid(x)", "tanh(x)", "exp(x)", "erf(x)", "softplus(x)", "atan(x)",
          "elu(x, alpha=0.5)"]  # fmt: skip


@pytest.mark.parametrize("unary", [*EXACT, *NEARLY])
@pytest.mark.parametrize("body", [POOL, "reduce_max(r, axes=[1,3])"])
def test_what_keeps_the_order_follows_a_maximum(body: str, unary: str) -> None:
    g = one(body, unary, shape="2,3,7,6")
    after, log = ran("sink_elementwise", g)
    assert [n.op for n in after.nodes] == [body.split("(")[0], unary.split("(")[0]]
    (step,) = (s for s in log.steps if s.outcome == "applied")
    assert step.exact == (unary in EXACT)
    same(g, after, step.error)


TURNED = {
    "neg(x)": "is not monotonic",
    "sqrt(x)": "is not monotonic",
    "abs(x)": "is not monotonic",
    "leaky_relu(x, alpha=-0.1)": "is decreasing",
    "hard_sigmoid(x, alpha=-0.3, beta=0.4)": "is decreasing",
    "elu(x, alpha=-0.5)": "is decreasing",
    "mul(x, less)": "is decreasing",
    "mul(x, none)": "is decreasing",
    "add(x, far)": "is decreasing",
}


@pytest.mark.parametrize("unary", list(TURNED))
def test_what_does_not_keep_the_order_stays(unary: str) -> None:
    g = graph(
        f"""
        graph g(x: f32[2,3,7,6]) {{
          const less: f32[] = literal(-0.5)
          const none: f32[] = literal(nan)
          const far: f32[] = literal(inf)
          r: f32[2,3,7,6] = {unary}
          y: f32[2,3,4,3] = {POOL}
          return y
        }}
        """
    )
    after, log = ran("sink_elementwise", g)
    assert after is g
    assert TURNED[unary] in declined(log.steps, "compute_what_is_left")[0]


@pytest.mark.parametrize(
    ("window", "says"),
    [
        ("kernel=[2,2], strides=[2,2], pads=[2,0,0,0], dilations=[1,1]", "rows of padding"),
        ("kernel=[2,2], strides=[2,2], pads=[1,0,0,0], dilations=[7,1]", "skip over the image"),
    ],
)
def test_a_maximum_of_nothing_is_no_result(window: str, says: str) -> None:
    g = one(f"max_pool(r, {window})", "relu(x)", shape="2,3,7,6")
    after, log = ran("sink_elementwise", g)
    assert after is g
    assert says in declined(log.steps, "compute_what_is_left")[0]


STAYS = {
    "all elements remain": ("slice(r, zero, five)", "relu(x)", "", "no fewer than it reads"),
    "more elements are read": ("gather(r, many, axis=0)", "relu(x)", "", "no fewer than it"),
    "read twice": ("slice(r, zero, one)", "relu(x)", ", r", "other readers"),
}


@pytest.mark.parametrize(("body", "unary", "rest", "says"), STAYS.values(), ids=list(STAYS))
def test_nothing_moves_where_nothing_is_saved(body: str, unary: str, rest: str, says: str) -> None:
    g = graph(
        f"""
        graph g(x: f32[3,4]) {{
          const zero: i64[1] = literal(0)
          const one: i64[1] = literal(1)
          const five: i64[1] = literal(5)
          const many: i64[4] = literal(0,1,1,2)
          r: f32[3,4] = {unary}
          y: f32[...] = {body}
          return y{rest}
        }}
        """
    )
    after, log = ran("sink_elementwise", g)
    assert after is g
    assert says in declined(log.steps, "compute_what_is_left")[0]


def test_an_activation_stays_with_the_convolution_that_stores_it() -> None:
    g = graph(
        f"""
        graph g(x: f32[2,3,7,6], w: f32[4,3,1,1]) {{
          h: f32[2,4,7,6] = conv(x, w, strides=[1,1], pads=[0,0,0,0], dilations=[1,1])
          r: f32[2,4,7,6] = relu(h)
          y: f32[2,4,4,3] = {POOL}
          return y
        }}
        """
    )
    after, log = ran("sink_elementwise", g)
    assert after is g
    assert "fuses into the kernel of h" in declined(log.steps, "compute_what_is_left")[0]


def test_chains_sink_together() -> None:
    g = graph(
        f"""
        graph g(x: f32[2,3,7,6]) {{
          const half: f32[] = literal(0.5)
          h: f32[2,3,7,6] = mul(x, half)
          r: f32[2,3,7,6] = relu(h)
          y: f32[2,3,4,3] = {POOL}
          return y
        }}
        """
    )
    after, _ = ran("sink_elementwise", g)
    assert [n.op for n in after.nodes] == ["max_pool", "mul", "relu"]
    same(g, after)


PARTS = {
    "different parameters": ("leaky_relu(a, alpha=0.1)", "leaky_relu(b, alpha=0.2)"),
    "different operators": ("relu(a)", "abs(b)"),
}


@pytest.mark.parametrize("parts", PARTS.values(), ids=list(PARTS))
def test_parts_that_are_computed_otherwise_stay(parts: tuple[str, str]) -> None:
    g = graph(
        f"""
        graph g(a: f32[2,3], b: f32[4,3]) {{
          c: f32[2,3] = {parts[0]}
          d: f32[4,3] = {parts[1]}
          y: f32[6,3] = concat(c, d, axis=0)
          return y
        }}
        """
    )
    assert ran("sink_elementwise", g)[0] is g


CASTS = {
    "longer later": ("i8", "transpose(c, perm=[1,0])", "f32", ["transpose", "cast"]),
    "bools too": ("bool", "transpose(c, perm=[1,0])", "f32", ["transpose", "cast"]),
    "a view": ("bool", "reshape(c, six)", "f32", ["cast", "reshape"]),
    "concat": ("f16", "concat(c, c, axis=0)", "f32", ["concat", "cast"]),
    "slice": ("f16", "slice(c, zero, one)", "f32", ["slice", "cast"]),
    "shorter stays": ("f32", "transpose(c, perm=[1,0])", "f16", ["cast", "transpose"]),
    "as long stays": ("f32", "transpose(c, perm=[1,0])", "i32", ["cast", "transpose"]),
    "more elements stay": ("i8", "gather(c, many, axis=0)", "f32", ["cast", "gather"]),
}


@pytest.mark.parametrize(("source", "move", "to", "ops"), CASTS.values(), ids=list(CASTS))
def test_casts_stand_where_elements_are_short(
    source: str, move: str, to: str, ops: list[str]
) -> None:
    g = graph(
        f"""
        graph g(x: {source}[2,3]) {{
          const six: i64[1] = literal(6)
          const zero: i64[1] = literal(0)
          const one: i64[1] = literal(1)
          const many: i64[5] = literal(0,1,1,0,1)
          c: {to}[2,3] = cast(x, to={to})
          y: {to}[...] = {move}
          return y
        }}
        """
    )
    after, log = ran("sink_casts", g)
    assert [n.op for n in after.nodes] == ops
    if ops[0] == "cast":
        assert declined(log.steps, "cast_later")
    same(g, after)


def test_shorter_types_come_earlier_through_several_moves() -> None:
    g = graph(
        """
        graph g(x: f32[2,3,4]) {
          const to: i64[2] = literal(4,6)
          t: f32[4,2,3] = transpose(x, perm=[2,0,1])
          u: f32[4,6] = reshape(t, to)
          c: f16[4,6] = cast(u, to=f16)
          return c
        }
        """
    )
    after, _ = ran("sink_casts", g)
    assert [n.op for n in after.nodes] == ["cast", "transpose", "reshape"]
    same(g, after)


def test_casts_read_elsewhere_are_not_repeated() -> None:
    g = graph(
        """
        graph g(x: i8[2,3]) {
          c: f32[2,3] = cast(x, to=f32)
          t: f32[3,2] = transpose(c, perm=[1,0])
          y: f32[2,3] = exp(c)
          return t, y
        }
        """
    )
    after, log = ran("sink_casts", g)
    assert after is g
    assert "other readers" in declined(log.steps, "cast_later")[0]
