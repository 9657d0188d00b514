"""Tests that the catalogue of samples is complete, and that its accuracies are correct."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

import compiler
from app.paths import site_folder
from app.samples import find_sample, operators
from compiler.frontend.random_weights import random_weights
from tests.models import light_model

SAMPLES = site_folder("samples")
CATALOGUE = json.loads((SAMPLES / "catalogue.json").read_text(encoding="utf-8"))
ENTRIES: dict[str, dict[str, Any]] = {entry["name"]: entry for entry in CATALOGUE["samples"]}
OWN = [name for name, entry in ENTRIES.items() if "file" in entry]
LIGHT = [name for name in ENTRIES if name not in OWN]


@pytest.mark.parametrize("name", ["squeezenet", "shufflenet"])
def test_nodes_that_drawn_weights_replace_are_not_counted(name: str) -> None:
    sample = find_sample(name)
    drawn = onnx.load_model_from_string(random_weights(sample.path, sample.seed or 0))
    assert len(operators(sample.path, is_drawn=True)) == len(drawn.graph.node)
    assert len(operators(sample.path)) > len(drawn.graph.node)


def test_names_are_unique_and_every_entry_has_words() -> None:
    assert len(ENTRIES) == len(CATALOGUE["samples"])
    assert all(entry["title"] and entry["words"].endswith(".") for entry in ENTRIES.values())


def test_every_model_beside_the_catalogue_is_in_it() -> None:
    assert {path.name for path in SAMPLES.glob("*.onnx")} == {ENTRIES[n]["file"] for n in OWN}


@pytest.mark.parametrize("name", OWN)
def test_own_models_are_small_and_open_in_their_batch(name: str) -> None:
    entry = ENTRIES[name]
    path = SAMPLES / entry["file"]
    assert path.stat().st_size < 300_000
    graph = onnx.load(path).graph
    assert entry["n_nodes"] == len(graph.node)
    (image,) = graph.input
    assert image.name == entry["input"]
    assert image.type.tensor_type.shape.dim[0].dim_param == "N"
    sizes = [dim.dim_value for dim in image.type.tensor_type.shape.dim]
    assert entry["shapes"][image.name][1:] == sizes[1:]


@pytest.mark.parametrize("name", OWN)
def test_own_models_have_the_accuracy_that_is_stated(name: str) -> None:
    entry = ENTRIES[name]
    with np.load(SAMPLES / entry["test"]) as test:
        images, labels = test["images"].astype(np.float32), test["labels"]
    assert len(images) >= 300
    model = ReferenceEvaluator(onnx.load(SAMPLES / entry["file"]))
    (probabilities,) = model.run(None, {entry["input"]: images})
    share = float((probabilities.argmax(axis=1) == labels).mean())
    assert entry["accuracy"] > 0.95
    assert share == pytest.approx(entry["accuracy"], abs=5e-5)


@pytest.mark.parametrize("name", OWN)
def test_own_models_keep_their_accuracy_as_generated_code(name: str) -> None:
    entry = ENTRIES[name]
    with np.load(SAMPLES / entry["test"]) as test:
        images, labels = test["images"].astype(np.float32), test["labels"]
    program = compiler.compile(SAMPLES / entry["file"], trace=False)
    (probabilities,) = program.run({entry["input"]: images}).values()
    share = float((probabilities.argmax(axis=1) == labels).mean())
    assert share == pytest.approx(entry["accuracy"], abs=5e-5)
    assert [k.because for k in program.kernels if not k.native] == []


@pytest.mark.parametrize("name", LIGHT)
def test_light_models_are_where_the_catalogue_says_with_that_many_parameters(name: str) -> None:
    entry = ENTRIES[name]
    assert light_model(name).as_posix().endswith(entry["path"])
    graph = onnx.load(light_model(name)).graph
    shapes = {tensor.name: numpy_helper.to_array(tensor).tolist() for tensor in graph.initializer}
    assert [v.name for v in graph.input if v.name not in shapes] == [entry["input"]]
    splats = [node for node in graph.node if node.op_type == "ConstantOfShape"]
    assert entry["n_nodes"] == len(graph.node) - len(splats)
    assert entry["n_parameters"] == sum(math.prod(shapes[node.input[0]]) for node in splats)
