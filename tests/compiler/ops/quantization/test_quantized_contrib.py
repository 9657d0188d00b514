"""Tests of ONNX Runtime's quantized operators: native, within one quantization step."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import compiler
from compiler.ir.types import DType
from tests.kernel_runs import Array
from tests.onnx_nodes import seven_bits

MICROSOFT = "com.microsoft"


def whole(*shape: int, dtype: str = "u8", seed: int = 0) -> Array:
    """Return random integers over the entire range of a type."""
    t = DType.parse(dtype).numpy
    limits = np.iinfo(t)
    return np.random.default_rng(seed).integers(limits.min, limits.max + 1, shape).astype(t)


def floats(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def scale(number: float) -> Array:
    return np.array(number, np.float32)


def zero(number: int, dtype: str = "u8") -> Array:
    return np.array(number, DType.parse(dtype).numpy)


def model_of(
    op_type: str, operands: tuple[Array | None, ...], result: str, rank: int, attrs: dict[str, Any]
) -> bytes:
    """Return a model of one node; operands after the first are weights."""
    names = ["" if o is None else f"x{i}" for i, o in enumerate(operands)]
    first = operands[0]
    assert first is not None
    dtype = helper.np_dtype_to_tensor_dtype(first.dtype)
    graph = helper.make_graph(
        [helper.make_node(op_type, names, ["y"], domain=MICROSOFT, **attrs)],
        "one",
        [helper.make_tensor_value_info("x0", dtype, first.shape)],
        [helper.make_tensor_value_info("y", DType.parse(result).onnx, [None] * rank)],
        [
            numpy_helper.from_array(o, n)
            for n, o in list(zip(names, operands, strict=True))[1:]
            if o is not None
        ],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def both(
    op_type: str, *operands: Array | None, result: str = "u8", rank: int = 2, **attrs: Any
) -> tuple[Array, Array]:
    """Return the results of our program, without fallbacks, and of ONNX Runtime for a node."""
    import onnxruntime as runtime

    model = model_of(op_type, operands, result, rank, attrs)
    program = compiler.compile(compiler.load(model))
    assert [(k.op, k.because) for k in program.kernels if not k.native] == []
    session = runtime.InferenceSession(model, providers=["CPUExecutionProvider"])
    needed = np.asarray(session.run(None, {"x0": operands[0]})[0])
    got = np.asarray(program.run({"x0": operands[0]})["y"])
    assert got.dtype == needed.dtype
    assert got.shape == needed.shape
    return got, needed


def assert_within_a_step(pair: tuple[Array, Array], share: float = 0.02) -> None:
    """Check results up to one step in a few elements, where the peer rounds halves differently."""
    got, needed = (a.astype(np.int64) for a in pair)
    steps = np.abs(got - needed)
    assert steps.max(initial=0) <= 1
    assert np.count_nonzero(steps) <= max(share * steps.size, 1)


@pytest.mark.parametrize("dtype", ["u8", "i8"])
@pytest.mark.parametrize("op_type", ["QLinearAdd", "QLinearMul"])
def test_sums_and_products_of_two_tensors(op_type: str, dtype: str) -> None:
    a, b = whole(5, 1, 7, dtype=dtype), whole(3, 7, dtype=dtype, seed=1)
    z = [zero(n, dtype) for n in (3, 100, 60)]
    operands = (a, scale(0.02), z[0], b, scale(0.03), z[1], scale(0.05), z[2])
    assert_within_a_step(both(op_type, *operands, result=dtype, rank=3))


@pytest.mark.parametrize("dtype", ["u8", "i8"])
@pytest.mark.parametrize(
    ("op_type", "attrs"), [("QLinearSigmoid", {}), ("QLinearLeakyRelu", {"alpha": 0.3})]
)
def test_activations(op_type: str, attrs: dict[str, Any], dtype: str) -> None:
    x = np.arange(256).astype(np.uint8).view(DType.parse(dtype).numpy).reshape(16, 16)
    operands = (x, scale(0.05), zero(100, dtype), scale(0.03), zero(-9 % 128, dtype))
    assert_within_a_step(both(op_type, *operands, result=dtype, **attrs))


def test_a_missing_zero_point_is_nothing() -> None:
    # ONNX Runtime 1.31 crashes for this node.
    x = whole(4, 9, dtype="i8")
    model = model_of("QLinearLeakyRelu", (x, scale(0.05), None, scale(0.04)), "i8", 2, {})
    made = compiler.compile(compiler.load(model)).run({"x0": x})["y"]
    number = x.astype(np.float32) * scale(0.05)
    needed = np.where(number < 0, number * np.float32(0.01), number) / scale(0.04)
    np.testing.assert_array_equal(made, np.clip(np.rint(needed), -128, 127))


@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("dtype", ["u8", "i8"])
def test_softmax(dtype: str, opset: int) -> None:
    operands = (whole(3, 5, 4, dtype=dtype), scale(0.02), zero(3, dtype), scale(1 / 256))
    operands = (*operands, zero(0 if dtype == "u8" else -128, dtype))
    assert_within_a_step(
        both("QLinearSoftmax", *operands, result=dtype, rank=3, opset=opset, axis=1)
    )


def test_choice_between_two() -> None:
    c, x, y = whole(4, 6) > 90, whole(4, 6, seed=1), whole(6, seed=2)
    operands = (c, x, scale(0.1), zero(7), y, scale(0.2), zero(9), scale(0.15), zero(30))
    assert_within_a_step(both("QLinearWhere", *operands))


def test_concatenation_of_tensors_with_scales_of_their_own() -> None:
    # ONNX Runtime reads the scale of the result first, so a non-constant first operand fails.
    parts = [whole(2, n, 3, seed=n) for n in (4, 1, 5)]
    attrs = {"axis": 1}
    triples = [o for k, p in enumerate(parts) for o in (p, scale(0.1 + k / 9), zero(5 * k))]
    model = model_of("QLinearConcat", (scale(0.2), zero(7), *triples), "u8", 3, attrs)
    program = compiler.compile(compiler.load(model))
    assert all(k.native for k in program.kernels)
    numbers = [(p - np.float32(5 * k)) * scale(0.1 + k / 9) for k, p in enumerate(parts)]
    needed = np.clip(np.rint(np.concatenate(numbers, 1) / scale(0.2)) + 7, 0, 255)
    np.testing.assert_array_equal(program.run({"x0": scale(0.2)})["y"], needed)


@pytest.mark.parametrize("last", [0, 1])
def test_means_of_windows_and_images(last: int) -> None:
    x = whole(2, 7, 9, 8) if last else whole(2, 8, 7, 9)
    operands = (x, scale(0.03), zero(120), scale(0.0213), zero(100))
    attrs: dict[str, Any] = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}
    made = both("QLinearAveragePool", *operands, rank=4, channels_last=last, **attrs)
    assert_within_a_step(made)
    made = both("QLinearGlobalAveragePool", *operands, rank=4, channels_last=last)
    assert_within_a_step(made)


def test_the_largest_of_each_window_with_channels_last() -> None:
    attrs: dict[str, Any] = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1]}
    got, needed = both("NhwcMaxPool", whole(2, 7, 9, 3, dtype="i8"), result="i8", rank=4, **attrs)
    np.testing.assert_array_equal(got, needed)


@pytest.mark.parametrize("transposed", [0, 1])
@pytest.mark.parametrize("quantized", [True, False])
def test_gemm_with_a_scale_per_column(quantized: bool, transposed: int) -> None:
    a, b = whole(3, 20), seven_bits(whole(20, 6, dtype="i8", seed=1))
    a, b = (a.T.copy(), b.T.copy()) if transposed else (a, b)
    b_scale, b_zero = np.abs(floats(6)) / 50 + np.float32(0.01), np.zeros(6, np.int8)
    c = whole(6, dtype="i16", seed=3).astype(np.int32)
    operands = (a, scale(0.02), zero(100), b, b_scale, b_zero, c)
    attrs: dict[str, Any] = {"transA": transposed, "transB": transposed, "alpha": 0.5}
    if quantized:
        assert_within_a_step(both("QGemm", *operands, scale(0.3), zero(9), **attrs))
        return
    np.testing.assert_allclose(*both("QGemm", *operands, result="f32", **attrs), rtol=1e-6)


def test_integer_products_as_floats() -> None:
    a, b = whole(2, 3, 33), seven_bits(whole(33, 5, dtype="i8", seed=1))
    b_scale, b_zero = np.abs(floats(5)), whole(5, dtype="i8", seed=2)
    operands = (a, b, scale(0.02), b_scale, zero(100), b_zero, floats(5, seed=4))
    made = both("MatMulIntegerToFloat", *operands, result="f32", rank=3)
    np.testing.assert_allclose(*made, rtol=1e-5, atol=1e-4)


def test_products_with_a_matrix_quantized_as_it_comes() -> None:
    b, b_scale = seven_bits(whole(33, 5, dtype="i8", seed=1)), np.abs(floats(5)) / 90
    b_zero, bias = np.zeros(5, np.int8), floats(5, seed=2)
    made = both("DynamicQuantizeMatMul", floats(4, 33), b, b_scale, b_zero, bias, result="f32")
    np.testing.assert_allclose(*made, rtol=1e-4, atol=2e-3)


@pytest.mark.parametrize(
    ("bits", "zeros"),
    [*((b, z) for b in (2, 4, 8) for z in ("none", "packed")), (2, "floats"), (4, "floats")],
)
def test_products_with_packed_weights(bits: int, zeros: str) -> None:
    n, k, block = 6, 80, 32
    blocks = -(-k // block)
    given: Array | None = None
    if zeros == "packed":
        given = whole(n, -(-blocks * bits // 8), seed=2)
    elif zeros == "floats":
        given = (floats(n, blocks) + 2 ** (bits - 1)).astype(np.float32)
    w = whole(n, blocks, block * bits // 8, seed=1)
    operands = (floats(3, k), w, np.abs(floats(n, blocks, seed=3)) / 2**bits, given)
    attrs: dict[str, Any] = {"N": n, "K": k, "bits": bits, "block_size": block, "accuracy_level": 1}
    got, needed = both("MatMulNBits", *operands, result="f32", **attrs)
    np.testing.assert_allclose(got, needed, rtol=1e-4, atol=1e-4)


def test_quantizing_to_types_that_onnx_got_later() -> None:
    for dtype in ("u16", "i16"):
        operands = (9 * floats(4, 6), scale(0.001), zero(30, dtype))
        got, needed = both("QuantizeLinear", *operands, result=dtype)
        np.testing.assert_array_equal(got, needed)
        back = both("DequantizeLinear", got, *operands[1:], result="f32")
        np.testing.assert_array_equal(*back)


@pytest.mark.parametrize("one_way", [0, 1])
@pytest.mark.parametrize("masked", [False, True])
def test_attention_of_a_quantized_input(masked: bool, one_way: int) -> None:
    x, w = whole(2, 5, 12), seven_bits(whole(12, 36, dtype="i8", seed=1))
    mask = np.array([5, 3], np.int32) if masked else None
    operands = (x, w, floats(36), scale(0.02), scale(0.01), mask, zero(120), zero(0, "i8"))
    attrs: dict[str, Any] = {"num_heads": 3, "unidirectional": one_way}
    got, needed = both("QAttention", *operands, result="f32", rank=3, **attrs)
    np.testing.assert_allclose(got, needed, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("dtype", ["u4", "i4", "u8"])
def test_rows_of_a_table_quantized_in_blocks(dtype: str, zeros: bool) -> None:
    def codes(n_rows: int, n: int, seed: int) -> Array:
        if dtype == "u8":
            return whole(n_rows, n // 2, seed=seed)
        return whole(n_rows, n, seed=seed).astype(DType.parse(dtype).numpy)

    table, scales = codes(7, 64, 1), np.abs(floats(7, 4)) + np.float32(0.1)
    rows = np.array([[6, 0, 3], [2, 2, 5]])
    given = codes(7, 4, 2) if zeros else None
    attrs: dict[str, Any] = {"block_size": 16, "bits": 4, "quantize_axis": 1, "gather_axis": 0}
    model = model_of("GatherBlockQuantized", (rows, table, scales, given), "f32", 3, attrs)
    model = swapped(model)
    program = compiler.compile(compiler.load(model))
    assert [(k.op, k.because) for k in program.kernels if not k.native] == []
    import onnxruntime as runtime

    session = runtime.InferenceSession(model, providers=["CPUExecutionProvider"])
    (needed,) = session.run(None, {"x0": rows})
    np.testing.assert_allclose(program.run({"x0": rows})["y"], needed, rtol=1e-6)


def swapped(model: bytes) -> bytes:
    """Return the model with the first two operands of its node exchanged."""
    made = onnx.ModelProto.FromString(model)
    inputs = made.graph.node[0].input
    inputs[0], inputs[1] = inputs[1], inputs[0]
    return made.SerializeToString()
