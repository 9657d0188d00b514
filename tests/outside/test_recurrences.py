"""Tests that the judge's recurrent layers in f64 agree with ONNX Runtime in f32."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.outside.families.recurrent import ACTIVATIONS, N_GATES
from tests.outside.peer import assembled, run_peer
from tests.outside.recurrences import layer

STEPS, BATCH, N_IN, HIDDEN = 5, 3, 4, 2


@pytest.mark.parametrize("op", N_GATES)
@pytest.mark.parametrize("way", ["forward", "reverse", "bidirectional"])
def test_layers_agree_with_the_peer(op: str, way: str) -> None:
    rng, chance = np.random.default_rng(len(op + way)), random.Random(op + way)
    k, gates = 1 + (way == "bidirectional"), N_GATES[op] * HIDDEN
    shapes = [(STEPS, BATCH, N_IN), (k, gates, N_IN), (k, gates, HIDDEN), (k, 2 * gates)]
    operands = [rng.normal(size=s).astype(np.float32) for s in shapes]
    operands.append(np.array([5, 2, 3], np.int32))
    states = [(k, BATCH, HIDDEN)] * (2 if op == "LSTM" else 1)
    peepholes = [(k, 3 * HIDDEN)] if op == "LSTM" else []
    operands += [rng.normal(size=s).astype(np.float32) for s in [*states, *peepholes]]
    attributes: dict[str, Any] = {
        "hidden_size": HIDDEN,
        "direction": way,
        "activations": chance.choice(ACTIVATIONS[op]) * k,
        "clip": 0.7,
    }
    if op == "GRU":
        attributes["linear_before_reset"] = chance.choice([0, 1])
    names = [f"x{i}" for i in range(len(operands))]
    outputs = ["y", "h", "c"][: 3 if op == "LSTM" else 2]
    node = helper.make_node(op, names, outputs, **attributes)
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
        for n, v in zip(names, operands, strict=True)
    ]
    model = assembled([node], inputs, outputs, 21)
    given = run_peer(model.SerializeToString(), dict(zip(names, operands, strict=True)))
    wide = [v.astype(np.float64) if v.dtype == np.float32 else v for v in operands]
    for name, value in zip(outputs, layer(op, wide, attributes), strict=True):
        np.testing.assert_allclose(given[name], value, rtol=2e-5, atol=2e-5)
