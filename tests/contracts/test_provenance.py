"""Tests that the ledger accounts for every node: present, merged, folded, or removed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from compiler.conformance.cases import Case, collect
from compiler.errors import CompileError
from compiler.frontend import load
from compiler.ir.graph import Graph
from compiler.ledger import Ledger
from compiler.passes import PASSES, presets, run_pipeline
from tests.compiler.passes.networks import NETWORKS
from tests.models import OCR_MODELS, light_model, ocr_model
from tests.selection import few_of_all

LIGHT = (
    *("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50"),
    *("shufflenet", "squeezenet", "vgg19", "zfnet512"),
)
SAMPLES = sorted((Path(__file__).resolve().parents[2] / "samples").glob("*.onnx"))

MODELS = {
    **{name: light_model(name) for name in LIGHT},
    **{name: ocr_model(name) for name in OCR_MODELS},
    **{path.stem: path for path in SAMPLES},
}


def lost(graph: Graph, pipeline: str) -> list[str]:
    ledger = Ledger(run_pipeline(graph, pipeline, verify=False)[1])
    fates = list(ledger.fates())
    assert len(fates) == len(ledger.names())
    return [f.node for f in fates if f.kind == "unaccounted"]


@pytest.mark.parametrize(("name", "preset"), few_of_all(16, tuple(MODELS), ("default", "O3")))
def test_every_node_of_a_model_is_accounted_for(name: str, preset: str) -> None:
    assert not lost(load(MODELS[name]), preset)


@pytest.mark.parametrize("preset", presets())
def test_every_preset_accounts_for_the_nodes_it_meets(preset: str) -> None:
    for name in ("digits_transformer", "digits_lstm", OCR_MODELS[2]):
        assert not lost(load(MODELS[name]), preset)


@pytest.fixture(scope="module")
def met() -> list[Graph]:
    """Return graphs as passes receive them: as imported, and after the passes before fusion."""
    read = [load(MODELS[m]) for m in ("digits_transformer", "shufflenet", OCR_MODELS[2])]
    before = "default,-fuse,-assign_layout,-fuse_data_movement"
    return [*NETWORKS.values(), *read, *(run_pipeline(g, before, verify=False)[0] for g in read)]


@pytest.mark.parametrize("name", PASSES)
def test_every_pass_accounts_for_the_nodes_it_meets(name: str, met: list[Graph]) -> None:
    for graph in met:
        assert not lost(graph, name)


@pytest.mark.parametrize("suite", ["simple", "pytorch-converted", "pytorch-operator"])
def test_every_node_of_the_cases_of_onnx_is_accounted_for(suite: str) -> None:
    assert not unaccounted(collect(suite))


def test_every_node_of_one_case_of_each_operator_is_accounted_for() -> None:
    last = {case.operators: case for case in collect("node")}  # the last has the most options
    assert len(last) > 150
    assert not unaccounted(last.values())


@pytest.mark.slow
def test_every_node_of_the_cases_of_operators_is_accounted_for() -> None:
    assert not unaccounted(collect("node"))


def unaccounted(cases: Iterable[Case]) -> dict[str, list[str]]:
    """Return the nodes lost under the default pipeline, by case."""
    found = {}
    for case in cases:
        try:
            graph = load(case.model.SerializeToString())
        except CompileError:
            continue  # models that onnx's checker refuses have no ledger
        if nodes := lost(graph, "default"):
            found[case.name] = nodes
    return found
