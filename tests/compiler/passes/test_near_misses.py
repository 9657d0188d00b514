"""Tests of graphs similar to the patterns of rules: unchanged, mostly with a reason."""

from __future__ import annotations

import pytest

from compiler.ir.graph import Graph
from compiler.passes import PASSES
from compiler.passes.engine.rule import ROUNDINGS
from compiler.trace import Log
from tests.compiler.passes.numbers import (
    applied,
    assert_same_results,
    graph,
    random_inputs,
    special_inputs,
)


def simplify(g: Graph, **options: object) -> tuple[Graph, Log]:
    log = Log()
    return PASSES["simplify"].run(g, log, **options), log


LEFT_ALONE = {
    "relu of neg": "y: f32[2,3] = neg(x) z: f32[2,3] = relu(y)",
    "slice turned round": """
        const s: i64[1] = literal(-1)
        const e: i64[1] = literal(-9)
        const a: i64[1] = literal(1)
        const t: i64[1] = literal(-1)
        z: f32[2,3] = slice(x, s, e, a, t)""",
    "padding that cancels": """
        const p: i64[4] = literal(0,1,0,-1)
        z: f32[2,3] = pad(x, p)""",
    "zero times float": "const c: f32[] = literal(0.0) z: f32[2,3] = mul(x, c)",
    "one plus x": "const c: f32[] = literal(1.0) z: f32[2,3] = add(x, c)",
    "one minus x": "const c: f32[] = literal(0.0) z: f32[2,3] = sub(c, x)",
    "one over x": "const c: f32[] = literal(1.0) z: f32[2,3] = div(c, x)",
    "power of one": "const c: f32[] = literal(1.0) z: f32[2,3] = pow(c, x)",
    "square root as a power": "const c: f32[] = literal(0.5) z: f32[2,3] = pow(x, c)",
    "x plus broadcast zeros": "const c: f32[4,2,3] = splat(0.0) z: f32[4,2,3] = add(x, c)",
    "x times broadcast ones": "const c: f32[4,1,1] = splat(1.0) z: f32[4,2,3] = mul(x, c)",
    "mixed zeros": "const c: f32[3] = literal(0.0,0.0,1.0) z: f32[2,3] = add(x, c)",
    "transpose that moves": "z: f32[3,2] = transpose(x, perm=[1,0])",
    "cast there and back": "y: f16[2,3] = cast(x, to=f16) z: f32[2,3] = cast(y, to=f32)",
    "cast through integers": "y: i64[2,3] = cast(x, to=i64) z: f32[2,3] = cast(y, to=f32)",
    "swish of another": """
        y: f32[2,3] = abs(x)
        s: f32[2,3] = sigmoid(y)
        z: f32[2,3] = mul(x, s)""",
    "leaky relu of a steep slope": """
        const c: f32[] = literal(1.5)
        y: f32[2,3] = mul(x, c)
        z: f32[2,3] = max(x, y)""",
    "leaky relu of a negative slope": """
        const c: f32[] = literal(-0.5)
        y: f32[2,3] = mul(x, c)
        z: f32[2,3] = max(x, y)""",
    "sigmoid with a two": """
        const c: f32[] = literal(2.0)
        p: f32[2,3] = neg(x)
        q: f32[2,3] = exp(p)
        r: f32[2,3] = add(q, c)
        z: f32[2,3] = reciprocal(r)""",
}


@pytest.mark.parametrize("body", LEFT_ALONE.values(), ids=list(LEFT_ALONE))
def test_near_misses_are_left_alone(body: str) -> None:
    # A following node, so that the last node of the pattern is not a named result.
    last = body.rstrip().rsplit(":", 1)[1].split("=")[0].strip()
    g = graph(f"graph g(x: f32[2,3]) {{ {body} w: {last} = erf(z) return w }}")
    after, log = simplify(g)
    assert applied(log.steps) == []
    assert after is g


def test_zero_times_float_says_why() -> None:
    _, log = simplify(
        graph("graph g(x: f32[3]) { const c: f32[] = splat(0.0) z: f32[3] = mul(x, c) return z }")
    )
    (reason,) = [s.because for s in log.steps if s.rule == "multiply_by_zero"]
    assert "NaN times 0" in reason


KEPT_NUMBERS = {
    "clip with crossed bounds": """
        const a: f32[] = literal(4.0)
        const b: f32[] = literal(-2.0)
        const c: f32[] = literal(-1.0)
        const d: f32[] = literal(6.0)
        y: f32[2,3] = clip(x, a, b)
        z: f32[2,3] = clip(y, c, d)""",
    "clip below zero, then relu": """
        const a: f32[] = literal(-4.0)
        const b: f32[] = literal(-2.0)
        y: f32[2,3] = clip(x, a, b)
        z: f32[2,3] = relu(y)""",
    "clips with a bound that is no number": """
        const a: f32[] = literal(-2.0)
        const b: f32[] = literal(hex("0000c07f"))
        const c: f32[] = literal(1.5)
        y: f32[2,3] = clip(x, a, c)
        z: f32[2,3] = clip(y, b, c)""",
    "second clip with crossed bounds": """
        const a: f32[] = literal(-2.0)
        const b: f32[] = literal(4.0)
        const c: f32[] = literal(3.0)
        const d: f32[] = literal(1.0)
        y: f32[2,3] = clip(x, a, b)
        z: f32[2,3] = clip(y, c, d)""",
    "relu, then clip below zero": """
        const a: f32[] = literal(-4.0)
        const b: f32[] = literal(-2.0)
        y: f32[2,3] = relu(x)
        z: f32[2,3] = clip(y, a, b)""",
    "clips without bounds": """
        const b: f32[] = literal(1.5)
        y: f32[2,3] = clip(x, _, b)
        q: f32[2,3] = clip(y)
        z: f32[2,3] = clip(q, b)""",
    "min of max with crossed bounds": """
        const a: f32[] = literal(2.0)
        const b: f32[] = literal(-1.0)
        y: f32[2,3] = max(a, x)
        z: f32[2,3] = min(y, b)""",
    "hard swish with other numbers": """
        const a: f32[] = literal(3.0)
        const b: f32[] = literal(0.0)
        const c: f32[] = literal(6.0)
        const d: f32[] = literal(5.0)
        p: f32[2,3] = add(x, a)
        q: f32[2,3] = clip(p, b, c)
        r: f32[2,3] = mul(x, q)
        z: f32[2,3] = div(r, d)""",
    "hard sigmoid that ends at two": """
        const a: f32[] = literal(3.0)
        const b: f32[] = literal(0.0)
        const c: f32[] = literal(6.0)
        p: f32[2,3] = add(x, a)
        q: f32[2,3] = clip(p, b, c)
        z: f32[2,3] = div(q, a)""",
    "division by zero": "const c: f32[3] = literal(2.0,0.0,4.0) z: f32[2,3] = div(x, c)",
    "division by tiny numbers": "const c: f32[] = literal(1e-40) z: f32[2,3] = div(x, c)",
    "shared sums": """
        const a: f32[] = literal(3.0)
        const b: f32[3] = literal(1.0,2.0,4.0)
        p: f32[2,3] = add(x, a)
        q: f32[2,3] = add(p, b)
        z: f32[2,3] = mul(p, q)""",
    "products that grow": """
        const a: f32[2,1] = literal(2.0,4.0)
        const b: f32[3] = literal(1.0,2.0,4.0)
        p: f32[2,3] = mul(x, a)
        z: f32[2,3] = mul(p, b)""",
    "products too large for the type": """
        const a: f32[3] = literal(1e30,1e20,1.0)
        const b: f32[3] = literal(1e30,1e-20,1.0)
        p: f32[2,3] = mul(x, a)
        z: f32[2,3] = mul(p, b)""",
}


@pytest.mark.parametrize("body", KEPT_NUMBERS.values(), ids=list(KEPT_NUMBERS))
def test_hard_cases_keep_their_numbers(body: str) -> None:
    g = graph(f"graph g(x: f32[2,3]) {{ {body} return z }}")
    after, _ = simplify(g)
    for seed in range(4):
        assert_same_results(g, after, random_inputs(g, seed), error=ROUNDINGS)
        assert_same_results(g, after, special_inputs(g, seed), error=ROUNDINGS)


SWISHES = {
    "product of quotient": "s: f32[2,3] = div(q, c) z: f32[2,3] = mul(x, s)",
    "quotient first": "s: f32[2,3] = div(q, c) z: f32[2,3] = mul(s, x)",
    "quotient last": "s: f32[2,3] = mul(q, x) z: f32[2,3] = div(s, c)",
    "sixth last": "s: f32[2,3] = mul(x, q) z: f32[2,3] = mul(s, sixth)",
    "sixth first": "s: f32[2,3] = mul(sixth, x) z: f32[2,3] = mul(s, q)",
    "product of sixth": "s: f32[2,3] = mul(q, sixth) z: f32[2,3] = mul(x, s)",
}


@pytest.mark.parametrize("end", SWISHES.values(), ids=list(SWISHES))
@pytest.mark.parametrize("bounds", ["clip(p, b, c)", "min(m, c)"])
@pytest.mark.parametrize("order", ["simplify", "debug"])
def test_hard_swish_is_recognised_in_every_form(end: str, bounds: str, order: str) -> None:
    g = graph(
        f"""
        graph g(x: f32[2,3]) {{
          const a: f32[1] = literal(3.0)
          const b: f32[] = literal(0.0)
          const c: f32[] = literal(6.0)
          const sixth: f32[] = literal(0.16666667)
          p: f32[2,3] = add(a, x)
          m: f32[2,3] = max(b, p)
          q: f32[2,3] = {bounds}
          {end}
          return z
        }}
        """
    )
    names = {
        "simplify": ["simplify"],
        "debug": ["remove_noops", "algebraic_simplification", "recognise"],
    }[order]
    after = g
    for name in [*names, "dead_code_elimination"]:
        after = PASSES[name].run(after)
    assert [n.op for n in after.nodes] == ["hard_swish"]
    for seed in range(3):
        assert_same_results(g, after, random_inputs(g, seed), error=ROUNDINGS)


def test_symbolic_sizes_are_compared_as_they_stand() -> None:
    g = graph(
        """
        graph g(x: f32[N,3], y: f32[M,3]) {
          const all: i64[2] = literal(0,3)
          const rest: i64[2] = literal(-1,3)
          const flat: i64[1] = literal(-1)
          a: f32[N,3] = reshape(x, all)
          b: f32[N,3] = reshape(a, rest)
          c: f32[N*3] = reshape(b, flat)
          d: f32[N,3] = reshape(c, rest)
          e: f32[N,3] = relu(d)
          f: f32[M,3] = reshape(y, rest)
          h: f32[M,3] = relu(f)
          return e, h
        }
        """
    )
    after, _ = simplify(g)
    assert [n.op for n in after.nodes] == ["relu", "relu"]
    assert_same_results(g, after, random_inputs(g), error=0)


def test_only_exact_rules_run_when_asked() -> None:
    g = graph(
        """
        graph g(x: f32[2,3]) {
          const three: f32[] = literal(3.0)
          const four: f32[] = literal(4.0)
          a: f32[2,3] = div(x, three)
          b: f32[2,3] = div(a, four)
          return b
        }
        """
    )
    after, log = simplify(g, inexact=False)
    assert [n.op for n in after.nodes] == ["div", "mul"]
    assert applied(log.steps) == ["divide_by_power_of_two"]
    assert_same_results(g, after, special_inputs(g), error=0)


@pytest.mark.parametrize("perm", ["[1,0,2]", "[2,1,0]", "[1,2,0]", "[2,0,1]"])
@pytest.mark.parametrize("call", ["matmul(t, y)", "matmul(y, t)"])
def test_only_a_swap_of_the_last_two_axes_goes_into_a_product(perm: str, call: str) -> None:
    g = graph(
        f"""
        graph g(x: f32[3,3,3], y: f32[3,3,3]) {{
          t: f32[3,3,3] = transpose(x, perm={perm})
          z: f32[3,3,3] = {call}
          return z
        }}
        """
    )
    after, log = simplify(g)
    assert after is g
    assert any("not a swap of the last two axes" in s.because for s in log.steps)


def test_a_value_of_open_rank_is_not_taken_for_another_one() -> None:
    g = graph(
        """
        graph g(x: f32[...]) {
          const zeros: f32[4,1,1] = splat(0.0)
          a: f32[...] = add(x, zeros)
          b: f32[...] = relu(a)
          return b
        }
        """
    )
    after, log = simplify(g)
    assert after is g
    assert any("open" in s.because for s in log.steps if s.rule == "drop_add_zero")
