"""Tests of gradient facets against finite differences, and of the Gradient node of ONNX."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from onnx import helper

import compiler
from compiler.errors import CompileError
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Result, Value
from compiler.ir.operator import OPERATORS, Sample
from compiler.ir.types import DType, TensorType, parse_type
from compiler.ops.autodiff.differentiate import gradients

STEP = 1e-6
DIFFERENTIABLE = sorted(n for n, o in OPERATORS.items() if o.gradient_fn is not None)


def samples(name: str) -> list[Sample]:
    """Return the samples of an operator that exist in f64 and have elements."""
    found: list[Sample] = []
    for sample in OPERATORS[name].all_samples():
        types = [parse_type(o) for o in sample.operands if isinstance(o, str)]
        floats = [t for t in types if isinstance(t, TensorType) and t.dtype.is_float]
        vectors = name == "matmul" and any(t.rank < 2 for t in floats)  # have no rule
        if vectors:
            continue
        if floats and len(floats) == len(types) and all(t.n_elements for t in floats):
            found.append(sample)
    return found


def graph_of(name: str, sample: Sample) -> tuple[Graph, list[str]]:
    """Return the sample in f64 with result y, and the inputs that are not given as arrays."""
    editor = Editor(Graph(name, (), (), ()))
    operands: list[Any] = []
    inputs: list[str] = []
    for i, o in enumerate(sample.operands):
        if isinstance(o, str):
            t = parse_type(o)
            assert isinstance(t, TensorType)
            editor.add_input(Value(f"x{i}", TensorType(DType.f64, t.shape)))
            operands.append(editor.tensor(f"x{i}"))
            inputs.append(f"x{i}")
        else:
            operands.append(o)
    y = editor.build(OPERATORS[name](*operands, **sample.attrs), hint="y")
    made = gradients(editor, y, inputs, {})
    editor.results = [Result("y", y)]
    editor.results += [Result(f"d_{x}", v) for x, v in zip(inputs, made, strict=True)]
    return editor.graph(), inputs


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients_are_what_small_differences_say(name: str):
    chance = np.random.default_rng(7)
    tried = samples(name)[:3]
    for sample in tried:
        graph, inputs = graph_of(name, sample)
        # Away from 0, where some operators are not differentiable or not defined.
        types = [(v.name, v.type) for v in graph.inputs]
        given = {
            x: chance.uniform(0.3, 2, t.static_shape) for x, t in types if isinstance(t, TensorType)
        }
        made = compiler.reference(graph, given)
        for x in inputs:
            slope = np.empty_like(given[x])
            for at in np.ndindex(*slope.shape):
                up, down = given[x].copy(), given[x].copy()
                up[at] += STEP
                down[at] -= STEP
                high = compiler.reference(graph, {**given, x: up})["y"].sum()
                low = compiler.reference(graph, {**given, x: down})["y"].sum()
                slope[at] = (high - low) / (2 * STEP)
            assert made[f"d_{x}"].shape == given[x].shape
            assert np.allclose(made[f"d_{x}"], slope, rtol=1e-6, atol=1e-7), (name, sample, x)
    assert tried, f"{name} has no floating-point sample"


def model(nodes: list[Any], inputs: list[str], outputs: list[str]) -> bytes:
    values = [helper.make_tensor_value_info(n, 1, [2, 3]) for n in (*inputs, *outputs)]
    graph = helper.make_graph(nodes, "g", values[: len(inputs)], values[len(inputs) :])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.preview.training", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()


def gradient(inputs: list[str], outputs: list[str], **attrs: Any) -> Any:
    return helper.make_node("Gradient", inputs, outputs, domain="ai.onnx.preview.training", **attrs)


def test_a_gradient_is_taken_at_the_values_given_and_once_more():
    """y = x*x*z; dy/dx = 2*x*z at (p, z), and d(dy/dx)/dx = 2*z at the same values."""
    data = model(
        [
            helper.make_node("Mul", ["x", "x"], ["s"]),
            helper.make_node("Mul", ["s", "z"], ["y"]),
            gradient(["p", "z"], ["dp"], xs=["x"], zs=["z"], y="y"),
            gradient(["p", "z"], ["ddp", "dz"], xs=["p", "z"], y="dp"),
        ],
        ["x", "z", "p"],
        ["y", "dp", "ddp", "dz"],
    )
    chance = np.random.default_rng(1)
    x, z, p = (chance.standard_normal((2, 3)).astype(np.float32) for _ in range(3))
    program = compiler.compile(data)
    made = program.run({"x": x, "z": z, "p": p})
    assert np.allclose(made["y"], x * x * z, rtol=1e-6)
    assert np.allclose(made["dp"], 2 * p * z, rtol=1e-6)
    assert np.allclose(made["ddp"], 2 * z, rtol=1e-6)
    assert np.allclose(made["dz"], 2 * p, rtol=1e-6)
    assert all(k.native for k in program.kernels)


def test_what_y_does_not_depend_on_has_the_gradient_zero():
    data = model(
        [
            helper.make_node("Exp", ["x"], ["y"]),
            gradient(["x", "z"], ["dx", "dz"], xs=["x", "z"], y="y"),
        ],
        ["x", "z"],
        ["dx", "dz"],
    )
    x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    made = compiler.compile(data).run({"x": x, "z": x})
    assert np.allclose(made["dx"], np.exp(x), rtol=1e-6)
    assert not made["dz"].any()


def test_an_operator_without_a_rule_is_named():
    data = model(
        [helper.make_node("Ceil", ["x"], ["y"]), gradient(["x"], ["dx"], xs=["x"], y="y")],
        ["x"],
        ["dx"],
    )
    with pytest.raises(CompileError, match="ceil") as e:
        compiler.load(data)
    assert e.value.code == "E-OP-GRADIENT"


@pytest.mark.parametrize("name", sorted(set(OPERATORS) - set(DIFFERENTIABLE)))
def test_what_has_no_gradient_is_refused_for_each_of_its_outputs(name: str):
    """Returning zero would be wrong."""
    for sample in OPERATORS[name].all_samples()[:2]:
        types = [parse_type(o) if isinstance(o, str) else None for o in sample.operands]
        floats = [i for i, t in enumerate(types) if isinstance(t, TensorType) and t.dtype.is_float]
        if not floats:
            continue
        editor = Editor(Graph(name, (), (), ()))
        for i, t in enumerate(types):
            if t is not None:
                editor.add_input(Value(f"x{i}", t))
        operands = [
            o if t is None else editor.tensor(f"x{i}")
            for i, (o, t) in enumerate(zip(sample.operands, types, strict=True))
        ]
        editor.build(OPERATORS[name](*operands, **sample.attrs))
        node = editor.nodes()[-1]
        for value, t in zip(node.outputs, node.types, strict=True):
            if isinstance(t, TensorType) and t.dtype.is_float:
                with pytest.raises(CompileError, match=f"^{re.escape(name)}|gradient") as e:
                    gradients(editor, value, [f"x{floats[0]}"], {})
                assert e.value.code == "E-OP-GRADIENT"


BRANCHES = {
    "what they capture, before and behind": """
graph g(c: bool[], x: f64[2,3], z: f64[3]) {
  s: f64[2,3] = sin(x)
  r: f64[2,3] = onnx.If(c, opset=16) {
    then_branch: graph t() {
      t0: f64[2,3] = mul(s, x)
      t1: f64[2,3] = mul(t0, z)
      return r=t1
    }
    else_branch: graph e() {
      e0: f64[2,3] = exp(s)
      return r=e0
    }
  }
  y: f64[2,3] = mul(r, s)
  return y
}
""",
    "captured values as results, one of them twice": """
graph g(c: bool[], x: f64[2,3], z: f64[3]) {
  s: f64[2,3] = mul(x, z)
  p: f64[2,3], q: f64[2,3] = onnx.If(c, opset=16) {
    then_branch: graph t() {
      return p=s, q=s
    }
    else_branch: graph e() {
      e0: f64[2,3] = tanh(x)
      return p=x, q=e0
    }
  }
  m: f64[2,3] = exp(p)
  y: f64[2,3] = mul(m, q)
  return y
}
""",
    "branches in branches": """
graph g(c: bool[], x: f64[2,3], z: f64[3]) {
  r: f64[2,3] = onnx.If(c, opset=16) {
    then_branch: graph t() {
      d: bool[] = logical_not(c)
      k: f64[2,3] = mul(x, x)
      i: f64[2,3] = onnx.If(d, opset=16) {
        then_branch: graph tt() {
          a: f64[2,3] = mul(k, z)
          return i=a
        }
        else_branch: graph te() {
          b: f64[2,3] = sub(k, z)
          b2: f64[2,3] = mul(b, x)
          return i=b2
        }
      }
      return r=i
    }
    else_branch: graph e() {
      e0: f64[2,3] = add(x, z)
      e1: f64[2,3] = mul(e0, e0)
      return r=e1
    }
  }
  y: f64[2,3] = sin(r)
  return y
}
""",
}


@pytest.mark.parametrize("case", list(BRANCHES))
@pytest.mark.parametrize("chosen", [True, False])
@pytest.mark.parametrize("elsewhere", [True, False])
def test_gradients_go_back_through_what_branches_capture(case: str, chosen: bool, elsewhere: bool):
    plain = compiler.parse(BRANCHES[case])
    editor = Editor(plain)
    at = {}
    if elsewhere:
        editor.add_input(Value("x_", TensorType(DType.f64, (2, 3))))
        at = {"x": "x_"}
    made = gradients(editor, "y", ["x", "z"], at)
    editor.results += [Result(f"d_{x}", v) for x, v in zip("xz", made, strict=True)]
    chance = np.random.default_rng(5)
    given = {"x": chance.uniform(0.3, 2, (2, 3)), "z": chance.uniform(0.3, 2, 3)}
    flag = {"c": np.array(chosen)}
    fed = {**given, **flag, **({"x": given["x"] + 1, "x_": given["x"]} if elsewhere else {})}
    for got in (
        compiler.reference(editor.graph(), fed),
        compiler.compile(editor.graph()).run(fed),
    ):
        for name, value in given.items():
            for place in np.ndindex(*value.shape):
                moved = [value.copy(), value.copy()]
                moved[0][place] += STEP
                moved[1][place] -= STEP
                ends = [
                    compiler.reference(plain, {**given, **flag, name: m})["y"].sum() for m in moved
                ]
                slope = (ends[0] - ends[1]) / (2 * STEP)
                assert np.isclose(got[f"d_{name}"][place], slope, rtol=1e-6, atol=1e-7), name


@pytest.mark.parametrize("steps", ["onnx.Loop", "onnx.Scan"])
def test_loops_are_refused_whether_they_are_given_a_value_or_capture_it(steps: str):
    regions = {
        "onnx.Loop": """
  const n: i64[] = literal(3)
  const on: bool[] = literal(true)
  r: f64[2,3] = onnx.Loop(n, on, {s}, opset=16) {{
    body: graph b(i: i64[], go: bool[], a: f64[2,3]) {{
      t: f64[2,3] = mul(a, {c})
      return go=go, t=t
    }}
  }}""",
        "onnx.Scan": """
  f: f64[3], r: f64[2,3] = onnx.Scan({s0}, {s}, num_scan_inputs=1, opset=16) {{
    body: graph b(a: f64[3], e: f64[3]) {{
      t: f64[3] = mul(a, e)
      u: f64[3] = mul(t, {c0})
      return a=t, u=u
    }}
  }}""",
    }
    for s, c in (("x", "k"), ("k", "x")):
        s0, c0 = ("k0", "z") if c == "x" else ("z", "k0")
        text = regions[steps].format(s=s, c=c, s0=s0, c0=c0)
        g = compiler.parse(f"""
graph g(x: f64[2,3], k: f64[2,3], z: f64[3], k0: f64[3]) {{{text}
  return r
}}
""")
        with pytest.raises(CompileError, match=steps) as e:
            gradients(Editor(g), "r", ["z" if steps == "onnx.Scan" else "x"], {})
        assert e.value.code == "E-OP-GRADIENT"
