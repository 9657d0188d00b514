import numpy as np
from onnx import TensorProto, helper

from compiler.check.yardstick import run_reference


def model(op: str, opset: int, shape: list[int], **attrs: object) -> bytes:
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node(op, ["x"], ["y"], **attrs)],
        "g",
        [value("x", TensorProto.FLOAT, shape)],
        [value("y", TensorProto.FLOAT, shape)],
    )
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=7).SerializeToString()


def test_an_old_softmax_means_what_its_opset_says() -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 4), np.float32)
    outputs, note = run_reference(model("Softmax", 9, [2, 3, 4]), {"x": x})
    assert outputs is not None
    # Before opset 13: all axes from 1 on are flattened.
    flat = np.exp(x.reshape(2, 12))
    expected = (flat / flat.sum(axis=1, keepdims=True)).reshape(2, 3, 4)
    np.testing.assert_allclose(outputs["y"], expected, rtol=1e-5)
    assert "opset 9" in note


def test_a_new_model_is_run_as_it_is() -> None:
    outputs, note = run_reference(model("Relu", 17, [3]), {"x": np.array([-1, 0, 2], np.float32)})
    assert outputs is not None
    assert outputs["y"].tolist() == [0, 0, 2]
    assert note == ""


def test_a_model_that_it_cannot_run_gives_the_reason() -> None:
    outputs, note = run_reference(b"nonsense", {})
    assert outputs is None
    assert "onnx.reference cannot run the model" in note
