"""Tests of the default pipeline on real models: remaining nodes, memory, and ledger."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from compiler.frontend.load import load
from compiler.ir.graph import Graph, all_nodes
from compiler.ir.infer import specialize
from compiler.passes import run_pipeline
from compiler.reference import reference
from tests.models import LIGHT_CNNS, light_model, ocr_model

LIGHT = (*LIGHT_CNNS, "densenet121", "vgg19")

WITHOUT_LAYOUTS = "default,-assign_layout,-fuse_data_movement"


@pytest.fixture(scope="module")
def light() -> dict[str, Graph]:
    return {name: load(light_model(name)) for name in LIGHT}


def test_half_a_gigabyte_of_splats_never_takes_memory(light: dict[str, Graph]) -> None:
    g = light["vgg19"]
    assert sum(n.tensor.nbytes for n in g.nodes if n.op == "fill") + sum(
        c.type.nbytes for c in g.constants.values()
    ) > (500 << 20)
    tracemalloc.start()
    after, _ = run_pipeline(g, "default")
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 32 << 20
    assert sum(c.stored_bytes for c in after.constants.values()) < 1 << 20


@pytest.mark.parametrize("name", LIGHT)
def test_normalisations_behind_convolutions_vanish_and_weights_stay_small(
    light: dict[str, Graph], name: str
) -> None:
    after, _ = run_pipeline(light[name], "default")
    ops = {n.op for n in all_nodes(after)}
    assert not ops & {"batch_norm", "identity", "fill", "unsqueeze"}
    # If the normalisation's parameters have random values, so do the weights after it.
    held = sum(c.type.nbytes for c in after.constants.values())
    assert sum(c.stored_bytes for c in after.constants.values()) < 0.02 * held


@pytest.mark.parametrize("name", LIGHT)
def test_a_second_time_around_nothing_is_left_to_simplify(
    light: dict[str, Graph], name: str
) -> None:
    once, _ = run_pipeline(light[name], f"{WITHOUT_LAYOUTS},-fuse")
    _, trace = run_pipeline(
        once,
        "fold_constants,simplify,fold_affine,common_subexpression_elimination,dead_code_elimination",
    )
    assert [e.name for e in trace.events if e.changed] == []


@pytest.mark.parametrize("name", LIGHT)
def test_steps_take_what_is_there_and_make_what_comes(light: dict[str, Graph], name: str) -> None:
    _, trace = run_pipeline(light[name], "default")
    for event in trace.events:
        known = set(event.before.types)
        for step in event.steps:
            assert set(step.took) <= known, (event.name, step)
            if step.outcome == "applied":
                known |= set(step.made)
                assert step.because
        assert set(event.after.types) <= known


@pytest.mark.parametrize("pipeline", ["default", "debug"])
def test_a_trained_model_keeps_its_numbers(pipeline: str) -> None:
    g = load(ocr_model("ch_ppocr_mobile_v2.0_cls_infer"))
    name = g.inputs[0].name
    g = specialize(g, {name: (1, 3, 48, 96)})
    after, _ = run_pipeline(g, pipeline)
    inputs = {name: np.random.default_rng(0).normal(size=(1, 3, 48, 96)).astype(np.float32)}
    for result, expected in reference(g, inputs).items():
        got = reference(after, inputs)[result]
        np.testing.assert_allclose(got, expected, atol=1e-5 * float(np.abs(expected).max()))


def test_hard_swish_is_found_wherever_the_exporter_wrote_it_out() -> None:
    g = specialize(load(ocr_model("ch_PP-OCRv4_det_infer")), {"x": (1, 3, 64, 96)})
    after, _ = run_pipeline(g, "default")
    ops = [n.op for n in all_nodes(after)]
    assert ops.count("hard_swish") == sum(n.op == "clip" for n in g.nodes) > 20
    assert "clip" not in ops
    assert "div" not in ops
