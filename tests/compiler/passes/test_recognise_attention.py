"""Tests of recognising attention and rotary embeddings of several exporters; near misses."""

from __future__ import annotations

import pytest

from compiler.ir.graph import Graph
from compiler.passes import PASSES, presets
from compiler.trace import Log
from tests.compiler.passes.numbers import (
    assert_same_results,
    declined,
    graph,
    random_inputs,
    special_inputs,
)

_CONSTANTS = """
  const root: f32[] = literal(2.0)
  const half: f32[] = literal(0.5)
  const quarter: f32[] = literal(0.70710677)
  const low: f32[] = literal(-3.4028235e38)
  const minus: f32[] = literal(-inf)
  const shallow: f32[] = literal(-10000.0)
  const causal: f32[3,5] = literal(0,-9,-9,-9,-9,0,0,-9,-9,-9,0,0,0,-9,0)
  const zero: i64[1] = literal(0)
  const one: i64[1] = literal(1)
  const two: i64[1] = literal(2)
  const three: i64[1] = literal(3)
  const most: i64[1] = literal(9223372036854775807)
  const whole: i64[4] = literal(2,2,3,4)
"""
_END = "p: f32[2,2,3,5] = softmax(d)\ny: f32[2,2,3,6] = matmul(p, v)"
_TURN = "t: f32[2,2,4,5] = transpose(k, perm=[0,1,3,2])\n"
_SCORES = _TURN + "s: f32[2,2,3,5] = matmul(q, t)\n"
_SCALED = _SCORES + "c: f32[2,2,3,5] = mul(s, half)\n"


def attention(body: str) -> Graph:
    """Return attention of heads q, k, v with an additive mask m and a condition b."""
    text = "q: f32[2,2,3,4], k: f32[2,2,5,4], v: f32[2,2,5,6], m: f32[2,1,3,5], b: bool[3,5]"
    return graph(f"graph g({text}) {{ {_CONSTANTS} {body} return y }}")


STYLES = {
    "plain": _SCORES.replace("s:", "d:") + _END,
    "scaled": _SCALED.replace("c:", "d:") + _END,
    "divided": _SCORES + "d: f32[2,2,3,5] = div(s, root)\n" + _END,
    "masked": _SCALED + "d: f32[2,2,3,5] = add(c, m)\n" + _END,
    "mask first": _SCALED + "d: f32[2,2,3,5] = add(m, c)\n" + _END,
    "causal": _SCALED + "d: f32[2,2,3,5] = add(c, causal)\n" + _END,
    "kept": _SCALED + "d: f32[2,2,3,5] = where(b, c, low)\n" + _END,
    "hidden": _SCALED + "d: f32[2,2,3,5] = where(b, minus, c)\n" + _END,
    "scaled queries": "w: f32[2,2,3,4] = mul(q, half)\n"
    + _TURN
    + "s: f32[2,2,3,5] = matmul(w, t)\nd: f32[2,2,3,5] = add(s, m)\n"
    + _END,
    "divided queries": "w: f32[2,2,3,4] = div(q, root)\n"
    + _TURN
    + "d: f32[2,2,3,5] = matmul(w, t)\n"
    + _END,
    "scaled keys": "w: f32[2,2,5,4] = mul(half, k)\n"
    "t: f32[2,2,4,5] = transpose(w, perm=[0,1,3,2])\nd: f32[2,2,3,5] = matmul(q, t)\n" + _END,
    "both scaled": "w: f32[2,2,3,4] = mul(q, quarter)\n"
    + _TURN
    + "u: f32[2,2,4,5] = mul(t, quarter)\nd: f32[2,2,3,5] = matmul(w, u)\n"
    + _END,
    "product of transposed": "s: f32[2,2,3,5] = matmul(q, k, transpose_b=true)\n"
    "d: f32[2,2,3,5] = mul(s, half)\n" + _END,
}


@pytest.mark.parametrize("body", STYLES.values(), ids=list(STYLES))
@pytest.mark.parametrize("before", ["recognise", "simplify"])
def test_every_style_of_attention_is_recognised(body: str, before: str) -> None:
    g = attention(body)
    after = PASSES["recognise_attention"].run(PASSES[before].run(g))
    assert [n.op for n in after.nodes if n.op != "where"] == ["attention"]
    for seed in range(2):
        assert_same_results(g, after, random_inputs(g, seed), error=1e-5)


def test_keys_that_come_transposed_lose_one_transpose() -> None:
    """[batch, positions, heads, size] becomes [batch, heads, size, positions] by one transpose."""
    g = graph(
        """
        graph g(q: f32[2,2,3,4], k: f32[2,5,2,4], v: f32[2,2,5,6]) {
          const root: f32[] = literal(2.0)
          t: f32[2,2,4,5] = transpose(k, perm=[0,2,3,1])
          s: f32[2,2,3,5] = matmul(q, t)
          d: f32[2,2,3,5] = div(s, root)
          p: f32[2,2,3,5] = softmax(d)
          y: f32[2,2,3,6] = matmul(p, v)
          return y
        }
        """
    )
    after = PASSES["recognise_attention"].run(g)
    assert [n.op for n in after.nodes] == ["transpose", "attention"]
    assert after.nodes[0].attrs["perm"] == (0, 2, 1, 3)
    assert_same_results(g, after, random_inputs(g), error=1e-5)


NEAR = {
    "softmax along the queries": _SCALED
    + "p: f32[2,2,3,5] = softmax(c, axis=2)\ny: f32[2,2,3,6] = matmul(p, v)",
    "scaled behind": _SCALED
    + "p: f32[2,2,3,5] = softmax(c)\nd: f32[2,2,3,5] = mul(p, half)\n"
    + "y: f32[2,2,3,6] = matmul(d, v)",
    "masked behind": _SCALED
    + "p: f32[2,2,3,5] = softmax(c)\nd: f32[2,2,3,5] = add(p, m)\n"
    + "y: f32[2,2,3,6] = matmul(d, v)",
    "a shallow mask": _SCALED + "d: f32[2,2,3,5] = where(b, c, shallow)\n" + _END,
    "values first": _SCALED
    + "p: f32[2,2,3,5] = softmax(c)\nu: f32[2,2,6,5] = transpose(v, perm=[0,1,3,2])\n"
    "r: f32[2,2,5,3] = transpose(p, perm=[0,1,3,2])\ny: f32[2,2,6,3] = matmul(u, r)",
}


@pytest.mark.parametrize("body", NEAR.values(), ids=list(NEAR))
def test_what_is_no_attention_is_left_alone(body: str) -> None:
    g = attention(body)
    assert PASSES["recognise_attention"].run(g) is g


def test_a_mask_that_is_multiplied_is_part_of_nothing() -> None:
    g = attention(_SCALED + "d: f32[2,2,3,5] = mul(c, m)\n" + _END)
    log = Log()
    after = PASSES["recognise_attention"].run(g, log)
    assert after is g


def test_weights_that_somebody_reads_keep_attention_apart() -> None:
    g = graph(str(attention(_SCALED.replace("c:", "d:") + _END)).replace("return y", "return y, p"))
    log = Log()
    assert PASSES["recognise_attention"].run(g, log) is g
    assert "p is also a result" in declined(log.steps, "attention_of_products")[0]


def test_attention_is_one_kernel_where_kernels_are_made_for_speed() -> None:
    of = {name: "recognise_attention" in str(presets()[name]) for name in ("O0", "O1", "O2", "O3")}
    assert of == {"O0": False, "O1": False, "O2": True, "O3": True}


def rotary(body: str) -> Graph:
    text = "x: f32[2,2,3,4], c: f32[3,4], s: f32[3,4]"
    return graph(f"graph g({text}) {{ {_CONSTANTS} {body} return y }}")


_HALVES = """
    a: f32[2,2,3,2] = slice(x, two, most, three)
    b: f32[2,2,3,2] = slice(x, zero, two, three, one)
    n: f32[2,2,3,2] = neg(a)
"""
_ADDED = """
    p: f32[2,2,3,4] = mul(x, c)
    w: f32[2,2,3,4] = mul(r, s)
    y: f32[2,2,3,4] = add(p, w)
"""
_NEIGHBOURS = """
    a: f32[2,2,3,2] = slice(x, one, most, three, two)
    b: f32[2,2,3,2] = slice(x, zero, most, three, two)
    n: f32[2,2,3,2] = neg(a)
    n1: f32[2,2,3,2,1] = unsqueeze(n, axes=[4])
    b1: f32[2,2,3,2,1] = unsqueeze(b, axes=[4])
    r1: f32[2,2,3,2,2] = concat(n1, b1, axis=-1)
    r: f32[2,2,3,4] = reshape(r1, whole)
"""
ROTATED = {
    "halves": _HALVES + "r: f32[2,2,3,4] = concat(n, b, axis=-1)" + _ADDED,
    "halves, other order": _HALVES
    + """r: f32[2,2,3,4] = concat(n, b, axis=3)
         p: f32[2,2,3,4] = mul(c, x)
         w: f32[2,2,3,4] = mul(s, r)
         y: f32[2,2,3,4] = add(w, p)""",
    "neighbours": _NEIGHBOURS + _ADDED,
}


@pytest.mark.parametrize("body", ROTATED.values(), ids=list(ROTATED))
@pytest.mark.parametrize("pass_name", ["recognise", "simplify"])
def test_rotary_positions_are_recognised(body: str, pass_name: str) -> None:
    g = rotary(body)
    after = PASSES[pass_name].run(g)
    assert [n.op for n in after.nodes] == ["rotary"]
    for seed in range(2):
        assert_same_results(g, after, random_inputs(g, seed), error=1e-6)
        assert_same_results(g, after, special_inputs(g, seed), error=1e-6)


NOT_ROTATED = {
    "no sign": "a: f32[2,2,3,2] = slice(x, two, most, three)\n"
    "b: f32[2,2,3,2] = slice(x, zero, two, three)\nr: f32[2,2,3,4] = concat(a, b, axis=-1)"
    + _ADDED,
    "wrong half": _HALVES.replace("neg(a)", "neg(b)")
    + "r: f32[2,2,3,4] = concat(n, a, axis=-1)"
    + _ADDED,
    "sign of the other": _HALVES.replace("neg(a)", "neg(b)")
    + "r: f32[2,2,3,4] = concat(a, n, axis=-1)"
    + _ADDED,
    "one axis before": """
        b: f32[2,1,3,4] = slice(x, zero, one, one)
        e: f32[2,1,3,4] = slice(x, one, two, one)
        n: f32[2,1,3,4] = neg(e)
        r: f32[2,2,3,4] = concat(n, b, axis=1)
    """
    + _ADDED,
    "of another": _HALVES.replace("slice(x", "slice(k")
    + "r: f32[2,2,3,4] = concat(n, b, axis=-1)"
    + _ADDED,
}


@pytest.mark.parametrize("body", NOT_ROTATED.values(), ids=list(NOT_ROTATED))
def test_what_is_no_rotation_is_left_alone(body: str) -> None:
    g = rotary("k: f32[2,2,3,4] = exp(x)\n" + body if "slice(k" in body else body)
    after = PASSES["simplify"].run(g)
    assert "rotary" not in {n.op for n in after.nodes}
    assert_same_results(g, after, random_inputs(g), error=1e-6)


def test_keys_that_are_transposed_before_they_come() -> None:
    g = graph("""
    graph g(q: f32[2,3,4], k: f32[2,4,5], v: f32[2,5,6], m: f32[3,5]) {
      const half: f32[] = literal(0.5)
      u: f32[2,4,5] = mul(k, half)
      s: f32[2,3,5] = matmul(q, u)
      d: f32[2,3,5] = add(s, m)
      p: f32[2,3,5] = softmax(d)
      y: f32[2,3,6] = matmul(p, v)
      return y
    }
    """)
    after = PASSES["recognise_attention"].run(g)
    assert [n.op for n in after.nodes] == ["transpose", "attention"]
    assert_same_results(g, after, random_inputs(g, 0), error=1e-5)


def test_two_layers_round_a_softmax_are_no_attention() -> None:
    g = graph("""
    graph g(x: f32[3,4]) {
      const w: f32[4,5] = splat(0.25)
      const v: f32[5,6] = splat(0.5)
      s: f32[3,5] = matmul(x, w)
      p: f32[3,5] = softmax(s)
      y: f32[3,6] = matmul(p, v)
      return y
    }
    """)
    assert [n.op for n in PASSES["recognise_attention"].run(g).nodes].count("matmul") == 2
