"""Tests of exported models: equal results in ONNX Runtime, and after import and compilation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import compiler
from compiler.passes.pipeline.run import run_pipeline
from tests.compiler.test_quantized_models import attention_block, image_classifier, quantized
from tests.models import ocr_model
from tests.selection import few

SAMPLES = Path(__file__).resolve().parents[3] / "samples"
PIPELINES = ("O0", "O2", "O3")
CHANCE = np.random.default_rng(5)


def run_peer(data: bytes, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the results of ONNX Runtime, node by node."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(None, dict(inputs)), strict=True))


def check(data: bytes, inputs: Mapping[str, Any], pipeline: str, slack: float = 2e-5) -> None:
    """Compare the exported model, with both forms of fusions, with the original."""
    needed = run_peer(data, inputs)
    graph, _ = run_pipeline(compiler.load(data), pipeline)
    for fused in (False, True):
        exported = compiler.to_onnx(graph, fused=fused)
        model = onnx.load_from_string(exported)
        onnx.checker.check_model(model, full_check=True)
        if fused:
            n_copies = sum(n.op == "relayout" for n in graph.nodes)
            assert len(model.graph.node) <= len(graph.nodes) - n_copies
        found = run_peer(exported, inputs)
        assert list(found) == list(needed)
        for name, value in needed.items():
            assert found[name].dtype == value.dtype
            scale = np.abs(value).max()
            np.testing.assert_allclose(found[name], value, rtol=0, atol=slack * scale)
    again = compiler.compile(compiler.load(exported)).run(dict(inputs))
    for name, value in needed.items():
        np.testing.assert_allclose(again[name], value, rtol=0, atol=slack * np.abs(value).max())


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("name", ["mlp", "cnn", "lstm", "transformer"])
def test_a_sample_gives_the_same_in_the_peer(name: str, pipeline: str) -> None:
    data = (SAMPLES / f"digits_{name}.onnx").read_bytes()
    (v,) = compiler.load(data).inputs
    shape = [d if isinstance(d, int) else 3 for d in v.type.dims]  # type: ignore[union-attr]
    check(data, {v.name: CHANCE.random(size=shape).astype(np.float32)}, pipeline)


@pytest.mark.parametrize("pipeline", few(PIPELINES[::-1], 1))  # O3 has all passes of the others
def test_an_ocr_model_gives_the_same_in_the_peer(pipeline: str) -> None:
    data = ocr_model("ch_ppocr_mobile_v2.0_cls_infer").read_bytes()
    check(data, {"x": CHANCE.normal(size=(1, 3, 48, 64)).astype(np.float32)}, pipeline)


@pytest.mark.parametrize("form", ["QDQ", "QOperator", "dynamic"])
@pytest.mark.parametrize("make", [image_classifier, attention_block])
def test_a_quantized_model_is_right_to_a_step(make: Any, form: str, tmp_path: Path) -> None:
    data = quantized(make(), tmp_path, form, "QUInt8", "QInt8", True)
    (v,) = compiler.load(data).inputs
    inputs = {v.name: CHANCE.normal(size=v.type.static_shape).astype(np.float32)}  # type: ignore[union-attr]
    check(data, inputs, "O3", slack=0.02)
