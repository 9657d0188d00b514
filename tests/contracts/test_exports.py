"""Tests that every operator can be exported: onnx and ONNX Runtime give the sample results."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NoKernel

import compiler
from compiler.errors import CompileError
from compiler.export import OPSET
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Result, Value
from compiler.ir.operator import OPERATORS, Operator, Out, Sample
from compiler.ir.types import DType, TensorType
from tests.operator_samples import assert_same, operands_of, tensors_of
from tests.random_graphs import exchanged, first_dtype

NOT_WRITTEN = {
    "cast": "to f8e8m0 the standard rounds in other ways than to the nearest with NaN",
    "couple": "its rounds end when they are good enough, which ONNX has no operator for",
    "quantize": "onnx's own inference refuses QuantizeLinear to f6e2m3, which it lists",
}
"""Operators with samples that cannot be exported to ONNX, with the reasons."""

DRAWN = {
    "random_normal": "every runtime draws its own numbers",
    "random_uniform": "every runtime draws its own numbers",
}

PEER_DIFFERS = {
    "argmax": "ONNX Runtime takes no NaN for the largest",
    "argmin": "ONNX Runtime takes no NaN for the least",
    "conv_integer": "no i8 for both, and one zero point for all weights",
    "count_ngrams": "IDF counts how often, and weights go to the n-grams in order",
    "dynamic_quantize": "zeros have the scale 1, not 1/255",
    "grid_sample": "another cubic at borders, none in one dimension",
    "group_norm": "the body of the function does not reshape nothing",
    "gru": "no layout with the batch first",
    "hardmax": "a NaN is not the largest",
    "lrn": "images only, and sizes that are odd",
    "lstm": "no layout with the batch first",
    "matmul_integer": "no zero point of each row; sums of nothing are not 0",
    "max_pool": "a NaN is not the largest of its window",
    "max_pool_places": "a NaN is not the largest of its window",
    "max_unpool": "no other channels in the shape that is asked for",
    "one_hot": "negative floats that are no whole numbers have another place",
    "pad": "no reflection further than the size",
    "reduce_mean": "the mean of nothing is 0",
    "quantization_range": "zeros have the scale 1, not 1/255",
    "resize": "coordinates in f32, where ours are exact fractions",
    "scatter_elements": "no products of f16",
    "top_k": "a NaN is not larger than all numbers",
    "unique_rows": "a NaN is not found",
}
"""Operators with samples for which a kernel of ONNX Runtime gives other results, or fails."""


PEER_LACKS = {
    "acos": "f64",
    "acosh": "f64",
    "argmax": "u64",
    "argmin": "u64",
    "asin": "f64",
    "asinh": "f64",
    "atan": "f64",
    "atanh": "f64",
    "average_pool": "f64",
    "clip": "i16 u16",
    "col2im": "f64",
    "conv": "f64",
    "conv_transpose": "f64",
    "cosh": "f64",
    "det": "f64",
    "erf": "f64",
    "eye_like": "f32 f64",
    "gelu": "f64",
    "hardmax": "f64",
    "instance_norm": "f64",
    "look_up": "i16 i32",
    "lp_pool": "f64",
    "lrn": "f64",
    "max_unpool": "f64",
    "nonzero_places": "f64 u64",
    "one_hot": "f64 i16 i32 i64 i8 u16 u32 u64 u8",
    "pow": "i16 i8 u16 u32 u8",
    "reduce_l1": "u64",
    "reduce_l2": "u64",
    "reduce_log_sum_exp": "u64",
    "reduce_max": "u32 u64",
    "reduce_mean": "u64",
    "reduce_min": "u32 u64",
    "reduce_prod": "u64",
    "reduce_sum": "u64",
    "reduce_sum_square": "u64",
    "resize": "f64",
    "rnn": "f64",
    "shift_left": "i16",
    "shift_right": "i16",
    "sinh": "f64",
    "tan": "f64",
    "unique_rows": "u64",
}
"""Element types for which ONNX Runtime has no kernel for some sample of an operator."""

EXCHANGED = {
    "f32": ("f32", "f64"),
    "i64": ("i64", "i32", "i16", "i8", "u8", "u16", "u32", "u64"),
}
"""Element types in which a sample is exported, by its original type."""


def graph_of(operator: Operator, sample: Sample) -> tuple[Graph, dict[str, Any]]:
    """Return a graph of one application: operands given as types are inputs, others constants."""
    arrays = operands_of(operator, sample)
    tensors = tensors_of(operator, sample, arrays)
    given = [(t, a) for t, a in zip(tensors, arrays, strict=True) if t and t.value is None]
    editor = Editor(Graph(operator.name, tuple(Value(t.name, t.type) for t, _ in given), (), ()))
    operands = [t if t is None or t.value is None else t.value for t in tensors]
    call = operator(*operands, **sample.attrs)
    names = [f"y{k}" for k in range(len(call.types()))]
    for k in range(len(names)):
        editor.build(Out(call, k), hint="y", outputs=names)
    editor.results = [Result(n, n) for n in names]
    return editor.graph(), {t.name: a for t, a in given}


def compare(found: Mapping[str, Any], needed: Mapping[str, Any], slack: float) -> None:
    assert list(found) == list(needed)
    for name, value in needed.items():
        dtype = DType.from_numpy(np.asarray(value).dtype)
        assert_same(np.asarray(found[name]), np.asarray(value), exact=dtype.is_storage, slack=slack)


def slack_of(operator: Operator, sample: Sample) -> float:
    """Return the error of ONNX attributes, which are f32 also for tensors of f64."""
    is_double = any("f64" in str(o) or getattr(o, "dtype", "") == "f8" for o in sample.operands)
    has_fractions = any(isinstance(v, float) for v in operator.bind(sample.attrs).values())
    return 1e4 if is_double and has_fractions else 1


def is_for_peer(graph: Graph) -> bool:
    """Return whether ONNX Runtime can receive and return all values of a graph as arrays."""
    return all(
        isinstance(t, TensorType)
        and not t.dtype.is_storage
        and t.dtype not in (DType.bf16, DType.f8e8m0)
        for t in (v.type for v in (*graph.inputs, *graph.outputs))
    )


def run_peer(data: bytes, inputs: Mapping[str, Any]) -> dict[str, Any]:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(None, dict(inputs)), strict=True))


def disagreement(data: bytes, inputs: Mapping[str, Any], needed: Any, slack: float) -> str:
    """Return the difference from the peer's results; "" for none, or without kernel."""
    try:
        compare(run_peer(data, inputs), needed, slack)
    except NoKernel:
        return ""
    except Exception as e:  # its exceptions have no common base class
        return f"{type(e).__name__}: {e}"
    return ""


@pytest.mark.parametrize("operator", OPERATORS.values(), ids=lambda o: o.name)
def test_samples_mean_the_same_in_onnx(operator: Operator) -> None:
    unwritten, different = [], []
    for sample in operator.all_samples():
        graph, inputs = graph_of(operator, sample)
        try:
            data = compiler.to_onnx(graph)
        except CompileError as e:
            unwritten.append(f"{e.where}: {e.code}: {e.message}")
            continue
        onnx.checker.check_model(onnx.load_from_string(data), full_check=True)
        again = compiler.load(data)
        if operator.name in DRAWN:
            continue
        slack = slack_of(operator, sample)
        with np.errstate(all="ignore"):
            needed = compiler.reference(graph, inputs)
            compare(compiler.reference(again, inputs), needed, slack)
        if is_for_peer(graph):
            different.append(disagreement(data, inputs, needed, slack))
    assert all("node 'y0': E-EXPORT-" in u for u in unwritten), unwritten
    hint = "write an `export` facet (docs/adding-an-operator.md); NOT_WRITTEN has the exceptions"
    assert bool(unwritten) == (operator.name in NOT_WRITTEN), f"{hint}: {unwritten}"
    different = [d for d in different if d]
    hint = "ONNX Runtime computes something else; PEER_DIFFERS has the exceptions, with reasons"
    assert bool(different) == (operator.name in PEER_DIFFERS), f"{hint}: {different}"


def test_the_version_is_the_newest_that_the_peer_reads() -> None:
    def model(opset: int) -> bytes:
        node = onnx.helper.make_node("Relu", ["x"], ["y"])
        x, y = (onnx.helper.make_tensor_value_info(n, 1, [2]) for n in "xy")
        graph = onnx.helper.make_graph([node], "g", [x], [y])
        imports = [onnx.helper.make_opsetid("", opset)]
        return onnx.helper.make_model(
            graph, opset_imports=imports, ir_version=10
        ).SerializeToString()

    x = np.array([-1, 2], np.float32)
    assert run_peer(model(OPSET), {"x": x})["y"].tolist() == [0, 2]
    with pytest.raises(Exception, match="ONNX Runtime only"):
        run_peer(model(OPSET + 1), {"x": x})


def types_without_kernel(operator: Operator) -> set[str]:
    """Return the element types in which an exported sample has a node without a peer kernel."""
    found: set[str] = set()
    for sample in operator.all_samples():
        have = first_dtype(sample)
        for wanted in EXCHANGED.get(have, ()):
            try:
                graph, inputs = graph_of(operator, exchanged(sample, have, wanted))
                data = compiler.to_onnx(graph)
            except CompileError:
                continue
            if not is_for_peer(graph):
                continue
            with suppress(Exception):  # its results and other errors are judged above
                try:
                    run_peer(data, inputs)
                except NoKernel:
                    found.add(wanted)
    return found


@pytest.mark.slow
def test_samples_load_where_the_peer_has_a_way() -> None:
    lacking = {
        o.name: " ".join(sorted(types_without_kernel(o)))
        for o in OPERATORS.values()
        if o.name not in DRAWN
    }
    assert {name: types for name, types in lacking.items() if types} == PEER_LACKS
