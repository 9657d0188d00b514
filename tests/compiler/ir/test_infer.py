"""Tests of type inference: in branches that cannot run, and against recorded types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler
from compiler.errors import CompileError
from compiler.ir.infer import infer, specialize, stated
from compiler.ir.text import parse_graph
from compiler.ir.types import parse_type
from compiler.ir.verify import verify
from tests.onnx_models import BOOL, I64, graph, model, node, stored, value


def squeezing(shape: tuple[Any, ...]) -> bytes:
    """Return a model that may squeeze axis 0 of `x`, which must then have one element."""
    total = [node("ReduceSum", ["x"], ["t"], keepdims=0)]
    squeeze = [node("Squeeze", ["x", "axes"], ["s"]), node("ReduceSum", ["s"], ["t"], keepdims=0)]
    choice = node(
        "If",
        ["c"],
        ["y"],
        then_branch=graph(squeeze, outputs=[value("t", ())]),
        else_branch=graph(total, outputs=[value("t", ())]),
    )
    inputs = [value("x", shape), value("c", (), BOOL)]
    made = model([choice], inputs, [value("y", ())], [stored("axes", [0], np.int64)])
    return made.SerializeToString()


@pytest.mark.parametrize("shape", [(2, 3), ("n", 3)])
def test_a_branch_that_is_wrong_for_these_sizes_fails_only_when_it_is_taken(shape: Any) -> None:
    program = compiler.compile(squeezing(shape))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert program.run({"x": x, "c": np.array(False)})["y"] == 15
    with pytest.raises(CompileError) as caught:
        program.run({"x": x, "c": np.array(True)})
    assert caught.value.code == "E-RUN-OPERATOR"
    assert "Squeeze" in str(caught.value) or "squeeze" in str(caught.value)


def test_a_branch_that_is_right_only_for_some_sizes_runs_for_those() -> None:
    program = compiler.compile(squeezing(("n", 3)))
    for rows, taken, total in ((1, True, 3.0), (2, False, 15.0), (1, False, 3.0)):
        x = np.arange(3 * rows, dtype=np.float32).reshape(rows, 3)
        assert program.run({"x": x, "c": np.array(taken)})["y"] == total


def test_a_graph_with_a_branch_that_cannot_run_prints_and_parses_back() -> None:
    for g in (
        compiler.load(squeezing((2, 3))),
        specialize(compiler.load(squeezing(("n", 3))), {"x": (2, 3)}),
    ):
        verify(g)
        assert compiler.parse(str(g)) == g


def test_a_node_outside_of_regions_is_refused_at_once() -> None:
    squeeze = node("Squeeze", ["x", "axes"], ["y"])
    made = model([squeeze], [value("x")], [value("y", (3,))], [stored("axes", [0], np.int64)])
    with pytest.raises(CompileError) as caught:
        compiler.load(made.SerializeToString())
    assert caught.value.code == "E-OP-SHAPE"


def test_a_recorded_type_outlives_the_choice_of_sizes() -> None:
    """The type rules know nothing about a sequence from a foreign operator, except the record."""
    # The element at an index known at run time; the recorded type gives its type.
    nodes = [
        node("SequenceConstruct", ["x", "z"], ["s"]),
        node("SequenceAt", ["s", "i"], ["e"]),
        node("Relu", ["e"], ["y"]),
    ]
    made = model(
        nodes,
        [value("x", ("n", 3)), value("z", ("m", 3)), value("i", (), I64)],
        [value("y", (4, 3))],
        value_info=[value("e", (4, 3))],
    )
    g = compiler.load(made.SerializeToString())
    assert str(g.types["e"]) == "f32[4,3]"
    known = specialize(g, {"x": (2, 3), "z": (4, 3)})
    assert str(known.types["e"]) == "f32[4,3]"
    verify(known)
    x, z = np.zeros((2, 3), np.float32), np.full((4, 3), -1, np.float32)
    program = compiler.compile(g)
    made_y = program.run({"x": x, "z": z, "i": np.array(1)})["y"]
    np.testing.assert_array_equal(made_y, np.zeros((4, 3), np.float32))


@pytest.mark.parametrize(
    ("inferred", "recorded", "together"),
    [
        ("opaque", "f32[2]", "f32[2]"),
        ("f32[2]", "opaque", "f32[2]"),
        ("f32[...]", "f32[2,n]", "f32[2,n]"),
        ("f32[a,3]", "f32[2,b]", "f32[2,3]"),
        ("f32[a,3]", "f32[2]", "f32[a,3]"),
        ("f32[2]", "f32[3]", "f32[2]"),
        ("f32[a]", "i64[2]", "f32[a]"),
        ("seq(f32[...])", "seq(f32[2])", "seq(f32[2])"),
    ],
)
def test_the_record_says_only_what_the_rules_leave_open(
    inferred: str, recorded: str, together: str
) -> None:
    assert str(stated(parse_type(inferred), parse_type(recorded))) == together


def test_the_number_of_elements_of_an_open_tensor_is_a_product() -> None:
    made, facts = infer(
        parse_graph(
            """
            graph g(x: f32[N,3,M]) {
              n: i64[] = size(x)
              const one: i64[1] = literal(1)
              s: i64[1] = reshape(n, one)
              y: f32[3*M*N] = reshape(x, s)
              return y
            }
            """
        )
    )
    assert facts.known["n"].shape == ()
    assert str(facts.known["n"].item()) == "3*(M*N)"
    assert str(made.nodes[-1].type) == "f32[3*(M*N)]"


def test_an_error_of_a_type_rule_tells_what_the_operands_are() -> None:
    made = model(
        [node("MatMul", ["x", "w"], ["y"])],
        [value("x", (2, 3)), value("w", (4, 5))],
        [value("y", (2, 5))],
    )
    with pytest.raises(CompileError) as caught:
        compiler.load(made.SerializeToString())
    assert caught.value.code == "E-OP-SHAPE"
    assert caught.value.notes == ("x is f32[2,3]; w is f32[4,5]",)
