"""Tests of the numpy evaluation of a graph, and of the check of inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.errors import CompileError
from compiler.ir.text import parse_graph
from compiler.reference import check_inputs, reference, sizes_apart

G = parse_graph("""graph g(x: f32[N,3], i: i64[N]) {
  const two: f32[] = literal(2.0)
  a: f32[N,3] = mul(x, two)
  b: f32[N,3] = relu(a)
  c: f32[N,3] = add(a, b)
  return last=c, first=x, again=c
}""")
X = np.array([[1, -2, 3]], np.float32)
I = np.array([0])  # noqa: E741


def test_results_come_by_name_in_graph_order() -> None:
    got = reference(G, {"i": I, "x": X})
    assert list(got) == ["last", "first", "again"]
    np.testing.assert_array_equal(got["last"], [[4, -4, 12]])
    np.testing.assert_array_equal(got["first"], X)


def test_values_in_between_are_kept_when_asked_for() -> None:
    got = reference(G, {"x": X, "i": I}, keep=["b", "x"])
    assert list(got) == ["last", "first", "again", "b", "x"]
    np.testing.assert_array_equal(got["b"], [[2, 0, 6]])
    with pytest.raises(CompileError) as caught:
        reference(G, {"x": X, "i": I}, keep=["nothing"])
    assert caught.value.code == "E-INPUT-NAME"


def test_values_are_freed_after_their_last_use() -> None:
    assert G.last_uses == (("x", "two"), (), ("a", "b", "c"))


def test_lists_and_numbers_become_arrays() -> None:
    got = check_inputs(G, {"x": [[1, 2, 3]], "i": (4,)})
    assert (got["x"].dtype, got["i"].dtype) == (np.float32, np.int64)
    assert list(got) == ["x", "i"]


def test_a_name_with_two_sizes_is_told() -> None:
    assert sizes_apart(G, {"x": X, "i": I}) == ""
    assert sizes_apart(G, {"x": X, "i": np.array([0, 1])}) == "N"


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({"x": X}, "E-INPUT-NAME"),
        ({"x": X, "i": I, "z": I}, "E-INPUT-NAME"),
        ({"x": X[0], "i": I}, "E-INPUT-SHAPE"),
        ({"x": X[:, :2], "i": I}, "E-INPUT-SHAPE"),
        ({"x": X, "i": np.array([[0], [1]])}, "E-INPUT-SHAPE"),
        ({"x": [[1, 2, 3], [1]], "i": I}, "E-INPUT-SHAPE"),
        ({"x": X.astype(np.float64), "i": I}, "E-INPUT-DTYPE"),
        ({"x": X, "i": [0.5]}, "E-INPUT-DTYPE"),
        ({"x": [["a", "b", "c"]], "i": I}, "E-INPUT-DTYPE"),
        ({"x": X, "i": None}, "E-INPUT-DTYPE"),
        ({"x": X, "i": [2**70]}, "E-INPUT-DTYPE"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(inputs: dict[str, Any], code: str) -> None:
    with pytest.raises(CompileError) as caught:
        check_inputs(G, inputs)
    assert caught.value.code == code
    assert caught.value.hint


def test_sequences_and_optionals_are_checked_inside() -> None:
    g = parse_graph(
        "graph g(s: seq(f32[K]), o: optional(f32[2]), t: string[2]) {\n  return s, o, t\n}"
    )
    fine = {"s": [np.ones(2, np.float32), np.ones(3, np.float32)], "o": None, "t": ["a", "b"]}
    got = reference(g, fine)
    assert got["o"] is None
    assert [a.size for a in got["s"]] == [2, 3]
    assert got["t"].dtype == object
    for name, wrong in (("s", np.ones(2)), ("s", [np.ones((2, 2), np.float32)]), ("o", [1.5])):
        with pytest.raises(CompileError) as caught:
            check_inputs(g, {**fine, name: wrong})
        assert caught.value.code in ("E-INPUT-DTYPE", "E-INPUT-SHAPE")


def test_what_a_node_cannot_compute_names_the_node() -> None:
    g = parse_graph("""graph g(x: f32[3], i: i64[1]) {
  y: f32[1] = gather(x, i, axis=0) @ pick
  return y
}""")
    with pytest.raises(CompileError) as caught:
        reference(g, {"x": np.ones(3, np.float32), "i": np.array([5])})
    assert caught.value.code == "E-RUN-OPERATOR"
    assert caught.value.where.node == "pick"


def test_more_memory_than_the_machine_has_is_refused_before_it_is_asked_for() -> None:
    g = parse_graph("""graph g(x: f32[1]) {
  const n: i64[2] = literal(1073741824,1073741824)
  a: f32[1073741824,1073741824] = expand(x, n)
  y: f32[1073741824,1073741824] = relu(a)
  return y
}""")
    with pytest.raises(CompileError) as caught:
        reference(g, {"x": np.ones(1, np.float32)})
    assert caught.value.code == "E-RUN-MEMORY"
    assert caught.value.where.node == "y"
