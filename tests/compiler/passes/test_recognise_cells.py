"""Tests of recognising LSTM steps with gates in any order; near misses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest

import compiler
from compiler.export import to_onnx
from compiler.ir.graph import Graph
from compiler.passes import PASSES, presets
from compiler.trace import Log
from tests.compiler.passes.numbers import assert_same_results, declined, graph, random_inputs

_RULE = "lstm_cell_of_gates"
_STEP = """
  fs: f32[3,2] = sigmoid(f)
  is: f32[3,2] = sigmoid(i)
  gt: f32[3,2] = tanh(g)
  kept: f32[3,2] = mul(fs, c)
  filled: f32[3,2] = mul(is, gt)
  new: f32[3,2] = add(kept, filled)
  os: f32[3,2] = sigmoid(o)
  t: f32[3,2] = tanh(new)
  y: f32[3,2] = mul(os, t)
"""


def split(order: str) -> str:
    """Return all gates by one split."""
    names = ", ".join(f"{gate}: f32[3,2]" for gate in order)
    return f"{names} = split(z, axis=-1, sizes=[2,2,2,2])\n"


def slices(order: str) -> str:
    """Return each gate by a separate slice."""
    ends = "".join(f"const n{k}: i64[1] = literal({k})\n" for k in (0, 2, 4, 6, 8))
    cuts = (
        f"{gate}: f32[3,2] = slice(z, n{2 * k}, n{2 * k + 2}, last)" for k, gate in enumerate(order)
    )
    return f"const last: i64[1] = literal(-1)\n{ends}" + "\n".join(cuts)


def step(gates: str, body: str = _STEP, results: str = "y, new") -> Graph:
    return graph(f"graph g(z: f32[3,8], c: f32[3,2]) {{ {gates} {body} return {results} }}")


@pytest.mark.parametrize("gates", [split, slices])
@pytest.mark.parametrize("order", ["ifgo", "iofg", "igfo", "ogif"])
@pytest.mark.parametrize("before", ["dead_code_elimination", "simplify"])
def test_gates_in_any_order_are_recognised(
    gates: Callable[[str], str], order: str, before: str
) -> None:
    g = step(gates(order))
    after = PASSES["recognise_cells"].run(PASSES[before].run(g))
    assert [(n.op, n.attrs["order"]) for n in after.nodes] == [("lstm_cell", order)]
    for seed in range(2):
        assert_same_results(g, after, random_inputs(g, seed), error=1e-6)


def test_factors_and_terms_may_stand_in_any_order() -> None:
    turned = (
        _STEP.replace("mul(fs, c)", "mul(c, fs)")
        .replace("mul(is, gt)", "mul(gt, is)")
        .replace("add(kept, filled)", "add(filled, kept)")
        .replace("mul(os, t)", "mul(t, os)")
    )
    g = step(split("igfo"), turned)
    after = PASSES["recognise_cells"].run(g)
    assert [n.op for n in after.nodes] == ["lstm_cell"]
    assert_same_results(g, after, random_inputs(g), error=1e-6)


def test_two_steps_behind_each_other_keep_their_products() -> None:
    """In an unrolled loop of an exporter, the products of each step read the previous state."""
    lines = []
    for k in range(2):
        text = split("ifgo") + _STEP
        for name in ("f", "i", "g", "o", "fs", "is", "gt", "kept", "filled", "new", "os", "t", "y"):
            text = text.replace(f"{name}: ", f"{name}{k}: ")
            text = text.replace(f"({name},", f"({name}{k},").replace(f"({name})", f"({name}{k})")
            text = text.replace(f", {name})", f", {name}{k})")
        text = text.replace(", c)", f", {'c' if k == 0 else 'new0'})").replace("(z,", f"(z{k},")
        before = "h" if k == 0 else "y0"
        lines.append(f"p{k}: f32[3,8] = matmul({before}, r)\nz{k}: f32[3,8] = add(p{k}, x)\n{text}")
    g = graph(
        f"graph g(x: f32[3,8], h: f32[3,2], c: f32[3,2], r: f32[2,8]) "
        f"{{ {' '.join(lines)} return y1, new1 }}"
    )
    after = PASSES["recognise_cells"].run(g)
    assert [n.op for n in after.nodes] == ["matmul", "add", "lstm_cell"] * 2
    assert_same_results(g, after, random_inputs(g), error=1e-5)


NEAR = {
    "a gate that is read elsewhere": (step(split("ifgo"), results="y, fs"), "fs has another"),
    "a gate used twice": (
        step(split("ifgo"), _STEP.replace("sigmoid(o)", "sigmoid(i)")),
        "the slices [0, 1, 2]",
    ),
    "one part for two gates": (
        step(split("ifgo"), _STEP.replace("tanh(g)", "tanh(i)")),
        "the slices [0, 1, 3]",
    ),
    "a cell of another shape": (
        graph(
            f"graph g(z: f32[3,8], c: f32[1,2]) {{ {split('ifgo')} {_STEP} return y }}"
        ),
        "the cell c is f32[1,2]",
    ),
    "gates of two values": (
        graph(
            f"graph g(z: f32[3,8], o: f32[3,2], c: f32[3,2]) {{ "
            f"{split('ifgx')} {_STEP} return y }}"
        ),
        "gate o, o, is not a slice",
    ),
    "more than four parts": (
        graph(
            f"graph g(z: f32[3,10], c: f32[3,2]) {{ "
            f"{split('ifgox').replace('2,2,2,2]', '2,2,2,2,2]')} {_STEP} return y }}"
        ),
        "the gates are slices of f32[3,10]",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("g", "because"), NEAR.values(), ids=list(NEAR))
def test_what_is_almost_a_step_says_why_it_is_none(g: Graph, because: str) -> None:
    log = Log()
    assert PASSES["recognise_cells"].run(g, log) is g
    assert because in " ".join(declined(log.steps, _RULE))


OTHERS = {
    "the old cell is shown": _STEP.replace("tanh(new)", "tanh(c)"),
    "the cell is shown as it is": _STEP.replace("mul(os, t)", "mul(os, new)"),
    "a difference": _STEP.replace("add(kept", "sub(kept"),
    "filled without a gate": _STEP.replace("mul(is, gt)", "mul(i, gt)"),
    "gates and tanh exchanged": _STEP.replace("sigmoid(i)", "tanh(i)").replace(
        "sigmoid(f)", "tanh(f)"
    ),
}


@pytest.mark.parametrize("body", OTHERS.values(), ids=list(OTHERS))
def test_other_formulas_stay_written_out(body: str) -> None:
    g = step(split("ifgo"), body)
    assert PASSES["recognise_cells"].run(g) is g


def test_a_step_runs_and_goes_back_to_standard_nodes() -> None:
    g = step(split("iofg"))
    after = PASSES["recognise_cells"].run(g)
    given = random_inputs(g)
    z, c = given["z"], given["c"]
    i, o, f, n = np.split(z.astype(np.float64), 4, axis=1)
    new = c / (1 + np.exp(-f)) + np.tanh(n) / (1 + np.exp(-i))
    made = compiler.compile(after).run(given)
    np.testing.assert_allclose(made["new"], new, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(made["y"], np.tanh(new) / (1 + np.exp(-o)), rtol=1e-5, atol=1e-6)
    written = {n.op_type for n in onnx.load_from_string(to_onnx(after)).graph.node}
    assert written == {"Split", "Sigmoid", "Tanh", "Mul", "Add"}


def test_what_runs_no_faster_is_in_no_preset_that_is_about_speed() -> None:
    for name in ("default", "O0", "O1", "O2", "O3"):
        assert "recognise_cells" not in str(presets()[name])
