"""Tests that the generator covers the standard, and of a few models with fixed seeds."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.outside.case import Case, draw_case
from tests.outside.defined import is_defined, product_is_held
from tests.outside.exceptions import NOT_DRAWN
from tests.outside.families.quantization import QDQ
from tests.outside.family import DRAWN
from tests.outside.judge import Judge
from tests.outside.margins import margins
from tests.outside.peer import assembled, run_node
from tests.outside.reduce import reduced
from tests.outside.sweep import sweep
from tests.outside.trial import Outcome, try_case

QUICK = [(11, k) for k in range(8)]
"""Cases of `make test`; the sweep has thousands."""


def schemas() -> set[str]:
    return {s.name for s in onnx.defs.get_all_schemas() if s.domain == "" and not s.deprecated}


def value_info(name: str, shape: list[int]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)


def test_every_operator_is_drawn_or_has_a_reason() -> None:
    drawn = set(DRAWN) - {QDQ}
    assert schemas() - drawn - set(NOT_DRAWN) == set()
    assert drawn & set(NOT_DRAWN) == set()
    assert set(NOT_DRAWN) - schemas() <= {"Upsample"}


def test_a_case_is_repeated_from_its_seed_and_index() -> None:
    first, again = draw_case(3, 5), draw_case(3, 5)
    assert first.model == again.model
    assert [list(f) for f in first.feeds] == [list(f) for f in again.feeds]


def test_some_cases_are_right() -> None:
    told: list[str] = []
    found = sweep(QUICK, 60, told.append, nodes=(3, 10))
    assert {o.kind for o in found.values()} <= {"right", "peer"}, "\n".join(told)


@pytest.mark.parametrize(("weight", "held"), [(64, True), (-64, True), (65, False), (-128, False)])
def test_pairs_of_large_integer_products_are_not_compared(weight: int, held: bool) -> None:
    values = {
        "x": np.full((1, 2), 255, np.uint8),
        "w": np.array([[weight], [1]], np.int8),
        "small": np.full((1, 2), 3, np.int8),
    }
    product = helper.make_node("MatMulInteger", ["x", "w"], ["y"])
    assert is_defined(product, values) is held
    same_types = helper.make_node("MatMulInteger", ["small", "w"], ["y"])
    assert is_defined(same_types, values)


@pytest.mark.parametrize(
    ("dtype", "n", "held"), [(np.int64, 52, True), (np.int64, 53, False), (np.int32, 31, False)]
)
def test_products_that_integers_or_f64_cannot_hold_are_not_compared(
    dtype: type[np.signedinteger[Any]], n: int, held: bool
) -> None:
    rows = np.full((3, n), -2, dtype)
    assert product_is_held(rows, [1]) is held
    assert product_is_held(rows, [0])


def test_indices_of_extrema_of_empty_tensors_are_not_compared() -> None:
    found = helper.make_node("ArgMin", ["x"], ["y"], axis=-1)
    assert is_defined(found, {"x": np.zeros((2, 1), np.float32)})
    assert not is_defined(found, {"x": np.zeros((2, 0), np.float32)})


def sum_model(minus: bool) -> onnx.ModelProto:
    """Return y = tanh(a + b), or a - b."""
    nodes = [
        helper.make_node("Sub" if minus else "Add", ["a", "b"], ["s"]),
        helper.make_node("Tanh", ["s"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info(n, 1, [2, 3]) for n in "ab"]
    outputs = [helper.make_tensor_value_info("y", 1, None)]
    graph = helper.make_graph(nodes, "sums", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def ones() -> dict[str, np.ndarray]:
    x = np.linspace(0.25, 1.5, 6, dtype=np.float32).reshape(2, 3)
    return {"a": x, "b": x[::-1].copy()}


def test_judge_allows_rounding_and_nothing_else() -> None:
    model, feeds = sum_model(minus=False), ones()
    right = np.tanh(feeds["a"] + feeds["b"])
    judge = Judge(model, feeds, {"y": right})
    assert judge.objection({"y": np.nextafter(right, np.float32(2))}) is None
    found = judge.objection({"y": right * np.float32(1.001)})
    assert found is not None
    assert "6 of 6" in found.text
    assert judge.objection({"y": right[:, :2]}) is not None


def test_judge_takes_cancellation_for_rounding() -> None:
    """a - b of nearly equal numbers may have an error as large as the difference."""
    x = np.full((2, 3), 1000, np.float32)
    feeds = {"a": x, "b": np.nextafter(x, np.float32(2000))}
    judge = Judge(sum_model(minus=True), feeds, {"y": np.tanh(feeds["a"] - feeds["b"])})
    assert judge.objection({"y": np.zeros((2, 3), np.float32)}) is None


def test_judge_allows_the_absolute_error_of_a_sigmoid() -> None:
    """ONNX Runtime gives 0 for arguments below about -18."""
    inputs = [value_info("x", [2])]
    node = helper.make_node("Sigmoid", ["x"], ["y"])
    values = {"x": np.array([-40, -30], np.float32)}
    judge = Judge(assembled([node], inputs, ["y"], 21), values, {"y": np.zeros(2, np.float32)})
    assert judge.objection({"y": np.array([4.25e-18, 9.4e-14], np.float32)}) is None
    assert judge.objection({"y": np.array([4.25e-18, 9.4e-4], np.float32)})


def test_judge_places_noise_in_the_taken_branch_of_an_if() -> None:
    """The window is symmetric: rounding decides which of two equal elements is the largest."""
    model = onnx.parser.parse_model("""<ir_version: 9, opset_import: ["": 17]>
        g (bool go) => (int64[] at) {
            at = If(go) <then_branch = t () => (int64[] first)
                <int64 size={8}> {
                window = HammingWindow<output_datatype = 1>(size)
                two = Constant<value: tensor = int64[1] {2}>()
                unused, first = TopK<axis = 0, largest = 0>(window, two)
            }, else_branch = e () => (int64[] none) {
                none = Constant<value: tensor = int64[2] {0, 1}>()
            }>
        }""")
    for go, allowed in ((True, True), (False, False)):
        theirs = {"at": np.array([0, 1], np.int64)}
        judge = Judge(model, {"go": np.array(go)}, theirs)
        assert (judge.objection({"at": np.array([0, 7], np.int64)}) is None) is allowed


ROUNDED_IN_BODIES = {
    "Loop": """last, y = Loop(n, "", x) <body = b (int64 k, bool go, float[2] s)
            => (bool on, float[2] same, float[2] whole) {
        on = Identity(go)
        half = Sub(s, a)
        whole = Floor(half)
        same = Identity(s) }>""",
    "Scan": """y = Scan(x) <num_scan_inputs = 1, scan_input_directions = [1], body = b (float s)
            => (float whole) {
        half = Sub(s, a)
        whole = Floor(half) }>""",
}


@pytest.mark.parametrize("op", ROUNDED_IN_BODIES)
def test_judge_places_noise_in_bodies_of_loops(op: str) -> None:
    """0.3 - 0.1 - 0.2 is 0 or not by rounding: both 0 and -1 are its floor."""
    nodes = ROUNDED_IN_BODIES[op]
    model = onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["": 18]>
        g (float[2] x) => (float[] y) <int64 n = {{2}}, float a = {{0.3}}> {{ {nodes} }}""")
    feeds = {"x": np.array([0.3, 0.75], np.float32)}
    theirs = np.zeros((2, 2) if op == "Loop" else 2, np.float32)
    found = margins(model, feeds, {"y": theirs}, 8)["y", None]
    doubtful = found.allowed > 0.5
    assert doubtful.any(axis=None)
    expected = [True, False] if op == "Loop" else [False, True]
    assert (doubtful == np.broadcast_to(expected, theirs.shape)).all()


def test_judge_places_the_noise_of_a_window_in_a_sequence() -> None:
    """The first number of a Blackman window is a sum of numbers around 1 that cancel."""
    model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 18]>
        g (float[2] x) => (seq(double[8]) made) {
            parts = SequenceConstruct(x)
            made = SequenceMap(parts) <body = b (float[2] part) => (double[8] window)
                <int64 size={8}> { window = BlackmanWindow<output_datatype = 11>(size) }>
        }""")
    feeds = {"x": np.zeros(2, np.float32)}
    (theirs,) = run_node(model.graph.node[1], {**feeds, "parts": [feeds["x"]]}, 18)
    found = margins(model, feeds, {"made": theirs}, 8)
    assert 3e-8 < found["made", 0].allowed[0] < 3e-5


def test_judge_allows_the_absolute_error_of_a_gelu() -> None:
    """ONNX Runtime adds 1 to an erf close to -1; the relative error at -4 is 0.03 %."""
    node = helper.make_node("Gelu", ["x"], ["y"])
    values = {"x": np.array([-4, -5.75], np.float32)}
    theirs = {"y": np.array([-0.00012671947, 0], np.float32)}
    judge = Judge(assembled([node], [value_info("x", [2])], ["y"], 21), values, theirs)
    assert judge.objection({"y": np.array([-0.00012668497, -2.5657494e-08], np.float32)}) is None
    assert judge.objection({"y": np.array([-0.0002, 0], np.float32)})


def test_judge_allows_the_rounding_of_the_terms_of_an_instance_norm() -> None:
    """255 divided by the small deviation, minus the mean divided by it: 5,200 - 5,200 - 2."""
    values = {"x": np.full((1, 1, 3), 255, np.float32), "s": np.array([-2], np.float32)}
    node = helper.make_node("InstanceNormalization", ["x", "s", "s"], ["y"], epsilon=0.01)
    inputs = [value_info("x", [1, 1, 3]), value_info("s", [1])]
    judge = Judge(
        assembled([node], inputs, ["y"], 21), values, {"y": np.full((1, 1, 3), -2.0, "f")}
    )
    assert judge.objection({"y": np.full((1, 1, 3), -2.0001, np.float32)}) is None
    assert judge.objection({"y": np.full((1, 1, 3), -2.2, np.float32)})


def test_judge_allows_the_rounding_of_the_mean_of_equal_elements() -> None:
    """The deviation is 0 or an error of rounding, which is divided by itself and 1e-9."""
    node = helper.make_node("MeanVarianceNormalization", ["x"], ["y"], axes=[0, 1])
    inputs = [value_info("x", [1, 3])]
    equal = {"x": np.full((1, 3), 1.7885579, np.float32)}
    judge = Judge(assembled([node], inputs, ["y"], 21), equal, {"y": np.ones((1, 3), "f")})
    assert judge.objection({"y": np.full((1, 3), -1, np.float32)}) is None
    distinct = {"x": np.array([[1, 2, 3]], np.float32)}
    right = {"y": np.array([[-1.2247448, 0, 1.2247448]], np.float32)}
    judge = Judge(assembled([node], inputs, ["y"], 21), distinct, right)
    assert judge.objection({"y": np.array([[-1.2247448, 0.001, 1.2247448]], np.float32)})


@pytest.mark.parametrize(
    ("op", "attributes"),
    [("GroupNormalization", {"num_groups": 1}), ("LayerNormalization", {"axis": 1})],
)
def test_judge_allows_norms_of_f64_the_rounding_of_f32(op: str, attributes: dict[str, int]) -> None:
    """The deviation is 0.06, so the rounding of 0.9 to f32 is enlarged 16 times."""
    node = helper.make_node(op, ["x", "s", "b"], ["y"], epsilon=0.0, **attributes)
    inputs = [value_info(n, d) for n, d in (("x", [1, 2]), ("s", [2]), ("b", [2]))]
    for i in inputs:
        i.type.tensor_type.elem_type = onnx.TensorProto.DOUBLE
    values = {"x": np.array([[0.9579, 0.8422]]), "s": np.ones(2), "b": np.zeros(2)}
    judge = Judge(assembled([node], inputs, ["y"], 21), values, {"y": np.array([[1.0, -1.0]])})
    assert judge.objection({"y": np.array([[1.000002, -1.000002]])}) is None
    assert judge.objection({"y": np.array([[1.001, -1.001]])})


def test_judge_allows_the_rounding_of_a_narrow_type_in_a_branch() -> None:
    """ONNX Runtime divides in f32 and omits the casts to f16 and back."""

    def body(name: str, last: float) -> onnx.GraphProto:
        divisor = helper.make_tensor(f"{name}_by", onnx.TensorProto.FLOAT16, [1], [last])
        nodes = [
            helper.make_node("Cast", ["x"], [f"{name}_narrow"], to=onnx.TensorProto.FLOAT16),
            helper.make_node("Div", [f"{name}_narrow", f"{name}_by"], [f"{name}_part"]),
            helper.make_node("Cast", [f"{name}_part"], [name], to=onnx.TensorProto.FLOAT),
        ]
        return helper.make_graph(nodes, name, [], [value_info(name, [1])], [divisor])

    node = helper.make_node(
        "If", ["c"], ["y"], then_branch=body("a", 7.0), else_branch=body("b", 9.0)
    )
    inputs = [value_info("x", [1]), helper.make_tensor_value_info("c", onnx.TensorProto.BOOL, [])]
    model = assembled([node], inputs, ["y"], 21)
    feeds = {"x": np.ones(1, np.float32), "c": np.array(True)}
    judge = Judge(model, feeds, {"y": np.array([1 / 7], np.float32)})
    assert judge.objection({"y": np.array([0.142822265625], np.float32)}) is None
    assert judge.objection({"y": np.array([0.2], np.float32)})


@pytest.mark.parametrize(
    ("axes", "rows", "defined"), [([0, -1], 2, True), ([1, -1], 2, False), ([-1], 0, False)]
)
def test_reductions_have_axes_that_runtimes_agree_on(
    axes: list[int], rows: int, defined: bool
) -> None:
    node = helper.make_node("ReduceMax", ["x", "axes"], ["y"])
    assert is_defined(node, {"x": np.ones((rows, 3)), "axes": np.array(axes)}) == defined


@pytest.mark.parametrize(("shape", "defined"), [((2, 0, 3), True), ((2, 0, 1), False)])
def test_parts_of_a_concat_meet_even_without_elements(
    shape: tuple[int, ...], defined: bool
) -> None:
    node = helper.make_node("Concat", ["x", "y"], ["z"], axis=1)
    assert is_defined(node, {"x": np.ones((2, 4, 3)), "y": np.ones(shape)}) == defined


def test_a_trial_tells_refusals_from_right_results() -> None:
    case = Case(sum_model(minus=False), [ones()])
    assert try_case(case).kind == "right"


def test_reduction_keeps_what_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler is wrong for Tanh, so the preceding sum is removed."""

    def fails(case: Case, *_: object) -> Outcome:
        wrong = any(n.op_type == "Tanh" for n in case.model.graph.node)
        return Outcome("wrong", detail="6 of 6 differ", result="y") if wrong else Outcome("right")

    monkeypatch.setattr("tests.outside.reduce.try_case", fails)
    case = Case(sum_model(minus=False), [ones()])
    smaller = reduced(case, fails(case), seconds=300)
    assert [n.op_type for n in smaller.model.graph.node] == ["Tanh"]
    assert [v.name for v in smaller.model.graph.input] == ["s"]


@pytest.mark.parametrize(("size", "defined"), [(6, True), (7, False)])
def test_rotary_embedding_turns_whole_pairs(size: int, defined: bool) -> None:
    node = helper.make_node("RotaryEmbedding", ["x", "c", "s"], ["y"])
    angles = np.ones((1, 4, 3))
    values = {"x": np.ones((1, 2, 4, size)), "c": angles, "s": angles}
    assert is_defined(node, values) == defined


@pytest.mark.parametrize(("n", "defined"), [(2, True), (5, False)])
def test_a_sequence_map_reads_elements_of_the_sizes_it_declares(n: int, defined: bool) -> None:
    negated = helper.make_node("Neg", ["e"], ["f"])
    body = helper.make_graph([negated], "b", [value_info("e", [1, 2])], [value_info("f", [1, 2])])
    node = helper.make_node("SequenceMap", ["x"], ["y"], body=body)
    assert is_defined(node, {"x": [np.ones((1, 2)), np.ones((1, n))]}) == defined


def test_judge_has_no_opinion_where_noise_leaves_the_domain_of_a_function() -> None:
    """The operand of the square root cancels: 0.42 - 0.5 + 0.08 may be negative."""
    terms = [
        helper.make_node("Sum", ["a", "b", "c"], ["s"]),
        helper.make_node("Sqrt", ["s"], ["y"]),
    ]
    model = assembled(terms, [value_info(n, [1]) for n in "abc"], ["y"], 21)
    feeds = {n: np.array([v], np.float32) for n, v in zip("abc", (0.42, -0.5, 0.08), strict=True)}
    judge = Judge(model, feeds, {"y": np.array([1e-4], np.float32)})
    assert judge.objection({"y": np.array([np.nan], np.float32)}) is None
