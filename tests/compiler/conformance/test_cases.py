import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from compiler.conformance.cases import SUITES, Case, collect


def named(suite: str, name: str) -> Case:
    (case,) = (c for c in collect(suite) if c.name == name)
    return case


@pytest.mark.parametrize("suite", [s for s in SUITES if s != "node"])
def test_a_suite_of_files_has_cases_whose_data_fit_their_models(suite: str) -> None:
    cases = collect(suite)
    assert [c.name for c in cases] == sorted({c.name for c in cases})
    for case in cases if suite != "light" else cases[:1]:
        for inputs, outputs in case.read():
            feeds = case.feeds(inputs)
            assert set(feeds) <= {v.name for v in case.model.graph.input}
            assert len(outputs) == len(case.model.graph.output)


def test_all_suites_are_as_large_as_they_are_published() -> None:
    assert {suite: len(collect(suite)) for suite in SUITES} == {
        "node": 1884,
        "simple": 23,
        "pytorch-converted": 82,
        "pytorch-operator": 35,
        "light": 9,
    }


def test_a_light_model_has_the_tolerance_of_its_case_and_the_output_that_is_kept() -> None:
    case = named("light", "test_densenet121")
    assert (case.rtol, case.atol) == (2e-3, 1e-7)
    (((image,), (scores,)),) = case.read()
    assert image.shape == (1, 3, 224, 224)
    assert image.flat[1] == np.float32(1 / image.size)
    assert scores.shape == (1, 1000, 1, 1)


def test_sequences_optionals_and_texts_are_read_as_programs_give_them() -> None:
    (((first, *_), _),) = named("simple", "test_sequence_model1").read()
    assert isinstance(first, np.ndarray)
    ((_, (texts,)),) = named("simple", "test_strnorm_model_monday_empty_output").read()
    assert texts.dtype == np.object_
    (((optional,), _),) = named("node", "test_optional_get_element_optional_sequence").read()
    assert [v.dtype for v in optional] == [np.int32]


def test_operators_are_those_of_functions_and_subgraphs_and_random_ones_are_known() -> None:
    value = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    toss = helper.make_node("RandomUniform", [], ["y"], shape=[2])
    body = helper.make_graph([toss], "then", [], [value])
    other = helper.make_graph(
        [helper.make_node("Twice", ["z"], ["y"], domain="own")], "else", [], [value]
    )
    choice = helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=other)
    graph = helper.make_graph(
        [choice],
        "choice",
        [
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("z", TensorProto.FLOAT, [2]),
        ],
        [value],
    )
    scale = helper.make_node("Scaler", ["t"], ["u"], domain="ai.onnx.ml")
    add = helper.make_node("Add", ["v", "v"], ["t"], domain="ai.onnx")
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
    function = helper.make_function("own", "Twice", ["v"], ["u"], [add, scale], opsets)
    model = helper.make_model(graph, functions=[function])
    case = Case("simple", "choice", model, lambda: [], 1e-3, 1e-7)
    assert case.operators == ("Add", "If", "RandomUniform", "ai.onnx.ml.Scaler")
    assert case.is_random
    assert not named("simple", "test_sign_model").is_random
    assert isinstance(case.model, onnx.ModelProto)
