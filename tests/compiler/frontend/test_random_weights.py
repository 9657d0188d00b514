from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import compiler
from compiler.errors import CompileError
from compiler.frontend.random_weights import random_weights
from tests.models import light_model


def splat_model() -> onnx.ModelProto:
    """Return a convolution, a normalisation and a matrix product with splats of 0.02 as weights."""
    value = helper.make_tensor_value_info
    fill = helper.make_tensor("value", TensorProto.FLOAT, [1], [0.02])
    nodes = [
        helper.make_node("ConstantOfShape", ["w_shape"], ["w"], value=fill),
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("Flatten", ["r"], ["f"]),
        helper.make_node("ConstantOfShape", ["k_shape"], ["k"], value=fill),
        helper.make_node("Gemm", ["f", "k", "bias"], ["g"], transB=1),
        helper.make_node("Mul", ["g", "kept"], ["y"]),
    ]
    stored = {
        "w_shape": np.array([6, 2, 3, 3], np.int64),
        "k_shape": np.array([5, 6 * 16], np.int64),
        "s": np.full(6, 0.02, np.float32),
        "b": np.full(6, 0.02, np.float32),
        "m": np.arange(6, dtype=np.float32),
        "v": np.full(6, 0.02, np.float32),
        "bias": np.full(5, 0.02, np.float32),
        "kept": np.array([1, 2, 3, 4, 5], np.float32),
    }
    graph = helper.make_graph(
        nodes,
        "g",
        [value("x", TensorProto.FLOAT, [1, 2, 4, 4]), value("s", TensorProto.FLOAT, [6])],
        [value("y", TensorProto.FLOAT, [1, 5])],
        [numpy_helper.from_array(a, n) for n, a in stored.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=3)


def weights(data: bytes) -> dict[str, np.ndarray]:
    graph = onnx.load_model_from_string(data).graph
    return {t.name: numpy_helper.to_array(t) for t in graph.initializer}


def test_splats_become_random_numbers_of_their_role() -> None:
    made = weights(random_weights(splat_model().SerializeToString(), 1))
    assert made["w"].shape == (6, 2, 3, 3)
    assert 0.5 < made["w"].std() * np.sqrt(18) < 2
    assert 0.3 < made["k"].std() * np.sqrt(96) < 2
    assert (made["v"] > 0.5).all()
    assert len(np.unique(made["s"])) == 6
    # A stored mean that matches the old weights is replaced with them; other weights stay.
    assert np.abs(made["m"]).max() < 1
    assert made["kept"].tolist() == [1, 2, 3, 4, 5]


def test_the_same_seed_gives_the_same_model_and_another_seed_another() -> None:
    data = splat_model().SerializeToString()
    assert random_weights(data, 1) == random_weights(data, 1)
    assert random_weights(data, 1) != random_weights(data, 2)


def test_the_model_stays_valid_and_runs_with_inputs_of_the_user_only() -> None:
    data = random_weights(splat_model().SerializeToString(), 3)
    proto = onnx.load_model_from_string(data)
    onnx.checker.check_model(proto)
    assert [v.name for v in proto.graph.input] == ["x"]
    x = np.random.default_rng(0).standard_normal((1, 2, 4, 4), np.float32)
    expected = ReferenceEvaluator(proto).run(None, {"x": x})[0]
    made = compiler.reference(compiler.load(data), {"x": x})["y"]
    np.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-5)


def test_a_light_model_keeps_its_activations_in_range() -> None:
    data = random_weights(light_model("squeezenet"), 1)
    graph = compiler.load(data)
    assert not any(c.is_splat and c.type.n_elements > 1 for c in graph.constants.values())
    x = np.random.default_rng(0).standard_normal((1, 3, 224, 224), np.float32)
    (y,) = compiler.reference(graph, {"data_0": x}).values()
    assert np.isfinite(y).all()
    assert y.max() < 0.9
    assert len(np.unique(y)) > 500


def test_models_with_weights_of_their_own_do_not_change() -> None:
    proto = splat_model()
    kept = [n for n in proto.graph.node if n.op_type == "Mul"]
    del proto.graph.node[:]
    proto.graph.node.extend(kept)
    proto.graph.input.append(helper.make_tensor_value_info("g", TensorProto.FLOAT, [1, 5]))
    assert weights(random_weights(proto.SerializeToString(), 1))["kept"].tolist() == [1, 2, 3, 4, 5]


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CompileError) as caught:
        random_weights(tmp_path / "absent.onnx", 1)
    assert caught.value.code == "E-MODEL-FILE"
    with pytest.raises(CompileError) as caught:
        random_weights(b"\xff\xff\xff", 1)
    assert caught.value.code == "E-MODEL-PROTOBUF"
