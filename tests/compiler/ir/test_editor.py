"""Tests of the graph editor: correct use lists, and results in topological order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import compiler.ops
from compiler.errors import CompileError
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node
from compiler.ir.text import parse_graph
from compiler.ir.types import tensor
from compiler.ir.verify import verify
from compiler.ops.elementwise.activations import relu
from compiler.ops.elementwise.arithmetic import add

assert compiler.ops.__doc__


def graph() -> Graph:
    return parse_graph("""graph g(x: f32[2,3]) {
  const c: f32[3] = literal(1.0,2.0,3.0)
  a: f32[2,3] = add(x, c)
  b: f32[2,3] = relu(a)
  y: f32[2,3] = mul(b, a)
  return y, second=b
}""")


def test_nothing_changed_gives_an_equal_graph() -> None:
    assert Editor(graph()).graph() == graph()


def test_uses_count_nodes_and_results() -> None:
    e = Editor(graph())
    assert (e.n_uses("a"), e.n_uses("b"), e.n_uses("y")) == (2, 2, 1)
    assert [n.name for n in e.users("a")] == ["b", "y"]
    assert e.producer("a") is graph_node(e, "a")
    assert e.producer("x") is None


def graph_node(e: Editor, name: str) -> Node:
    return next(n for n in e.nodes() if n.output == name)


def test_a_replaced_value_is_read_nowhere_and_results_keep_their_names() -> None:
    e = Editor(graph())
    e.replace("b", "a")
    assert e.n_uses("b") == 0
    removed = e.remove_unused(["b"])
    assert [n.name for n in removed] == ["b"]
    g = e.graph()
    verify(g)
    assert [(r.name, r.value) for r in g.results] == [("y", "y"), ("second", "a")]
    assert g.node("y").inputs == ("a", "a")


def test_a_replacement_of_another_type_is_a_bug() -> None:
    e = Editor(graph())
    with pytest.raises(AssertionError, match=r"f32\[2,3\]"):
        e.replace("b", "c")


def test_a_value_that_is_read_cannot_be_removed() -> None:
    e = Editor(graph())
    with pytest.raises(AssertionError, match="still read"):
        e.remove(graph_node(e, "a"))


def test_a_call_of_calls_becomes_nodes_with_the_right_origins() -> None:
    e = Editor(graph())
    made = e.build(relu(add(e.tensor("x"), np.float32(2))), hint="z", origins=("m0", "m1"))
    e.replace("y", made)
    e.remove_unused(["y"])
    g = e.graph()
    verify(g)
    assert [n.op for n in e.made] == ["add", "relu"]
    assert all(n.origins == ("m0", "m1") for n in e.made)
    assert g.results[0].name == "y"
    assert g.results[0].value == made == "z"


def test_new_names_are_never_taken_ones() -> None:
    e = Editor(graph())
    assert e.fresh("new") == "new"
    assert len({e.fresh("a") for _ in range(5)} | {"a", "b", "c", "x", "y"}) == 10


def test_unread_constants_do_not_come_out() -> None:
    e = Editor(graph())
    e.add_constant(np.ones(3, np.float32), "unread")
    assert set(e.graph().constants) == {"c"}


def test_inserted_nodes_are_put_in_order() -> None:
    e = Editor(graph())
    late = e.build(relu(e.tensor("x")), hint="late")
    a = graph_node(e, "a")
    e.update(a, replace(a, inputs=(late, "c")))
    g = e.graph()
    verify(g)
    names = [n.output for n in g.nodes]
    assert names.index("late") < names.index("a")


def test_a_circle_is_refused() -> None:
    e = Editor(graph())
    a = graph_node(e, "a")
    e.update(a, replace(a, inputs=("b", "c")))
    with pytest.raises(CompileError) as error:
        e.graph()
    assert error.value.code == "E-GRAPH-CYCLE"


def test_a_node_settled_becomes_a_constant_under_its_name() -> None:
    from compiler.ir.constant import Constant

    e = Editor(graph())
    e.settle(graph_node(e, "b"), [Constant.splat(0.5, tensor("f32[2,3]"))])
    g = e.graph()
    verify(g)
    assert g.constants["b"].is_splat
    assert [n.output for n in g.nodes] == ["a", "y"]
