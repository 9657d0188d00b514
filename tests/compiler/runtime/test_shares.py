"""Tests of dividing the time of a fused kernel among its ONNX nodes."""

from __future__ import annotations

from dataclasses import replace

import pytest

import compiler
from compiler.runtime.shares import origin_shares

WIDE = compiler.parse(
    """
    graph wide(x: f32[50,400], w: f32[400,300], b: f32[300]) {
      a: f32[50,300] = matmul(x, w) @ product
      c: f32[50,300] = add(a, b) @ bias
      y: f32[50,300] = relu(c) @ act
      return y
    }
    """
)


def shares_of(graph: compiler.Graph) -> dict[str, float]:
    program = compiler.compile(graph)
    (node,) = program.graph.nodes
    assert node.op == "fusion"
    return origin_shares(node, program.graph, graph)


def test_a_product_takes_nearly_all_of_what_is_fused_to_it() -> None:
    found = shares_of(WIDE)
    assert list(found) == ["product", "bias", "act"]
    assert sum(found.values()) == pytest.approx(1.0)
    # 12 MF and 0.56 MB against 15 kF and 1.2 kB, and 15 kF and the 60 kB of the result.
    assert found["product"] > 0.95
    assert found["bias"] < found["act"] < 0.05


def test_values_inside_are_free_and_those_at_the_border_are_not() -> None:
    chain = compiler.parse(
        """
        graph chain(x: f32[4000]) {
          a: f32[4000] = abs(x) @ first
          b: f32[4000] = neg(a) @ middle
          y: f32[4000] = relu(b) @ last
          return y
        }
        """
    )
    found = shares_of(chain)
    assert found["first"] == pytest.approx(found["last"])
    assert found["first"] > 3 * found["middle"] > 0


def test_work_of_several_onnx_nodes_is_divided_by_their_own_operations() -> None:
    imported = compiler.parse(
        """
        graph two(x: f32[30,20]) {
          a: f32[30,20] = exp(x) @ cheap
          t: f32[20,30] = transpose(x, perm=[1,0]) @ moved
          y: f32[30,30] = matmul(a, t) @ dear
          return y
        }
        """
    )
    program = compiler.compile(imported, pipeline="none")
    node = next(n for n in program.graph.nodes if n.op == "matmul")
    both = replace(node, origins=("cheap", "dear", "moved"))
    found = origin_shares(both, program.graph, imported)
    assert sum(found.values()) == pytest.approx(1.0)
    assert found["dear"] > 3 * found["cheap"] > 0
    assert "moved" not in found


def test_what_the_compiler_made_is_of_nobody() -> None:
    program = compiler.compile(WIDE, pipeline="none")
    nobodys = replace(program.graph.nodes[0], origins=())
    assert origin_shares(nobodys, program.graph, WIDE) == {}
