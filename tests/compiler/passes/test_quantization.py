"""Tests of simplifying quantized graphs: every quantized and special number is preserved."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.ir.graph import Graph
from compiler.ir.verify import verify
from compiler.passes import PASSES
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

NUMBERS = np.array(
    [0.0, -0.0, 0.04, 0.06, -0.06, 1.25, -1.25, 12.74, 12.76, 99, -99, np.inf, -np.inf, np.nan]
)


def run(g: Graph, *names: str) -> tuple[Graph, Log]:
    log = Log()
    for name in names:
        g = PASSES[name].run(g, log)
        verify(g)
    return g, log


def clean(g: Graph) -> tuple[Graph, Log]:
    return run(g, "cleanup_qdq")


def down(g: Graph) -> tuple[Graph, Log]:
    return run(g, "propagate_qdq")


def same_for_special_numbers(g: Graph, after: Graph) -> None:
    """Compare results for all quantized values and for special floats."""
    rng = np.random.default_rng(0)
    for _ in range(4):
        inputs = random_inputs(g)
        for name, array in inputs.items():
            if array.dtype.kind == "f":
                inputs[name] = rng.choice(NUMBERS, array.shape).astype(array.dtype)
            else:
                info = np.iinfo(array.dtype)
                inputs[name] = rng.integers(info.min, info.max + 1, array.shape, array.dtype)
        with np.errstate(all="ignore"):
            left, right = reference(g, inputs), reference(after, inputs)
        for name, x in left.items():
            np.testing.assert_array_equal(x, right[name])


def pair(
    first: str, second: str, *, code: str = "u8", shape: str = "2,3", attrs: str = ""
) -> Graph:
    return graph(
        f"""
        graph g(x: {code}[{shape}]) {{
          {first}
          {second}
          d: f32[{shape}] = dequantize(x, s1, z1, to=f32{attrs})
          q: {code}[{shape}] = quantize(d, s2, z2, to={code}, precision=f32{attrs})
          y: f32[{shape}] = dequantize(q, s2, z2, to=f32{attrs})
          return y
        }}
        """
    )


CANCEL = {
    "equal": ("u8", "f32[] = literal(0.1)", "u8[] = literal(130)", ""),
    "no whole fraction": ("i8", "f32[] = literal(0.003921569)", "i8[] = literal(-128)", ""),
    "tiny": ("u8", "f32[] = literal(1e-37)", "u8[] = literal(7)", ""),
    "negative": ("i8", "f32[] = literal(-0.1)", "i8[] = literal(5)", ""),
    "sixteen bits": ("i16", "f32[] = literal(0.7)", "i16[] = literal(-3)", ""),
    "per channel": ("i8", "f32[3] = literal(0.1,0.2,3.3)", "i8[3] = literal(0,4,-5)", ", axis=1"),
}


@pytest.mark.parametrize(("code", "s", "z", "attrs"), CANCEL.values(), ids=list(CANCEL))
def test_pairs_with_equal_steps_cancel(code: str, s: str, z: str, attrs: str) -> None:
    both = [f"const s{i}: {s} const z{i}: {z}" for i in (1, 2)]
    g = pair(*both, code=code, attrs=attrs)
    after, log = clean(g)
    assert applied(log.steps) == ["drop_quantize_of_dequantize"]
    assert [n.op for n in after.nodes] == ["dequantize"]
    same_for_special_numbers(g, after)


STAY = {
    "another scale": ("f32[] = literal(0.1)", "f32[] = literal(0.11)", "u8", "130", "130"),
    "another zero": ("f32[] = literal(0.1)", "f32[] = literal(0.1)", "u8", "130", "131"),
    "too small": ("f32[] = literal(1e-45)", "f32[] = literal(2e-45)", "u8", "0", "0"),
    "too large": ("f32[] = literal(3e38)", "f32[] = literal(3e38)", "u8", "0", "0"),
    "not positive": ("f32[] = literal(0.0)", "f32[] = literal(0.0)", "u8", "0", "0"),
}


@pytest.mark.parametrize(("s1", "s2", "code", "z1", "z2"), STAY.values(), ids=list(STAY))
def test_pairs_with_other_steps_stay(s1: str, s2: str, code: str, z1: str, z2: str) -> None:
    g = pair(
        f"const s1: {s1} const z1: {code}[] = literal({z1})",
        f"const s2: {s2} const z2: {code}[] = literal({z2})",
        code=code,
    )
    after, log = clean(g)
    assert after is g
    (reason,) = declined(log.steps, "drop_quantize_of_dequantize")
    assert "quantized values would change" in reason or "not all normal" in reason


def test_half_precision_steps_cancel_only_where_they_do() -> None:
    """A product in bf16 keeps 8 bits, so integers that need all bits are rounded to neighbours."""
    text = """
    graph g(x: u8[4,64]) {{
      const s: {t}[] = literal(0.3)
      d: {t}[4,64] = dequantize(x, s, to={t})
      q: u8[4,64] = quantize(d, s, to=u8, precision={t})
      return q
    }}
    """
    half, brief = (graph(text.format(t=t)) for t in ("f16", "bf16"))
    assert clean(half)[0].nodes == ()
    after, log = clean(brief)
    assert after is brief
    assert "of 256 quantized values" in declined(log.steps, "drop_quantize_of_dequantize")[0]


BOUNDS = {
    "relu onto the lowest code": ("r = relu(x)", "u8", "0", True),
    "relu onto the lowest signed code": ("r = relu(x)", "i8", "-128", True),
    "relu in the middle": ("r = relu(x)", "i8", "0", False),
    "relu one above": ("r = relu(x)", "u8", "1", False),
    "relu6 beyond the codes": ("r = clip(x, zero, many)", "u8", "0", True),
    "relu6 within the codes": ("r = clip(x, zero, six)", "u8", "0", False),
    "only an upper bound": ("r = clip(x, _, many)", "u8", "3", True),
    "only a lower bound": ("r = clip(x, less)", "u8", "3", True),
    "bounds that are crossed": ("r = clip(x, many, less)", "u8", "0", False),
}


@pytest.mark.parametrize(("body", "code", "z", "goes"), BOUNDS.values(), ids=list(BOUNDS))
def test_bounds_that_saturating_keeps_go(body: str, code: str, z: str, goes: bool) -> None:
    g = graph(
        f"""
        graph g(x: f32[5,7]) {{
          const s: f32[] = literal(0.05)
          const z: {code}[] = literal({z})
          const zero: f32[] = literal(0.0)
          const six: f32[] = literal(6.0)
          const many: f32[] = literal(12.8)
          const less: f32[] = literal(-13.0)
          {body.replace("r =", "r: f32[5,7] =")}
          q: {code}[5,7] = quantize(r, s, z, to={code}, precision=f32)
          return q
        }}
        """
    )
    after, log = clean(g)
    assert (len(after.nodes) == 1) == goes
    if not goes:
        assert [s.because for s in log.steps if s.outcome == "declined"]
    same_for_special_numbers(g, after)


def test_a_clip_must_be_superfluous_in_every_channel() -> None:
    text = """
    graph g(x: f32[5,3]) {{
      const s: f32[3] = literal(0.01,0.02,{last})
      const lo: f32[] = literal(0.0)
      const hi: f32[] = literal(6.0)
      r: f32[5,3] = clip(x, lo, hi)
      q: u8[5,3] = quantize(r, s, to=u8, precision=f32, axis=1)
      return q
    }}
    """
    fits, not_quite = graph(text.format(last=0.0235)), graph(text.format(last=0.024))
    assert len(clean(fits)[0].nodes) == 1
    same_for_special_numbers(fits, clean(fits)[0])
    assert clean(not_quite)[0] is not_quite


MOVES = {
    "transpose": ("transpose(d, perm=[2,0,1])", "4,2,3"),
    "reshape": ("reshape(d, shape)", "6,4"),
    "slice": ("slice(d, one, two)", "1,3,4"),
    "gather": ("gather(d, at, axis=2)", "2,3,2"),
    "concat": ("concat(d, e, axis=1)", "2,8,4"),
    "max_pool": ("max_pool(d, kernel=[3], strides=[2], pads=[1,1], dilations=[1])", "2,3,2"),
}


@pytest.mark.parametrize(("call", "shape"), MOVES.values(), ids=list(MOVES))
def test_moves_between_equal_steps_work_on_bytes(call: str, shape: str) -> None:
    g = graph(
        f"""
        graph g(x: u8[2,3,4], w: u8[2,5,4]) {{
          const s: f32[] = literal(0.05)
          const t: f32[] = literal(0.05)
          const z: u8[] = literal(9)
          const shape: i64[2] = literal(6,4)
          const one: i64[1] = literal(1)
          const two: i64[1] = literal(2)
          const at: i64[2] = literal(3,-4)
          d: f32[2,3,4] = dequantize(x, s, z, to=f32)
          e: f32[2,5,4] = dequantize(w, t, z, to=f32)
          m: f32[{shape}] = {call}
          q: u8[{shape}] = quantize(m, t, z, to=u8, precision=f32)
          return q
        }}
        """
    )
    after, _ = run(g, "propagate_qdq", "cleanup_qdq", "dead_code_elimination")
    assert [n.op for n in after.nodes] == [call.split("(")[0]]
    assert down(after)[0] is after
    same_for_special_numbers(g, after)


def test_scales_of_channels_follow_a_transpose() -> None:
    g = graph(
        """
        graph g(x: i8[2,3,4]) {
          const s: f32[3] = literal(0.1,0.2,0.3)
          d: f32[2,3,4] = dequantize(x, s, to=f32, axis=-2)
          t: f32[4,2,3] = transpose(d, perm=[2,0,1])
          y: f32[4,2,3] = exp(t)
          return y
        }
        """
    )
    after, _ = down(g)
    assert [n.op for n in after.nodes] == ["transpose", "dequantize", "exp"]
    assert after.nodes[1].attrs["axis"] == 2
    same_for_special_numbers(g, after)


def test_quantizing_moves_before_a_transpose_towards_what_computes() -> None:
    g = graph(
        """
        graph g(x: f32[2,3,4]) {
          const s: f32[] = literal(0.05)
          e: f32[2,3,4] = exp(x)
          t: f32[4,2,3] = transpose(e, perm=[2,0,1])
          u: f32[4,6] = reshape(t, to)
          const to: i64[2] = literal(4,6)
          q: u8[4,6] = quantize(u, s, to=u8, precision=f32)
          return q
        }
        """
    )
    after, log = down(g)
    assert [n.op for n in after.nodes] == ["exp", "quantize", "transpose", "reshape"]
    assert applied(log.steps) == ["quantize_earlier"] * 2
    assert "saves" in log.steps[1].because
    same_for_special_numbers(g, after)


def test_pieces_of_a_tensor_are_dequantized_each() -> None:
    g = graph(
        """
        graph g(x: u8[5,3], w: u8[5,3]) {
          const s: f32[] = literal(0.05)
          const z: i64[1] = literal(0)
          const two: i64[1] = literal(2)
          const five: i64[1] = literal(5)
          d: f32[5,3] = dequantize(x, s, to=f32)
          a: f32[2,3] = slice(d, z, two)
          b: f32[3,3] = slice(d, two, five)
          y: f32[2,3] = exp(a)
          e: f32[5,3] = dequantize(w, s, to=f32)
          c: f32[3,5] = transpose(e, perm=[1,0])
          v: f32[3,3] = slice(e, two, five)
          return y, b, c, v
        }
        """
    )
    after, log = down(g)
    ops = [n.op for n in after.nodes]
    assert ops.count("dequantize") == 3
    assert len(declined(log.steps, "dequantize_later")) == 2
    same_for_special_numbers(g, after)


KEPT = {
    "read twice": ("t: f32[3,2] = transpose(d, perm=[1,0]) y: f32[2,3] = exp(d)", "f32[]", "read"),
    "a scale of each row": (
        "t: f32[6] = reshape(d, six) y: f32[2,3] = exp(x2)",
        "f32[2]",
        "per index along axis",
    ),
    "more elements": (
        "t: f32[5,3] = gather(d, five, axis=0) y: f32[2,3] = exp(x2)",
        "f32[]",
        "more elements",
    ),
    "an empty window": (
        """i: f32[1,2,3] = unsqueeze(d, axes=[0]) t: f32[1,2,3] = max_pool(i, kernel=[2],
        strides=[2], pads=[2,1], dilations=[1]) y: f32[2,3] = exp(x2)""",
        "f32[]",
        "rows of padding",
    ),
}


@pytest.mark.parametrize(("body", "s", "says"), KEPT.values(), ids=list(KEPT))
def test_moves_that_would_cost_more_or_give_others_stay(body: str, s: str, says: str) -> None:
    g = graph(
        f"""
        graph g(x: u8[2,3], x2: f32[2,3]) {{
          const s: {s} = splat(0.05)
          const six: i64[1] = literal(6)
          const five: i64[5] = literal(0,1,1,0,0)
          d: f32[2,3] = dequantize(x, s, to=f32, axis=0)
          {body}
          return t, y
        }}
        """
    )
    after, log = down(g)
    assert any(says in r for r in declined(log.steps, "dequantize_later"))
    assert after.nodes[-2].op == g.nodes[-2].op
    same_for_special_numbers(g, after)


def test_scales_behind_dequantizing_need_the_same_channels() -> None:
    g = graph(
        """
        graph g(x: i8[2,3]) {
          const s: f32[] = literal(0.5)
          const two: f32[] = literal(3.0)
          const many: f32[3] = literal(1.0,2.0,3.0)
          a: f32[2,3] = dequantize(x, s, to=f32)
          b: f32[2,3] = mul(a, two)
          c: f32[2,3] = dequantize(x, s, to=f32)
          d: f32[2,3] = mul(c, many)
          return b, d
        }
        """
    )
    after, log = clean(g)
    assert [n.op for n in after.nodes] == ["dequantize", "dequantize", "mul"]
    assert "a single scale would become 3" in declined(log.steps, "scale_of_dequantized")[0]
    assert_same_results(g, after, random_inputs(g), error=2e-6)
    assert_same_results(g, after, special_inputs(g), error=2e-6)
