"""ONNX models of consecutive recurrent layers, with seeded random weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx

from tests.onnx_models import model, node, stored, value

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
N_INPUTS, HIDDEN = 5, 4
STEPS, BATCH = 6, 3


def layers(
    op_type: str,
    direction: str = "forward",
    n_layers: int = 1,
    *,
    with_lengths: bool = False,
    with_states: bool = False,
    is_open: bool = False,
    seed: int = 1,
    **attributes: Any,
) -> onnx.ModelProto:
    """Return layers as exporters write them: input `x`, all results of the last layer.

    `lens`, `h0`, `c0` and others are inputs too if requested.
    """
    chance = np.random.default_rng(seed)
    n_directions = 2 if direction == "bidirectional" else 1
    rows = GATES[op_type] * HIDDEN
    batch: Any = "B" if is_open else BATCH
    steps: Any = "T" if is_open else STEPS
    inputs = [value("x", [steps, batch, N_INPUTS])]
    if with_lengths:
        inputs.append(value("lens", [batch], onnx.TensorProto.INT32))
    constants = [stored("merged", np.array([0, 0, -1]))]
    nodes: list[Any] = []
    source, width = "x", N_INPUTS
    made: list[str] = []
    for k in range(n_layers):
        operands = [source]
        for name, shape in (("w", (rows, width)), ("r", (rows, HIDDEN)), ("b", (2 * rows,))):
            weights = 0.4 * chance.standard_normal((n_directions, *shape))
            constants.append(stored(f"{name}{k}", weights.astype(np.float32)))
            operands.append(f"{name}{k}")
        operands.append("lens" if with_lengths else "")
        states = ("h", "c") if op_type == "LSTM" else ("h",)
        if with_states:
            operands += [f"{s}{k}" for s in states]
            inputs += [value(f"{s}{k}", [n_directions, batch, HIDDEN]) for s in states]
        made = [f"y{k}", *(f"last_{s}{k}" for s in states)]
        settings: dict[str, Any] = {"hidden_size": HIDDEN, "direction": direction, **attributes}
        nodes.append(node(op_type, operands, made, name=f"layer{k}", **settings))
        if k < n_layers - 1:
            nodes.append(node("Transpose", [made[0]], [f"t{k}"], perm=[0, 2, 1, 3]))
            nodes.append(node("Reshape", [f"t{k}", "merged"], [f"x{k + 1}"]))
            source, width = f"x{k + 1}", n_directions * HIDDEN
    last_state = [n_directions, batch, HIDDEN]
    results = [value(made[0], [steps, n_directions, batch, HIDDEN])]
    results += [value(m, last_state) for m in made[1:]]
    return model(nodes, inputs, results, constants)


def inputs_of(given: onnx.ModelProto, seed: int = 2) -> dict[str, Any]:
    """Return arrays for all inputs, where open sizes have the values of the closed models."""
    chance, sizes = np.random.default_rng(seed), {"T": STEPS, "B": BATCH}
    made: dict[str, Any] = {}
    for v in given.graph.input:
        t = v.type.tensor_type
        shape = [sizes[d.dim_param] if d.dim_param else d.dim_value for d in t.shape.dim]
        if t.elem_type == onnx.TensorProto.INT32:
            made[v.name] = np.array([STEPS, 2, 4], np.int32)
        else:
            made[v.name] = chance.standard_normal(shape).astype(np.float32)
    return made
