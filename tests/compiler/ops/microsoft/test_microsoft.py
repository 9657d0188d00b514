"""Tests of ONNX Runtime's own operators: its results, from generated code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import ValueInfoProto, helper

import compiler
from compiler.compute.numbers import erf
from tests.onnx_nodes import normal

MS = "com.microsoft"
Arrays = Sequence[np.ndarray | None]


def node_model(
    op_type: str, operands: Arrays, n_outputs: int, opset: int, domain: str, **attrs: Any
) -> bytes:
    names = ["" if o is None else f"x{i}" for i, o in enumerate(operands)]
    outputs = [f"y{i}" for i in range(n_outputs)]
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(o.dtype), o.shape)
        for n, o in zip(names, operands, strict=True)
        if o is not None
    ]
    node = helper.make_node(op_type, names, outputs, domain=domain, **attrs)
    made = [ValueInfoProto(name=o) for o in outputs]
    graph = helper.make_graph([node], "one", inputs, made)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid(MS, 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()


def assert_agrees(
    op_type: str,
    operands: Arrays,
    *,
    n_outputs: int = 1,
    unread: Sequence[int] = (),
    opset: int = 17,
    domain: str = MS,
    tolerance: float = 2e-5,
    **attrs: Any,
) -> None:
    """Check that our program and ONNX Runtime agree on a node, except for outputs in `unread`."""
    import onnxruntime as runtime

    model = node_model(op_type, operands, n_outputs, opset, domain, **attrs)
    feeds = {f"x{i}": o for i, o in enumerate(operands) if o is not None}
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    session = runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    needed = session.run(None, feeds)
    program = compiler.compile(model)
    got = list(program.run(feeds).values())
    assert all(k.native for k in program.kernels), [k.because for k in program.kernels]
    for i, (a, b) in enumerate(zip(got, needed, strict=True)):
        if i in unread:
            continue
        assert a.dtype == b.dtype, f"output {i}"
        assert a.shape == b.shape, f"output {i}"
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=f"output {i}")


X = normal(2, 5, 8)


@pytest.mark.parametrize(
    ("op_type", "operands", "attrs"),
    [
        ("Gelu", [X], {}),
        ("FastGelu", [X], {}),
        ("FastGelu", [X, normal(8, seed=1)], {}),
        ("BiasGelu", [X, normal(8, seed=1)], {}),
        ("QuickGelu", [X], {"alpha": 1.5}),
        ("FusedMatMul", [X, normal(2, 7, 8)], {"transB": 1, "alpha": 0.5}),
        ("FusedMatMul", [normal(5, 2, 8), normal(2, 8, 3)], {"transBatchA": 1}),
        ("FusedMatMul", [normal(8, 2, 5), normal(2, 8, 3)], {"transBatchA": 1, "transA": 1}),
        ("TransposeMatMul", [normal(2, 8, 5), normal(2, 8, 3)], {"transA": 1}),
        ("FusedGemm", [normal(3, 4), normal(4, 5), normal(5)], {"activation": "Relu"}),
        (
            "FusedGemm",
            [normal(4, 3), normal(5, 4), normal(3, 1)],
            {
                "transA": 1,
                "transB": 1,
                "alpha": 0.5,
                "beta": 2.0,
                "activation": "LeakyRelu",
                "activation_alpha": 0.25,
            },
        ),
        ("CDist", [normal(4, 3), normal(6, 3, seed=2)], {"metric": "euclidean"}),
        ("CDist", [normal(4, 3), normal(6, 3, seed=2)], {"metric": "sqeuclidean"}),
        ("GatherND", [X, np.array([[0, 4], [1, 2]])], {}),
        ("GridSample", [normal(1, 2, 4, 5), normal(1, 3, 3, 2) / 2], {"padding_mode": "border"}),
        ("Trilu", [X, np.array(1)], {"upper": 0}),
        ("ExpandDims", [X, np.array(-2, np.int32)], {}),
        ("Pad", [X, np.array([0, 1, 0, 0, 0, 2]), np.array([0.5], np.float32)], {}),
        ("Pad", [X, np.array([[0, 1, 0, 0, 0, 2]])], {"mode": "reflect"}),
        ("Range", [np.array(2.0, np.float32), np.array(9.0, np.float32)], {}),
    ],
)
def test_products_and_pointwise_operators(
    op_type: str, operands: list[np.ndarray], attrs: dict[str, Any]
) -> None:
    assert_agrees(op_type, operands, **attrs)


def test_a_softmax_of_a_sum() -> None:
    """ONNX Runtime has no CPU kernel for it, so an equivalent model is compared."""
    bias = normal(1, 1, 8, seed=1)
    model = node_model("BiasSoftmax", [X, bias], 1, 17, MS, axis=2, is_inner_broadcast=1)
    got = compiler.compile(model).run({"x0": X, "x1": bias})["y0"]
    e = np.exp(X + bias)
    np.testing.assert_allclose(got, e / e.sum(axis=2, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize(
    ("activation", "parameters"),
    [
        ("Relu", None),
        ("Tanh", None),
        ("Sigmoid", None),
        ("LeakyRelu", [0.25]),
        ("Clip", [-0.5, 1.5]),
        ("HardSigmoid", [0.3, 0.4]),
    ],
)
@pytest.mark.parametrize("is_sum", [False, True])
def test_a_convolution_with_what_follows_it(
    activation: str, parameters: list[float] | None, is_sum: bool
) -> None:
    operands: list[np.ndarray | None] = [normal(1, 4, 7, 6), normal(6, 2, 3, 3), normal(6)]
    if is_sum:
        operands.append(normal(1, 6, 4, 3, seed=5))
    extra = {} if parameters is None else {"activation_params": parameters}
    window = {"strides": [2, 2], "pads": [1, 1, 1, 1], "group": 2, "kernel_shape": [3, 3]}
    assert_agrees("FusedConv", operands, activation=activation, **window, **extra)


def test_a_transposed_convolution_whose_pads_are_an_operand() -> None:
    operands = [normal(1, 2, 4, 4), normal(2, 3, 3, 3), np.array([1, 0, 1, 1]), normal(3)]
    assert_agrees("ConvTransposeWithDynamicPads", operands, strides=[2, 2])


@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("n_outputs", [1, 4])
def test_skipped_normalisations(has_bias: bool, n_outputs: int) -> None:
    skip, gamma, beta = normal(2, 5, 8, seed=1), normal(8, seed=2), normal(8, seed=3)
    bias = [normal(8, seed=4)] if has_bias else []
    # The CPU kernels of ONNX Runtime do not write the saved statistics.
    rest: dict[str, Any] = {"n_outputs": n_outputs, "unread": (1, 2), "epsilon": 1e-5}
    plain = [X, skip, gamma, beta, *bias]
    if n_outputs == 1:
        assert_agrees("SkipLayerNormalization", plain, **rest)
        assert_agrees("SkipSimplifiedLayerNormalization", [X, skip, gamma, *bias], **rest)
        assert_agrees("SkipLayerNormalization", [X, skip[:1], *plain[2:]], **rest)
        return
    assert_agrees("SkipLayerNormalization", plain, **rest)
    assert_agrees("SkipSimplifiedLayerNormalization", [X, skip, gamma, *bias], **rest)


@pytest.mark.parametrize("op_type", ["LayerNormalization", "SimplifiedLayerNormalization"])
@pytest.mark.parametrize("opset", [11, 17])
def test_normalisations_in_the_domain_of_onnx(op_type: str, opset: int) -> None:
    assert_agrees(op_type, [X, normal(8, seed=2)], domain="", opset=opset, axis=-1, epsilon=1e-4)


def embedding_operands() -> list[np.ndarray | None]:
    rng = np.random.default_rng(3)
    ids = rng.integers(0, 11, (2, 5)).astype(np.int32)
    kinds = rng.integers(0, 2, (2, 5)).astype(np.int32)
    tables = [normal(n, 8, seed=n) for n in (11, 6, 2)]
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
    return [ids, kinds, *tables, normal(8, seed=1), normal(8, seed=2), mask]


def test_embeddings() -> None:
    operands = embedding_operands()
    places = np.array([[4, 3, 2, 1, 0], [0, 2, 4, 1, 3]], np.int32)
    assert_agrees("EmbedLayerNormalization", operands, n_outputs=2, epsilon=1e-5)
    assert_agrees("EmbedLayerNormalization", operands[:7], n_outputs=2)
    assert_agrees("EmbedLayerNormalization", [*operands, places], n_outputs=3)
    assert_agrees(
        "EmbedLayerNormalization",
        [operands[0], None, operands[2], operands[3], None, *operands[5:7]],
        n_outputs=2,
    )


def compiled(op_type: str, operands: Arrays, n_outputs: int = 1, **attrs: Any) -> list[np.ndarray]:
    """Return the results of our program for a node without CPU kernel in ONNX Runtime."""
    program = compiler.compile(node_model(op_type, operands, n_outputs, 17, MS, **attrs))
    assert all(k.native for k in program.kernels)
    feeds = {f"x{i}": o for i, o in enumerate(operands) if o is not None}
    return list(program.run(feeds).values())


def gelu(x: np.ndarray) -> np.ndarray:
    return np.asarray(x / 2 * (1 + erf(x / np.sqrt(2))))


def test_sums_with_what_follows_them() -> None:
    bias, skip = normal(8, seed=1), normal(2, 5, 8, seed=2)
    np.testing.assert_allclose(compiled("BiasAdd", [X, bias, skip])[0], X + bias + skip, rtol=1e-5)
    dropped, mask = compiled("BiasDropout", [X, bias, skip], 2)
    np.testing.assert_allclose(dropped, X + bias + skip, rtol=1e-5)
    assert mask.all()
    left, right = np.split(X + bias, 2, axis=2)
    got = compiled("BiasSplitGelu", [X, bias])[0]
    np.testing.assert_allclose(got, left * gelu(right), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("channels_last", [0, 1])
@pytest.mark.parametrize("activation", [0, 1])
def test_groups_of_channels(channels_last: int, activation: int) -> None:
    x, skip = normal(2, 6, 3, 4), normal(2, 6, 3, 4, seed=5)
    gamma, beta = normal(6, seed=1), normal(6, seed=2)
    total = (x + skip).reshape(2, 3, -1)
    mean, var = total.mean(axis=2, keepdims=True), total.var(axis=2, keepdims=True)
    needed = ((total - mean) / np.sqrt(var + 1e-5)).reshape(x.shape)
    needed = needed * gamma[:, None, None] + beta[:, None, None]
    if activation:
        needed = needed / (1 + np.exp(-needed))
    turned = [np.moveaxis(a, 1, -1) if channels_last else a for a in (x, skip, needed)]
    attrs = {"groups": 3, "activation": activation, "channels_last": channels_last}
    got = compiled("SkipGroupNorm", [turned[0], gamma, beta, turned[1]], 2, **attrs)
    np.testing.assert_allclose(got[0], turned[2], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(got[1], turned[0] + turned[1], rtol=1e-5)
    alone = compiled("GroupNorm", [turned[0] + turned[1], gamma, beta], **attrs)
    np.testing.assert_allclose(alone[0], turned[2], rtol=1e-4, atol=1e-5)
