"""Tests of recognising composites of several exporters as operators, in every such pass."""

from __future__ import annotations

import pytest

from compiler.passes import PASSES, presets
from tests.compiler.passes.numbers import (
    assert_same_results,
    graph,
    random_inputs,
    special_inputs,
)
from tests.compiler.passes.written import written

_CENTRED = "m = reduce_mean(x, axes=[2])\nc = sub(x, m)\n"
_VARIANCE = _CENTRED + "q = mul(c, c)\nv = reduce_mean(q, axes=[2])\ne = add(v, eps)\n"
_RMS = "q = mul(x, x)\nv = reduce_mean(q, axes=[2])\ne = add(v, eps)\n"
_ERF = "a = div(x, root2)\nr = erf(a)\ns = add(r, one)\n"
_TANH = """
    p = pow(x, three)
    q = mul(bend, p)
    a = add(x, q)
    i = mul(pi, a)
    r = tanh(i)
    s = add(r, one)
"""
_TOP = "t = reduce_max(x, axes=[2])\nd = sub(x, t)\nf = exp(d)\n"

STYLES = {
    "layer_norm": {
        "torch": _CENTRED
        + """q = pow(c, two)
             v = reduce_mean(q, axes=[2])
             e = add(v, eps)
             r = sqrt(e)
             n = div(c, r)
             g = mul(n, w)
             y = add(g, b)""",
        "product": _VARIANCE + "r = sqrt(e)\nn = div(c, r)\ng = mul(w, n)\ny = add(b, g)",
        "reciprocal": _VARIANCE + "r = sqrt(e)\ni = reciprocal(r)\ny = mul(c, i)",
        "one over": _VARIANCE + "r = sqrt(e)\ni = div(one, r)\nn = mul(i, c)\ny = mul(n, w)",
        "a power": _VARIANCE + "i = pow(e, minus_half)\ny = mul(c, i)",
        "root as a power": _VARIANCE + "r = pow(e, half)\ny = div(c, r)",
        "centred twice": _CENTRED
        + """k = sub(x, m)
             q = mul(k, k)
             v = reduce_mean(q, axes=[2])
             e = add(eps, v)
             r = sqrt(e)
             y = div(c, r)""",
        "mean twice": _VARIANCE
        + """r = sqrt(e)
             m2 = reduce_mean(x, axes=[2])
             c2 = sub(x, m2)
             y = div(c2, r)""",
        "scale inside": _VARIANCE
        + "r = sqrt(e)\ni = reciprocal(r)\nf = mul(i, w)\nn = mul(c, f)\ny = add(n, b)",
        "scale first": _VARIANCE + "r = sqrt(e)\nn = mul(w, c)\ng = div(n, r)\ny = add(g, b)",
        "keras": _VARIANCE
        + """r = sqrt(e)
             i = reciprocal(r)
             f = mul(i, w)
             p = mul(x, f)
             d = mul(m, f)
             h = sub(b, d)
             y = add(p, h)""",
        "keras without scale": _VARIANCE
        + """r = sqrt(e)
             i = reciprocal(r)
             p = mul(x, i)
             d = mul(m, i)
             h = sub(b, d)
             y = add(p, h)""",
        "sums": """
             u = reduce_sum(x, axes=[2])
             m = div(u, five)
             c = sub(x, m)
             q = mul(c, c)
             z = reduce_sum(q, axes=[2])
             v = mul(z, fifth)
             e = add(v, eps)
             r = sqrt(e)
             y = div(c, r)""",
        "two axes": """
             m = reduce_mean(x, axes=[1,2])
             c = sub(x, m)
             q = mul(c, c)
             v = reduce_mean(q, axes=[1,2])
             e = add(v, eps)
             r = sqrt(e)
             y = div(c, r)""",
    },
    "rms_norm": {
        "torch": """
            q = pow(x, two)
            v = reduce_mean(q, axes=[2])
            e = add(v, eps)
            r = sqrt(e)
            i = reciprocal(r)
            n = mul(x, i)
            y = mul(w, n)""",
        "product": _RMS + "r = sqrt(e)\ny = div(x, r)",
        "one over": _RMS + "r = sqrt(e)\ni = div(one, r)\nn = mul(i, x)\ny = mul(n, w)",
        "a power": _RMS + "i = pow(e, minus_half)\ny = mul(x, i)",
        "root as a power": _RMS + "r = pow(e, half)\ny = div(x, r)",
        "scale inside": _RMS + "r = sqrt(e)\ni = reciprocal(r)\nf = mul(i, w)\ny = mul(x, f)",
        "scale first": _RMS + "r = sqrt(e)\nn = mul(x, w)\ny = div(n, r)",
        "sums": """
            q = mul(x, x)
            u = reduce_sum(q, axes=[2])
            v = div(u, five)
            e = add(v, eps)
            r = sqrt(e)
            y = div(x, r)""",
    },
    "gelu": {
        "halved last": _ERF + "p = mul(x, s)\ny = mul(p, half)",
        "halved first": _ERF + "p = mul(x, half)\ny = mul(p, s)",
        "half inside": _ERF + "p = mul(half, s)\ny = mul(x, p)",
        "divided by two": _ERF + "p = mul(s, x)\ny = div(p, two)",
        "sum divided": _ERF + "p = div(s, two)\ny = mul(p, x)",
        "factor": "a = mul(x, half_root)\nr = erf(a)\ns = add(one, r)\np = mul(x, s)\n"
        "y = mul(p, half)",
        "half of the error": "a = div(x, root2)\nr = erf(a)\nh = mul(r, half)\ns = add(h, half)\n"
        "y = mul(x, s)",
        "spread": "a = div(x, root2)\nr = erf(a)\np = mul(x, r)\ns = add(x, p)\ny = mul(s, half)",
        "tanh": _TANH + "p2 = mul(x, half)\ny = mul(p2, s)",
        "tanh, halved inside": _TANH + "h = mul(s, half)\ny = mul(x, h)",
        "tanh, halved last": _TANH + "h = mul(x, s)\ny = mul(half, h)",
        "tanh, products": """
            k = mul(x, x)
            p = mul(k, x)
            q = mul(bend, p)
            a = add(x, q)
            i = mul(pi, a)
            r = tanh(i)
            s = add(r, one)
            h = mul(x, s)
            y = mul(half, h)""",
        "fast": """
            u = mul(x, pi)
            k = mul(bend, x)
            l = mul(k, x)
            a = add(l, one)
            i = mul(u, a)
            r = tanh(i)
            s = add(r, one)
            h = mul(x, half)
            y = mul(h, s)""",
        "sigmoid": """
            p = pow(x, three)
            q = mul(bend, p)
            a = add(x, q)
            i = mul(twice, a)
            s = sigmoid(i)
            y = mul(x, s)""",
    },
    "softmax": {
        "quotient": _TOP + "s = reduce_sum(f, axes=[2])\ny = div(f, s)",
        "reciprocal": _TOP + "s = reduce_sum(f, axes=[2])\ni = reciprocal(s)\ny = mul(f, i)",
        "reciprocal first": _TOP + "s = reduce_sum(f, axes=[2])\ni = reciprocal(s)\ny = mul(i, f)",
        "one over": _TOP + "s = reduce_sum(f, axes=[2])\ni = div(one, s)\ny = mul(f, i)",
        "computed twice": _TOP
        + """d2 = sub(x, t)
             f2 = exp(d2)
             s = reduce_sum(f2, axes=[2])
             y = div(f, s)""",
        "largest twice": _TOP
        + """t2 = reduce_max(x, axes=[2])
             d2 = sub(x, t2)
             f2 = exp(d2)
             s = reduce_sum(f2, axes=[2])
             y = div(f2, s)""",
        "jax": """
            t = reduce_max(x, axes=[2], keepdims=false)
            u = unsqueeze(t, axes=[2])
            d = sub(x, u)
            f = exp(d)
            s = reduce_sum(f, axes=[2], keepdims=false)
            z = unsqueeze(s, axes=[2])
            y = div(f, z)""",
        "another axis": """
            t = reduce_max(x, axes=[1])
            d = sub(x, t)
            f = exp(d)
            s = reduce_sum(f, axes=[1])
            y = div(f, s)""",
    },
    "log_softmax": {
        "logarithm": _TOP + "s = reduce_sum(f, axes=[2])\nl = log(s)\ny = sub(d, l)",
        "reduced": _TOP + "l = reduce_log_sum(f, axes=[2])\ny = sub(d, l)",
        "of the rest": _TOP + "l = reduce_log_sum_exp(d, axes=[2])\ny = sub(d, l)",
    },
    "swish": {
        "silu": "s = sigmoid(x)\ny = mul(x, s)",
        "quick gelu": "a = mul(x, quick)\ns = sigmoid(a)\ny = mul(s, x)",
        "quotient": "n = neg(x)\nf = exp(n)\ns = add(f, one)\ny = div(x, s)",
        "written out": "n = neg(x)\nf = exp(n)\ns = add(one, f)\ni = div(one, s)\ny = mul(x, i)",
        "by minus one": "n = mul(x, minus)\nf = exp(n)\ns = add(one, f)\ny = div(x, s)",
    },
    "mish": {
        "softplus": "s = softplus(x)\nr = tanh(s)\ny = mul(x, r)",
        "logarithm": "f = exp(x)\na = add(one, f)\nl = log(a)\nr = tanh(l)\ny = mul(r, x)",
    },
    "softplus": {
        "stable": "p = relu(x)\na = abs(x)\nn = neg(a)\nf = exp(n)\ns = add(f, one)\nl = log(s)\n"
        "y = add(l, p)",
        "threshold": "f = exp(x)\ns = add(f, one)\nl = log(s)\nc = greater(x, twenty)\n"
        "y = where(c, x, l)",
    },
    "elu": {
        "positive": "c = greater(x, zero)\nf = exp(x)\ns = sub(f, one)\ny = where(c, x, s)",
        "negative": "c = less(x, zero)\nf = exp(x)\ns = add(f, minus)\ny = where(c, s, x)",
        "safe": "c = greater(x, zero)\nk = min(x, zero)\nf = exp(k)\ns = sub(f, one)\n"
        "y = where(c, x, s)",
        "sum": "p = relu(x)\nf = exp(x)\ns = sub(f, one)\nn = min(s, zero)\ny = add(p, n)",
    },
    "prelu": {
        "keras": "p = relu(x)\nn = neg(x)\nk = relu(n)\nq = mul(w, k)\ny = sub(p, q)",
        "parts": "p = relu(x)\nn = min(x, zero)\nq = mul(n, w)\ny = add(p, q)",
        "choice": "c = greater_equal(x, zero)\nq = mul(x, w)\ny = where(c, x, q)",
    },
}  # fmt: skip

_CASES = [(op, style) for op, styles in STYLES.items() for style in styles]


@pytest.mark.parametrize(("op", "style"), _CASES, ids=[f"{op}: {s}" for op, s in _CASES])
@pytest.mark.parametrize("pass_name", ["recognise", "simplify"])
def test_every_style_is_recognised(op: str, style: str, pass_name: str) -> None:
    g = written(STYLES[op][style])
    after = PASSES["recognise_exact"].run(PASSES[pass_name].run(g))
    assert [n.op for n in after.nodes] == [op]
    for seed in range(2):
        assert_same_results(g, after, random_inputs(g, seed), error=1e-5)
        if op not in ("layer_norm", "rms_norm"):
            assert_same_results(g, after, special_inputs(g, seed), error=1e-5)


@pytest.mark.parametrize(("op", "style"), _CASES, ids=[f"{op}: {s}" for op, s in _CASES])
def test_every_style_is_recognised_after_algebra(op: str, style: str) -> None:
    g = PASSES["algebraic_simplification"].run(written(STYLES[op][style]))
    after = PASSES["recognise_exact"].run(PASSES["recognise"].run(g))
    assert [n.op for n in after.nodes] == [op]


NEAR = {
    "layer_norm": {
        "epsilon behind the root": _CENTRED
        + """q = mul(c, c)
             v = reduce_mean(q, axes=[2])
             r = sqrt(v)
             e = add(r, eps)
             y = div(c, e)""",
        "another axis of the variance": _CENTRED
        + """q = mul(c, c)
             v = reduce_mean(q, axes=[1,2])
             e = add(v, eps)
             r = sqrt(e)
             y = div(c, r)""",
        "not the last axis": """
             m = reduce_mean(x, axes=[1])
             c = sub(x, m)
             q = mul(c, c)
             v = reduce_mean(q, axes=[1])
             e = add(v, eps)
             r = sqrt(e)
             y = div(c, r)""",
        "sample variance": """
             m = reduce_mean(x, axes=[2])
             c = sub(x, m)
             q = mul(c, c)
             z = reduce_sum(q, axes=[2])
             v = mul(z, half)
             e = add(v, eps)
             r = sqrt(e)
             y = div(c, r)""",
        "third power": _CENTRED
        + """q = pow(c, three)
             v = reduce_mean(q, axes=[2])
             e = add(v, eps)
             r = sqrt(e)
             y = div(c, r)""",
        "the other way round": _VARIANCE + "r = sqrt(e)\ny = div(r, c)",
        "mean of absolutes": _CENTRED
        + """q = abs(c)
             v = reduce_mean(q, axes=[2])
             e = add(v, eps)
             r = sqrt(e)
             y = div(c, r)""",
    },
    "rms_norm": {
        "sum of squares": "q = mul(x, x)\nv = reduce_sum(q, axes=[2])\ne = add(v, eps)\n"
        "r = sqrt(e)\ny = div(x, r)",
        "not the last axis": "q = mul(x, x)\nv = reduce_mean(q, axes=[1])\ne = add(v, eps)\n"
        "r = sqrt(e)\ny = div(x, r)",
        "the other way round": _RMS + "r = sqrt(e)\ny = div(r, x)",
        "epsilon behind the root": "q = mul(x, x)\nv = reduce_mean(q, axes=[2])\nr = sqrt(v)\n"
        "e = add(r, eps)\ny = div(x, e)",
        "of another": "k = abs(x)\nq = mul(x, x)\nv = reduce_mean(q, axes=[2])\ne = add(v, eps)\n"
        "r = sqrt(e)\ny = div(k, r)",
        "multiplied by the root": _RMS + "r = sqrt(e)\ny = mul(x, r)",
    },
    "gelu": {
        "wrong root": "a = mul(x, root2)\nr = erf(a)\ns = add(r, one)\np = mul(x, s)\n"
        "y = mul(p, half)",
        "nearly the root": "a = mul(x, pi)\nr = erf(a)\ns = add(r, one)\np = mul(x, s)\n"
        "y = mul(p, half)",
        "no half": _ERF + "y = mul(x, s)",
        "one less": "a = div(x, root2)\nr = erf(a)\ns = add(r, minus)\np = mul(x, s)\n"
        "y = mul(p, half)",
        "of another": _ERF + "k = abs(x)\np = mul(k, s)\ny = mul(p, half)",
        "tanh of the square": """
            p = mul(x, x)
            q = mul(bend, p)
            a = add(x, q)
            i = mul(pi, a)
            r = tanh(i)
            s = add(r, one)
            h = mul(x, s)
            y = mul(half, h)""",
        "tanh, wrong bend": """
            p = pow(x, three)
            q = mul(bent, p)
            a = add(x, q)
            i = mul(pi, a)
            r = tanh(i)
            s = add(r, one)
            h = mul(x, s)
            y = mul(half, h)""",
    },
    "softmax": {
        "nothing taken off": "f = exp(x)\ns = reduce_sum(f, axes=[2])\ny = div(f, s)",
        "sum along another axis": _TOP + "s = reduce_sum(f, axes=[1])\ny = div(f, s)",
        "sum of another": _TOP + "f2 = exp(x)\ns = reduce_sum(f2, axes=[2])\ny = div(f, s)",
        "mean": _TOP + "s = reduce_mean(f, axes=[2])\ny = div(f, s)",
        "two axes": """
            t = reduce_max(x, axes=[1,2])
            d = sub(x, t)
            f = exp(d)
            s = reduce_sum(f, axes=[1,2])
            y = div(f, s)""",
        "the other way round": _TOP + "s = reduce_sum(f, axes=[2])\ny = div(s, f)",
        "least taken off": "t = reduce_min(x, axes=[2])\nd = sub(x, t)\nf = exp(d)\n"
        "s = reduce_sum(f, axes=[2])\ny = div(f, s)",
    },
    "log_softmax": {
        "nothing taken off": "l = reduce_log_sum_exp(x, axes=[2])\ny = sub(x, l)",
        "sum of another": _TOP + "s = reduce_sum(f, axes=[2])\nl = log(s)\ny = sub(x, l)",
    },
    "softplus": {
        "overflows": "f = exp(x)\ns = add(f, one)\ny = log(s)",
        "low threshold": "f = exp(x)\ns = add(f, one)\nl = log(s)\nc = greater(x, five)\n"
        "y = where(c, x, l)",
    },
    "elu": {
        "other branch": "c = less(x, zero)\nf = exp(x)\ns = sub(f, one)\ny = where(c, x, s)",
        "other bound": "c = greater(x, one)\nf = exp(x)\ns = sub(f, one)\ny = where(c, x, s)",
    },
    "prelu": {
        "of another": "p = relu(x)\nk = abs(x)\nn = min(k, zero)\nq = mul(n, w)\ny = add(p, q)",
        "steeper above": "c = less(x, zero)\nq = mul(x, w)\ny = where(c, x, q)",
    },
}  # fmt: skip

_NEAR = [(op, style) for op, styles in NEAR.items() for style in styles]


@pytest.mark.parametrize(("op", "style"), _NEAR, ids=[f"{op}: {s}" for op, s in _NEAR])
def test_what_only_looks_like_it_is_not_recognised(op: str, style: str) -> None:
    g = written(NEAR[op][style])
    after = PASSES["recognise_exact"].run(PASSES["simplify"].run(g))
    assert op not in {n.op for n in after.nodes}
    for seed in range(2):
        assert_same_results(g, after, random_inputs(g, seed), error=1e-5)


def test_what_runs_no_faster_is_in_no_preset_that_is_about_speed() -> None:
    for name in ("default", "O0", "O1", "O2", "O3"):
        assert "recognise_exact" not in str(presets()[name])


def test_a_normalisation_with_casts_around_keeps_them() -> None:
    g = graph(
        """
        graph g(x: f16[2,5], w: f16[5]) {
          const eps: f32[] = literal(0.001)
          const two: f32[] = literal(2.0)
          a: f32[2,5] = cast(x, to=f32)
          q: f32[2,5] = pow(a, two)
          v: f32[2,1] = reduce_mean(q, axes=[1])
          e: f32[2,1] = add(v, eps)
          r: f32[2,1] = sqrt(e)
          i: f32[2,1] = reciprocal(r)
          n: f32[2,5] = mul(a, i)
          h: f16[2,5] = cast(n, to=f16)
          y: f16[2,5] = mul(w, h)
          return y
        }
        """
    )
    after = PASSES["simplify"].run(g)
    assert [n.op for n in after.nodes] == ["cast", "rms_norm", "cast", "mul"]
    assert_same_results(g, after, random_inputs(g), error=1e-3)


def test_the_bound_that_jax_gives_the_largest_is_no_obstacle() -> None:
    g = written(
        """
        t = reduce_max(x, axes=[2], keepdims=false)
        k = max(least, t)
        u = unsqueeze(k, axes=[2])
        d = sub(x, u)
        f = exp(d)
        s = reduce_sum(f, axes=[2], keepdims=false)
        z = unsqueeze(s, axes=[2])
        y = div(f, z)
        """
    )
    assert [n.op for n in PASSES["simplify"].run(g).nodes] == ["softmax"]


def test_what_others_read_of_a_normalisation_keeps_it_written_out() -> None:
    body = STYLES["layer_norm"]["torch"]
    g = written(body)
    shared = graph(str(g).replace("return y", "return y, v"))
    after = PASSES["recognise"].run(shared)
    assert "layer_norm" not in {n.op for n in after.nodes}
    assert_same_results(shared, after, random_inputs(shared), error=1e-5)


@pytest.mark.parametrize("last", ["mul(n, w)", "div(n, w)"])
def test_numbers_of_short_floats_are_as_near_as_they_can_be(last: str) -> None:
    g = graph(
        f"""
        graph g(x: f16[2,5]) {{
          const root: f16[] = literal(1.4141)
          const one: f16[] = literal(1.0)
          const w: f16[] = literal({"0.5" if last[0] == "m" else "2.0"})
          a: f16[2,5] = div(x, root)
          r: f16[2,5] = erf(a)
          s: f16[2,5] = add(r, one)
          n: f16[2,5] = mul(x, s)
          y: f16[2,5] = {last}
          return y
        }}
        """
    )
    assert [n.op for n in PASSES["simplify"].run(g).nodes] == ["gelu"]
