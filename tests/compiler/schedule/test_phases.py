"""Tests of transposed convolutions: a stage for each phase, with the weights of its taps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
import compiler.ops  # pyright: ignore[reportUnusedImport] - registers the operators
from compiler.compute.evaluate import evaluate
from compiler.compute.lower import lower_node
from compiler.ir.text import parse_graph
from compiler.ir.verify import verify
from compiler.schedule.policy import schedule
from compiler.targets.options import CodeOptions
from compiler.targets.target import by_name
from tests.kernel_runs import run_native

CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], int, dict[str, Any]]] = {
    "4x4 by 2": ((5, 6), (4, 4), 32, {"strides": (2, 2), "pads": (1, 1, 1, 1)}),
    "3x3 by 2, one row more": (
        (5, 4), (3, 3), 20, {"strides": (2, 2), "pads": (1, 1, 1, 1), "output_padding": (1, 1)},
    ),
    "2x3 by 3: places without taps": ((4, 5), (2, 3), 16, {"strides": (3, 3), "pads": (0,) * 4}),
    "to three channels": ((9, 20), (4, 4), 3, {"strides": (2, 2), "pads": (1, 1, 1, 1)}),
    "in groups": ((5, 7), (4, 2), 32, {"strides": (2, 2), "pads": (1, 0, 1, 0), "groups": 2}),
    "one pixel": ((1, 1), (4, 3), 40, {"strides": (1, 1), "pads": (0,) * 4}),
    "sound": ((19,), (6,), 16, {"strides": (4,), "pads": (1, 1)}),
    "dilated": ((5, 6), (3, 2), 16, {"strides": (2, 2), "pads": (0,) * 4, "dilations": (2, 3)}),
}  # fmt: skip


def graph(case: str) -> Any:
    size, kernel, channels, given = CASES[case]
    n = len(size)
    attrs: dict[str, Any] = {
        "dilations": (1,) * n,
        "output_padding": (0,) * n,
        "groups": 1,
        **given,
    }
    rng = np.random.default_rng(3)
    w_shape = (18, channels // attrs["groups"], *kernel)
    made = [
        (size[d] - 1) * attrs["strides"][d]
        - attrs["pads"][d] - attrs["pads"][n + d]
        + attrs["dilations"][d] * (kernel[d] - 1) + 1 + attrs["output_padding"][d]
        for d in range(n)
    ]  # fmt: skip
    sizes, dims = ",".join(map(str, size)), ",".join(map(str, made))
    text = ", ".join(
        f"{k}={v if isinstance(v, int) else '[' + ','.join(map(str, v)) + ']'}"
        for k, v in attrs.items()
    )
    weights = ",".join(map(str, rng.integers(-8, 8, int(np.prod(w_shape))) / 8))
    bias = ",".join(map(str, rng.integers(-8, 8, channels) / 8))
    g = parse_graph(f"""
graph g(x: f32[1,18,{sizes}]) {{
  const w: f32[{",".join(map(str, w_shape))}] = literal({weights})
  const b: f32[{channels}] = literal({bias})
  a: f32[1,{channels},{dims}] = conv_transpose(x, w, b, {text})
  y: f32[1,{channels},{dims}] = leaky_relu(a, alpha=0.25)
  return y
}}""")
    verify(g)
    return g


@pytest.mark.parametrize("case", CASES)
def test_phases_are_right_with_what_follows_them(case: str) -> None:
    g = graph(case)
    x = np.random.default_rng(5).normal(size=g.inputs[0].type.static_shape).astype(np.float32)
    program = compiler.compile(g)
    (made,) = program.run({"x": x}).values()
    (wanted,) = compiler.reference(g, {"x": x}).values()
    np.testing.assert_allclose(made, wanted, rtol=1e-5, atol=1e-5)
    assert all(k.native for k in program.kernels)


@pytest.mark.parametrize("case", CASES)
def test_phases_are_right_with_short_vectors(case: str) -> None:
    lowered = lower_node(graph(case).nodes[0], graph(case))
    assert lowered is not None
    computation = lowered.computation
    target = by_name("x86-64-v3")
    constants = frozenset(computation.inputs) - {"X"}
    made = schedule(computation, constants, CodeOptions(target))
    rng = np.random.default_rng(7)
    arrays = {
        n: rng.normal(size=computation.tensors[n].static_shape).astype(np.float32)
        for n in computation.inputs
    }
    (wanted,) = evaluate(computation, arrays).values()
    memory = {n: made.packings[n].apply(a) if n in made.packings else a for n, a in arrays.items()}
    memory["Y"] = np.full(wanted.shape, np.nan, np.float32)
    run_native(made.kernel, memory, target)
    np.testing.assert_allclose(memory["Y"], wanted, rtol=1e-4, atol=1e-5)


def test_each_phase_packs_the_weights_that_it_meets() -> None:
    g = graph("3x3 by 2, one row more")
    lowered = lower_node(g.nodes[0], g)
    assert lowered is not None
    factors = [t for t, value in lowered.operands.items() if value == "w"]
    assert len(factors) == 4
    constants = frozenset(t for t, value in lowered.operands.items() if value in g.constants)
    made = schedule(lowered.computation, constants, CodeOptions(by_name("x86-64-v4")))
    weights = np.arange(18 * 20 * 9, dtype=np.float32).reshape(18, 20, 3, 3) + 1
    packed = [made.packings[t].apply(weights) for t in factors]
    found = np.concatenate([p.ravel() for p in packed])
    # Every weight once, and zeros after the last channels.
    np.testing.assert_array_equal(np.sort(found[found > 0]), np.sort(weights.ravel()))
    assert "take" in str(made.packings[factors[1]])
