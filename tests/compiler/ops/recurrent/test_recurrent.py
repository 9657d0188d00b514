"""Tests of RNN, GRU and LSTM with all options: generated code, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import helper

import compiler
from compiler.errors import CompileError
from compiler.ir.operator import Tensor
from compiler.ir.types import tensor
from compiler.ops.recurrent.layers import rnn
from compiler.runtime.program import Program
from tests.onnx_models import model, node, stored, value

T, B, N, H = 5, 3, 4, 6
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
OUTPUTS = {"RNN": ["y", "h"], "GRU": ["y", "h"], "LSTM": ["y", "h", "c"]}
LENGTHS = np.array([5, 2, 4], np.int32)


def layer(
    op: str,
    *,
    outputs: list[str] | None = None,
    optional: tuple[str, ...] = (),
    fixed: bool = False,
    **attrs: Any,
) -> tuple[Any, dict[str, np.ndarray]]:
    """Return a model of one layer and its inputs; `fixed` makes the weights constant."""
    rng = np.random.default_rng(len(op) + len(optional) + sum(map(len, map(str, attrs))))
    d = 2 if attrs.get("direction") == "bidirectional" else 1
    g = GATES[op]
    arrays = {
        "x": rng.standard_normal((T, B, N)),
        "w": rng.standard_normal((d, g * H, N)) / 2,
        "r": rng.standard_normal((d, g * H, H)) / 2,
        "b": rng.standard_normal((d, 2 * g * H)) / 2,
        "lens": LENGTHS,
        "h0": rng.standard_normal((d, B, H)),
        "c0": rng.standard_normal((d, B, H)),
        "p": rng.standard_normal((d, 3 * H)),
    }
    names = ["x", "w", "r", "b", "lens", "h0", *(["c0", "p"] if op == "LSTM" else [])]
    operands = [n if n in ("x", "w", "r") or n in optional else "" for n in names]
    given = {
        n: np.asarray(arrays[n], np.int32 if n == "lens" else np.float32) for n in operands if n
    }
    stores = [n for n in ("w", "r", "b", "p") if fixed and n in given]
    results = outputs or OUTPUTS[op]
    made = model(
        [node(op, operands, results, hidden_size=H, **attrs)],
        [value(n, a.shape, 6 if n == "lens" else 1) for n, a in given.items() if n not in stores],
        [value(o, None) for o in results if o],
        [stored(n, given[n]) for n in stores],
    )
    return made, {n: a for n, a in given.items() if n not in stores}


def agree(made: Any, inputs: dict[str, np.ndarray]) -> Program:
    data = made.SerializeToString()
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    expected = session.run(None, inputs)
    g = compiler.load(data)
    program = compiler.compile(g)
    whys = [k.because for k in program.kernels if not k.native]
    assert not whys, whys
    for got in (program.run(inputs), compiler.reference(g, inputs)):
        for a, b in zip(got.values(), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-5)
    return program


ALL = ("b", "lens", "h0", "c0", "p")


@pytest.mark.parametrize("op", list(GATES))
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("optional", [(), ALL])
def test_directions_with_and_without_what_is_optional(
    op: str, direction: str, optional: tuple[str, ...]
) -> None:
    agree(*layer(op, direction=direction, optional=optional))


@pytest.mark.parametrize("optional", [(), ("b", "h0")])
def test_the_reset_may_come_after_the_product(optional: tuple[str, ...]) -> None:
    agree(*layer("GRU", linear_before_reset=1, optional=optional, direction="bidirectional"))


def test_input_and_forget_gates_may_be_one() -> None:
    agree(*layer("LSTM", input_forget=1, optional=("b", "c0", "p")))


@pytest.mark.parametrize("op", list(GATES))
def test_a_clip_bounds_what_activations_see(op: str) -> None:
    agree(*layer(op, clip=0.4, optional=("b", "h0")))


@pytest.mark.parametrize(
    ("op", "attrs"),
    [
        (
            "RNN",
            {"activations": ["ScaledTanh"], "activation_alpha": [1.5], "activation_beta": [0.5]},
        ),
        ("RNN", {"activations": ["LeakyRelu"], "activation_alpha": [0.25]}),
        ("RNN", {"activations": ["HardSigmoid"], "activation_alpha": [0.3]}),
        ("RNN", {"activations": ["Softsign"]}),
        ("GRU", {"activations": ["HardSigmoid", "Softplus"]}),
        ("LSTM", {"activations": ["Sigmoid", "Elu", "Relu"], "activation_alpha": [0.5]}),
        (
            "GRU",
            {
                "direction": "bidirectional",
                "activations": ["Sigmoid", "Affine", "HardSigmoid", "ThresholdedRelu"],
                "activation_alpha": [0.5, 0.3, 0.1],
                "activation_beta": [0.25, 0.4],
            },
        ),
    ],
)
def test_activations_take_their_parameters_in_order(op: str, attrs: dict[str, Any]) -> None:
    agree(*layer(op, optional=("b",), **attrs))


@pytest.mark.parametrize("op", list(GATES))
def test_weights_that_are_constants_are_packed_once(op: str) -> None:
    program = agree(*layer(op, fixed=True, optional=("b",)))
    inside = [k for k in program.kernels if k.inside]
    # A product with its epilogue, and a handful of kernels for the gates.
    assert 1 <= len(inside) <= 9
    assert not any(k.op in ("squeeze", "transpose", "concat") for k in inside)


@pytest.mark.parametrize(
    ("op", "outputs"), [("LSTM", ["", "h"]), ("LSTM", ["", "", "c"]), ("GRU", ["y"])]
)
def test_outputs_may_be_left_out(op: str, outputs: list[str]) -> None:
    agree(*layer(op, outputs=outputs, optional=("b",)))


def test_an_unknown_activation_is_refused() -> None:
    x, w, r = (
        Tensor(n, tensor(t))
        for n, t in zip("xwr", ("f32[3,2,5]", "f32[1,4,5]", "f32[1,4,4]"), strict=True)
    )
    with pytest.raises(CompileError, match="Tanhh"):
        rnn(x, w, r, activations=("Tanhh",)).types()


def test_open_sizes_are_inferred_by_name() -> None:
    made, _ = layer("LSTM", fixed=True)
    dims = made.graph.input[0].type.tensor_type.shape.dim
    dims[0].dim_param, dims[1].dim_param = "steps", "batch"
    g = compiler.load(made.SerializeToString())
    assert [str(v.type) for v in g.outputs] == [
        f"f32[steps,1,batch,{H}]",
        f"f32[1,batch,{H}]",
        f"f32[1,batch,{H}]",
    ]
    x = np.random.default_rng(0).standard_normal((7, 2, N)).astype(np.float32)
    expected = compiler.reference(g, {"x": x})
    for name, a in compiler.compile(g).run({"x": x}).items():
        np.testing.assert_allclose(a, expected[name], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("op", "direction", "layout", "lengths", "is_open"),
    [
        ("RNN", "forward", 0, [3, 0, 5], {"x"}),
        ("GRU", "reverse", 1, [3, 1, 5], {"x", "lens"}),
        ("LSTM", "bidirectional", 0, [5, 0, 5], {"x", "h0", "c0"}),
        ("RNN", "bidirectional", 1, [0, 4, 2], {"lens", "h0"}),
        ("LSTM", "reverse", 1, [2, 1, 5], {"x"}),
    ],
)
def test_lengths_and_states_may_know_a_batch_that_the_sequences_leave_open(
    op: str, direction: str, layout: int, lengths: list[int], is_open: set[str]
) -> None:
    """ONNX Runtime supports layout 0 only, so it receives transposed operands."""
    made, inputs = layer(op, direction=direction, optional=("b", "lens", "h0", "c0"))
    inputs["lens"] = np.array(lengths, np.int32)
    session = onnxruntime.InferenceSession(made.SerializeToString())
    expected = session.run(None, inputs)
    if layout:
        made.graph.node[0].attribute.append(helper.make_attribute("layout", 1))
        for name in inputs.keys() & {"x", "h0", "c0"}:
            inputs[name] = inputs[name].swapaxes(0, 1)
        y, *last = expected
        expected = [y.transpose(2, 0, 1, 3), *(s.swapaxes(0, 1) for s in last)]
    for v in made.graph.input:
        batch = 0 if layout or v.name == "lens" else 1
        sizes: list[int | str] = list(inputs[v.name].shape)
        if v.name in is_open:
            sizes[batch] = "B"
        v.CopyFrom(value(v.name, sizes, 6 if v.name == "lens" else 1))
    data = made.SerializeToString()
    by_reference = compiler.reference(compiler.load(data), inputs)
    for got in (compiler.compile(data).run(inputs), by_reference):
        for a, b in zip(got.values(), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("reads", [("", "c"), ("h", "c")])
@pytest.mark.parametrize("batch", [B, "B"])
def test_a_layer_may_start_from_the_last_states_of_another(
    reads: tuple[str, str], batch: int | str
) -> None:
    made, inputs = layer("LSTM", direction="bidirectional", optional=("b",))
    names = ["x", "w", "r", "b", "", *reads]
    outputs = ["y2", "h2", "c2"]
    second = node("LSTM", names, outputs, hidden_size=H, direction="bidirectional")
    made.graph.node.append(second)
    made.graph.output.extend(value(o, None) for o in outputs)
    made.graph.input[0].CopyFrom(value("x", [T, batch, N]))
    session = onnxruntime.InferenceSession(made.SerializeToString())
    expected = session.run(None, inputs)
    got = compiler.compile(made.SerializeToString()).run(inputs)
    for a, b in zip(got.values(), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-5)
