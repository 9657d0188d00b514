"""Tests of exporting graphs to ONNX: names, regions, fusions, constants, and refusals."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx
import pytest

import compiler
from compiler.errors import CompileError
from compiler.export import model as export_model
from compiler.passes.pipeline.run import run_pipeline


def exported(text: str, **options: Any) -> onnx.ModelProto:
    """Return the model of a graph in text form, after a check by onnx."""
    made = onnx.load_from_string(compiler.to_onnx(compiler.parse(text), **options))
    onnx.checker.check_model(made, full_check=True)
    return made


def op_types(model: onnx.ModelProto) -> list[str]:
    return [n.op_type for n in model.graph.node]


def assert_same_numbers(text: str, inputs: dict[str, Any], **options: Any) -> None:
    graph = compiler.parse(text)
    needed = compiler.reference(graph, inputs)
    again = compiler.load(compiler.to_onnx(graph, **options))
    found = compiler.reference(again, inputs)
    assert list(found) == list(needed)
    for name, value in needed.items():
        np.testing.assert_array_equal(found[name], value)


X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2

CHAIN = """graph g(x: f32[2,3]) {
  a: f32[2,3] = relu(x)
  b: f32[2,3] = neg(a)
  return a, last=b
}"""


def test_names_of_nodes_values_inputs_and_results_stay() -> None:
    model = exported(CHAIN)
    assert [v.name for v in model.graph.input] == ["x"]
    assert [v.name for v in model.graph.output] == ["a", "last"]
    assert [(n.op_type, n.name, list(n.output)) for n in model.graph.node] == [
        ("Relu", "a", ["a"]),
        ("Neg", "b", ["last"]),
    ]
    assert_same_numbers(CHAIN, {"x": X})


def test_every_node_says_which_nodes_it_comes_from() -> None:
    graph = compiler.load(compiler.to_onnx(compiler.parse(CHAIN)))
    model = onnx.load_from_string(compiler.to_onnx(graph))
    for node, made in zip(graph.nodes, model.graph.node, strict=True):
        (entry,) = made.metadata_props
        assert (entry.key, json.loads(entry.value)) == ("origins", list(node.origins))


def test_results_that_no_node_gives_are_copied() -> None:
    text = """graph g(x: f32[2,3]) {
      const c: f32[3] = literal(1.5, 2.0, -3.0)
      a: f32[2,3] = relu(x)
      return x, again=x, three=c, a, twice=a
    }"""
    model = exported(text)
    assert [v.name for v in model.graph.output] == ["x", "again", "three", "a", "twice"]
    assert op_types(model) == ["Relu", "Identity", "Identity", "Identity"]
    assert_same_numbers(text, {"x": X})


def test_a_result_under_the_name_of_another_input_cannot_be_written() -> None:
    text = """graph g(x: f32[2,3]) {
      a: f32[2,3] = relu(x)
      return x=a
    }"""
    with pytest.raises(CompileError) as e:
        compiler.to_onnx(compiler.parse(text))
    assert e.value.code == "E-EXPORT-NAME"


def test_weights_of_more_than_a_file_can_hold_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_model, "LARGEST_BYTES", 8)
    text = """graph g(x: f32[2,3]) {
      const c: f32[3] = literal(1.5, 2.0, -3.0)
      a: f32[2,3] = add(x, c)
      return a
    }"""
    with pytest.raises(CompileError) as e:
        compiler.to_onnx(compiler.parse(text))
    assert e.value.code == "E-EXPORT-SIZE"


def test_a_large_constant_of_one_number_is_made_at_run_time() -> None:
    text = """graph g(x: f32[1,700]) {
      const c: f32[600,700] = splat(2.5)
      const d: f32[700] = splat(1.0)
      a: f32[600,700] = mul(x, c)
      b: f32[600,700] = add(a, d)
      return b
    }"""
    model = exported(text)
    assert op_types(model) == ["ConstantOfShape", "Mul", "Add"]
    assert sum(len(t.raw_data) for t in model.graph.initializer) < 4096
    assert_same_numbers(text, {"x": np.linspace(-1, 1, 700, dtype=np.float32)[None]})


def fused() -> compiler.Graph:
    text = """graph g(x: f32[2,3], w: f32[3,5]) {
      h: f32[2,5] = matmul(x, w)
      a: f32[2,5] = relu(h)
      b: f32[5,3] = transpose(w, perm=[1,0])
      i: f32[2,3] = matmul(a, b)
      c: f32[2,3] = relu(i)
      return c
    }"""
    graph, _ = run_pipeline(compiler.parse(text), "fuse")
    assert [n.op for n in graph.nodes].count("fusion") == 2
    return graph


def test_fusions_are_written_as_the_operators_in_them() -> None:
    model = onnx.load_from_string(compiler.to_onnx(fused()))
    onnx.checker.check_model(model, full_check=True)
    assert sorted(op_types(model)) == ["MatMul", "MatMul", "Relu", "Relu", "Transpose"]


def test_a_fusion_can_be_one_call_of_a_function() -> None:
    graph = fused()
    data = compiler.to_onnx(graph, fused=True)
    model = onnx.load_from_string(data)
    onnx.checker.check_model(model, full_check=True)
    assert len(model.graph.node) == len(graph.nodes)
    calls = [n for n in model.graph.node if n.domain == "compilarium"]
    assert {n.op_type for n in calls} == {f.name for f in model.functions}
    assert len(calls) == 2
    rng = np.random.default_rng(3)
    inputs = {
        "x": rng.normal(size=(2, 3)).astype(np.float32),
        "w": rng.normal(size=(3, 5)).astype(np.float32),
    }
    needed = compiler.reference(graph, inputs)["c"]
    np.testing.assert_array_equal(compiler.reference(compiler.load(data), inputs)["c"], needed)


def test_open_sizes_keep_their_names() -> None:
    model = exported(
        """graph g(x: f32[N,3]) {
          a: f32[2*N,3] = concat(x, x, axis=0)
          return a
        }"""
    )
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "N"
    assert model.graph.output[0].type.tensor_type.shape.dim[0].dim_param == "2*N"


def test_types_that_onnx_does_not_take_are_computed_in_wider_ones() -> None:
    text = """graph g(x: u8[4], n: u8[1]) {
      a: u8[4] = pow(x, n)
      return a
    }"""
    assert op_types(exported(text)) == ["Cast", "Pow", "Cast"]
    x = np.array([1, 2, 100, 255], np.uint8)
    assert_same_numbers(text, {"x": x, "n": np.array([3], np.uint8)})


@pytest.mark.parametrize(
    ("lines", "code", "node"),
    [
        (["y: f32[2,3] = couple(x)"], "E-EXPORT-OPERATOR", "y"),
        (["c: u64[2,3] = cast(x, to=u64)", "y: u64[2,3] = pow(c, c)"], "E-EXPORT-TYPE", "y"),
        (
            [
                "a: opaque = onnx.ai.onnx.ml.LabelEncoder(x, opset=1)",
                "y: opaque = onnx.ai.onnx.ml.LabelEncoder(a, opset=4)",
            ],
            "E-EXPORT-OPSET",
            "y",
        ),
    ],
)
def test_what_cannot_be_written_is_told_with_its_node(
    lines: list[str], code: str, node: str
) -> None:
    text = "\n".join(["graph g(x: f32[2,3]) {", *lines, "return y", "}"])
    with pytest.raises(CompileError) as e:
        compiler.to_onnx(compiler.parse(text))
    assert (e.value.code, e.value.where.node) == (code, node)
