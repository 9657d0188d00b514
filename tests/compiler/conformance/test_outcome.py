import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from compiler.conformance import outcome
from compiler.conformance.cases import Case, DataSet
from compiler.conformance.outcome import Outcome, crashed, outcome_of

X = np.array([[1, -2, 3]], np.float32)


def model(*nodes: onnx.NodeProto, domain: str = "") -> onnx.ModelProto:
    """Return a model from x[N,3] to y with these nodes."""
    graph = helper.make_graph(
        list(nodes),
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])],
        [helper.make_empty_tensor_value_info("y")],
    )
    opsets = [helper.make_opsetid("", 18), *([helper.make_opsetid(domain, 1)] if domain else [])]
    proto = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    return onnx.shape_inference.infer_shapes(proto)


def case(proto: onnx.ModelProto, y: Any, *more: DataSet) -> Case:
    sets: Sequence[DataSet] = [([X], [y]), *more]
    return Case("simple", "test_small", proto, lambda: sets, 1e-3, 1e-7)


def relu() -> onnx.ModelProto:
    return model(helper.make_node("Relu", ["x"], ["y"]))


def pieces() -> onnx.ModelProto:
    return model(helper.make_node("SplitToSequence", ["x"], ["y"], axis=1))


def test_a_program_of_generated_code_is_native() -> None:
    found = outcome_of(case(relu(), np.maximum(X, 0)))
    assert (found.kind, found.n_native, found.n_kernels) == ("native", 1, 1)
    assert found.is_right
    assert found.operators == ("Relu",)
    assert found.seconds > 0


def test_fallbacks_are_named_with_their_reason() -> None:
    found = outcome_of(case(pieces(), [X[:, :1], X[:, 1:2], X[:, 2:]]))
    assert (found.kind, found.n_native, found.n_kernels) == ("fallback", 0, 1)
    ((op, because),) = found.fallbacks
    assert op == "onnx.SplitToSequence"
    assert "no lowering" in because


def test_generated_code_beside_a_fallback_is_mixed() -> None:
    split = helper.make_node("SplitToSequence", ["h"], ["y"], axis=1)
    y = np.maximum(X, 0)
    proto = model(helper.make_node("Relu", ["x"], ["h"]), split)
    found = outcome_of(case(proto, [y[:, :1], y[:, 1:2], y[:, 2:]]))
    assert (found.kind, found.n_native, found.n_kernels) == ("mixed", 1, 2)


def test_every_data_set_counts() -> None:
    twice = np.concatenate([X, X])
    right, wrong = ([twice], [np.maximum(twice, 0)]), ([twice], [twice])
    assert outcome_of(case(relu(), np.maximum(X, 0), right)).kind == "native"
    found = outcome_of(case(relu(), np.maximum(X, 0), right, wrong))
    assert (found.kind, found.is_right) == ("wrong", False)
    assert found.why == "y: 2 of 6 elements differ, the worst at [0, 1]: 0.0 instead of -2.0"


@pytest.mark.parametrize(
    ("expected", "why"),
    [
        (np.maximum(X, 0).astype(np.float64), "y: element type float32 instead of float64"),
        (np.maximum(X, 0)[0], "y: shape [1, 3] instead of [3]"),
        ([np.maximum(X, 0)], "y: a tensor instead of a sequence of 1"),
    ],
    ids=["element type", "shape", "sequence"],
)
def test_what_is_wrong_is_said(expected: Any, why: str) -> None:
    found = outcome_of(case(relu(), expected))
    assert (found.kind, found.why) == ("wrong", why)


def test_too_few_outputs_are_wrong() -> None:
    two = replace(case(relu(), None), read=lambda: [([X], [np.maximum(X, 0), X])])
    assert outcome_of(two).why == "1 outputs instead of 2"


def test_random_numbers_are_compared_in_shape_and_type_only() -> None:
    toss = model(helper.make_node("RandomUniformLike", ["x"], ["y"]))
    found = outcome_of(case(toss, X + 100))
    assert found.is_right
    assert found.remark == "random"
    assert outcome_of(case(toss, X[0])).kind == "wrong"


def test_a_compile_error_is_a_refusal_with_its_code() -> None:
    empty = replace(case(relu(), X), read=lambda: [([X[0]], [X])])
    found = outcome_of(empty)
    assert (found.kind, found.code) == ("refused", "E-INPUT-SHAPE")
    assert "'x'" in found.why


def failing(error: Exception) -> Callable[..., Any]:
    def fail(*args: Any, **rest: Any) -> Any:
        raise error

    return fail


def test_any_other_error_is_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome, "compile", failing(KeyError("no such thing")))
    found = outcome_of(case(relu(), X))
    assert (found.kind, found.why) == ("crashed", "KeyError in test_outcome.fail: 'no such thing'")


@pytest.mark.parametrize("proto", [relu(), pieces()], ids=["native", "fallback"])
def test_outcomes_survive_json(proto: onnx.ModelProto) -> None:
    found = outcome_of(case(proto, X))
    assert Outcome.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_a_case_that_killed_its_process_keeps_its_operators() -> None:
    lost = crashed(case(relu(), X), "gone", 1.5)
    assert (lost.kind, lost.why, lost.operators, lost.seconds) == (
        "crashed",
        "gone",
        ("Relu",),
        1.5,
    )
