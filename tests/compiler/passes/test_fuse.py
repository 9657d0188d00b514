"""Tests of fusion: nodes that share a kernel, and reasons for separate kernels."""

from __future__ import annotations

import pytest

from compiler.ir.graph import Graph, all_nodes
from compiler.ir.verify import verify
from compiler.passes import PASSES
from compiler.trace import Log
from tests.compiler.passes.numbers import (
    applied,
    assert_same_results,
    declined,
    graph,
    random_inputs,
)


def fuse(text: str, **options: object) -> tuple[list[str], Log, Graph]:
    """Return the kernels as text, such as `c: matmul add relu`."""
    g = graph(text)
    log = Log()
    after = PASSES["fuse"].run(g, log, **options)
    verify(after)
    assert_same_results(g, after, random_inputs(g), error=0)
    kernels = []
    for n in after.nodes:
        body = n.regions["body"].nodes if n.op == "fusion" else [n]
        kernels.append(f"{n.output}: {' '.join(i.op for i in body)}")
    return kernels, log, after


def why(log: Log, took: tuple[str, str]) -> str:
    """Return the reason why two nodes were not fused."""
    (reason,) = [s.because for s in log.steps if s.outcome == "declined" and s.took == took]
    return reason


def test_a_product_takes_bias_residual_and_activation() -> None:
    kernels, log, after = fuse(
        """
        graph g(x: f32[2,3], w: f32[3,5], r: f32[2,5]) {
          const b: f32[5] = literal(1.0,2.0,3.0,4.0,5.0)
          a: f32[2,5] = matmul(x, w) <- one
          c: f32[2,5] = add(a, b) <- two
          d: f32[2,5] = add(r, c) <- three, four
          e: f32[2,5] = relu(d) <- five
          return e
        }
        """
    )
    assert kernels == ["e: matmul add add relu"]
    (node,) = after.nodes
    assert node.attrs["kind"] == "contraction"
    assert node.origins == ("one", "two", "three", "four", "five")
    (step,) = log.steps
    assert step.because == (
        "4 nodes in one kernel (matmul, add, add, relu); saves 240 B of traffic"
    )
    assert (step.took, step.made) == (("a", "c", "d", "e"), ("e",))


def test_a_value_that_is_read_twice_inside_the_group_does_not_leave_it() -> None:
    kernels, _, _ = fuse(
        """
        graph g(x: f32[2,3], w: f32[3,5]) {
          a: f32[2,5] = matmul(x, w)
          s: f32[2,5] = sigmoid(a)
          t: f32[2,5] = tanh(a)
          m: f32[2,5] = mul(s, t)
          y: f32[2,5] = add(m, a)
          return y
        }
        """
    )
    assert kernels == ["y: matmul sigmoid tanh mul add"]


def test_a_value_with_another_reader_is_stored() -> None:
    kernels, log, _ = fuse(
        """
        graph g(x: f32[2,3], w: f32[3,5]) {
          a: f32[2,5] = matmul(x, w)
          b: f32[2,5] = relu(a)
          c: f32[5,2] = transpose(a, perm=[1,0])
          return b, c
        }
        """
    )
    assert kernels == ["a: matmul", "b: relu", "c: transpose"]
    assert why(log, ("a", "b")) == "a is also used by c, so it has to be stored"
    assert why(log, ("a", "c")).startswith("transpose c copies elements to other positions")


def test_of_many_other_readers_three_are_named() -> None:
    _, log, _ = fuse(
        """
        graph g(x: f32[2,3], w: f32[3,5]) {
          a: f32[2,5] = matmul(x, w)
          b: f32[2,5] = relu(a)
          c: f32[5,2] = transpose(a, perm=[1,0])
          d: f32[5,2] = transpose(a, perm=[1,0])
          e: f32[2,2] = matmul(a, c)
          f: f32[2,2] = matmul(a, d)
          h: f32[2,2] = sub(e, f)
          return b, h
        }
        """
    )
    reason = "a is also used by c, d, e and 1 more, so it has to be stored"
    assert why(log, ("a", "b")) == reason


def test_a_result_is_stored() -> None:
    kernels, log, _ = fuse(
        """
        graph g(x: f32[2,3], w: f32[3,5]) {
          a: f32[2,5] = matmul(x, w)
          b: f32[2,5] = relu(a)
          c: f32[2,5] = neg(b)
          return c, b, a
        }
        """
    )
    assert kernels == ["a: matmul", "b: relu", "c: neg"]
    assert why(log, ("a", "b")) == "a is also a result of the graph, so it has to be stored"


@pytest.mark.parametrize("inner", ["s", "t"])
def test_a_result_inside_a_diamond_keeps_the_diamond_apart(inner: str) -> None:
    kernels, _, _ = fuse(
        f"""
        graph g(x: f32[2,3], w: f32[3,5]) {{
          a: f32[2,5] = matmul(x, w)
          s: f32[2,5] = sigmoid(a)
          t: f32[2,5] = tanh(a)
          m: f32[2,5] = mul(s, t)
          return m, {inner}
        }}
        """
    )
    other = "t: tanh" if inner == "s" else "s: sigmoid"
    assert kernels[0] == "a: matmul"
    assert f"m: {other[3:]} mul" in kernels


def test_the_shape_of_the_anchor_must_stay() -> None:
    kernels, log, _ = fuse(
        """
        graph g(x: f32[1,3], w: f32[3,5], r: f32[4,5]) {
          a: f32[1,5] = matmul(x, w)
          b: f32[4,5] = add(a, r)
          return b
        }
        """
    )
    assert kernels == ["a: matmul", "b: add"]
    assert why(log, ("a", "b")) == "the shapes differ: f32[1,5] is broadcast to f32[4,5]"


def test_elements_of_an_epilogue_take_as_many_bytes_while_computed_as_those_of_the_anchor() -> None:
    text = """
        graph g(x: f32[1,3], w: f32[3,5]) {{
          a: f32[1,5] = matmul(x, w)
          b: {to}[1,5] = cast(a, to={to})
          return b
        }}
        """
    kernels, log, _ = fuse(text.format(to="f64"))
    assert kernels == ["a: matmul", "b: cast"]
    differ = "the element types differ in size: f32[1,5] becomes f64[1,5]"
    assert why(log, ("a", "b")) == differ
    for to in ("f16", "u8", "i32", "bool"):
        assert fuse(text.format(to=to))[0] == ["b: matmul cast"]


def test_of_two_products_that_are_added_the_later_takes_the_sum() -> None:
    kernels, log, _ = fuse(
        """
        graph g(x: f32[2,3], w: f32[3,5], v: f32[3,5]) {
          a: f32[2,5] = matmul(x, w)
          b: f32[2,5] = matmul(x, v)
          c: f32[2,5] = add(a, b)
          d: f32[2,5] = relu(c)
          return d
        }
        """
    )
    assert kernels == ["a: matmul", "d: matmul add relu"]
    assert "matmul b and c already form one kernel" in why(log, ("a", "c"))


def test_a_path_around_the_group_does_not_close_a_cycle() -> None:
    kernels, log, _ = fuse(
        """
        graph g(x: f32[5,5], w: f32[5,5]) {
          a: f32[5,5] = matmul(x, w)
          t: f32[5,5] = transpose(a, perm=[1,0])
          b: f32[5,5] = add(a, t)
          c: f32[5,5] = relu(b)
          return c
        }
        """
    )
    assert kernels == ["a: matmul", "t: transpose", "c: add relu"]
    assert "a is also used by t," in why(log, ("a", "b"))


def test_elementwise_nodes_in_front_of_a_product_stay_outside() -> None:
    kernels, log, _ = fuse(
        """
        graph g(x: f32[2,3], w: f32[3,5]) {
          a: f32[2,3] = relu(x)
          b: f32[2,5] = matmul(a, w)
          return b
        }
        """
    )
    assert kernels == ["a: relu", "b: matmul"]
    assert "recompute the operand for each tile" in why(log, ("a", "b"))


def test_a_reduction_takes_what_is_before_and_behind_it() -> None:
    kernels, _, after = fuse(
        """
        graph g(x: f32[2,3], y: f32[3]) {
          a: f32[2,3] = mul(x, y)
          b: f32[2,3] = exp(a)
          c: f32[2,3] = add(a, b)
          d: f32[2] = reduce_sum(c, axes=[1], keepdims=false)
          e: f32[2] = sqrt(d)
          return e
        }
        """
    )
    assert kernels == ["e: mul exp add reduce_sum sqrt"]
    assert after.nodes[0].attrs["kind"] == "reduction"


def test_what_stands_between_a_product_and_a_reduction_goes_to_the_product() -> None:
    kernels, log, _ = fuse(
        """
        graph g(x: f32[2,3], w: f32[3,5]) {
          a: f32[2,5] = matmul(x, w)
          b: f32[2,5] = relu(a)
          c: f32[2] = reduce_max(b, axes=[1], keepdims=false)
          return c
        }
        """
    )
    assert kernels == ["b: matmul relu", "c: reduce_max"]
    assert "a kernel holds one contraction or reduction" in why(log, ("b", "c"))


POOL = """
graph g(x: f32[1,3,8,8]) {
  a: f32[1,3,8,8] = %s(x)
  b: f32[1,3,4,4] = max_pool(a, kernel=[%d,%d], strides=[2,2], pads=[0,0,%d,%d], dilations=[1,1])
  c: f32[1,3,4,4] = neg(b)
  return c
}
"""


@pytest.mark.parametrize(
    ("op", "kernel", "expected"),
    [
        ("relu", 2, ["c: relu max_pool neg"]),
        ("exp", 2, ["c: exp max_pool neg"]),
        ("relu", 3, ["c: relu max_pool neg"]),
        ("exp", 3, ["a: exp", "c: max_pool neg"]),
    ],
)
def test_dear_nodes_are_not_repeated_in_windows_that_overlap(
    op: str, kernel: int, expected: list[str]
) -> None:
    kernels, log, _ = fuse(POOL % (op, kernel, kernel, kernel - 2, kernel - 2))
    assert kernels == expected
    if len(expected) == 2:
        assert why(log, ("a", "b")) == (
            "exp is expensive, and max_pool would compute it 2.25 times per element"
        )


def test_elementwise_nodes_form_groups_with_diamonds() -> None:
    kernels, _, after = fuse(
        """
        graph g(x: f32[2,3], y: f32[3]) {
          a: f32[2,3] = add(x, y)
          b: f32[2,3] = exp(a)
          c: f32[2,3] = neg(a)
          d: f32[2,3] = mul(b, c)
          e: bool[2,3] = less(d, x)
          f: f32[2,3] = where(e, d, y)
          return f
        }
        """
    )
    assert kernels == ["f: add exp neg mul less where"]
    assert after.nodes[0].attrs["kind"] == "elementwise"


def test_a_smaller_operand_is_computed_once_outside() -> None:
    kernels, log, _ = fuse(
        """
        graph g(x: f32[2,3], y: f32[3]) {
          a: f32[3] = exp(y)
          b: f32[2,3] = mul(x, a)
          c: f32[2,3] = relu(b)
          return c
        }
        """
    )
    assert kernels == ["a: exp", "c: mul relu"]
    assert "the shapes differ" in why(log, ("a", "b"))


COPY = """
graph g(x: f32[20,30]) {
  p: f32[20,30] = %s
  t: f32[20,30] = exp(x)
  q: f32[20,30] = neg(p)
  r: f32[20,30] = sqrt(p)
  a: f32[30,20] = transpose(q, perm=[1,0])
  b: f32[30,20] = transpose(r, perm=[1,0])
  return a, b, t
}
"""


def test_a_cheap_node_is_computed_in_each_group_that_reads_it() -> None:
    kernels, log, after = fuse(COPY % "relu(x)")
    assert kernels == ["t: exp", "q: relu neg", "r: relu sqrt", "a: transpose", "b: transpose"]
    assert applied(log.steps)[0] == "copy_cheap_producer"
    assert "computed in each of its 2 readers; saves 4.8 kB" in log.steps[0].because
    relus = [n for n in all_nodes(after) if n.op == "relu"]
    assert [n.origins for n in relus] == [("p",), ("p",)]
    kernels, _, _ = fuse(COPY % "relu(x)", duplicate=False)
    assert "p: relu" in kernels


def test_a_dear_node_is_not_copied() -> None:
    kernels, log, _ = fuse(COPY % "tanh(x)")
    assert "p: tanh" in kernels
    assert "copy_cheap_producer" not in applied(log.steps)


def test_a_node_that_reads_more_than_it_saves_is_not_copied() -> None:
    kernels, log, _ = fuse(
        """
        graph g(x: f32[20,30], y: f32[20,30], z: f32[20,30]) {
          c: bool[20,30] = less(x, z)
          p: f32[20,30] = where(c, x, y)
          q: f32[20,30] = neg(p)
          r: f32[20,30] = sqrt(p)
          s: f32[20,30] = exp(p)
          t: f32[20,30] = tanh(p)
          u: f32[20,30] = abs(p)
          return c, q, r, s, t, u
        }
        """
    )
    assert "p: where" in kernels
    assert "copy_cheap_producer" not in applied(log.steps)


def test_a_group_has_at_most_as_many_nodes_as_allowed() -> None:
    lines = "".join(f"t{i + 1}: f32[2,3] = tanh(t{i})\n" for i in range(10))
    kernels, log, _ = fuse(f"graph g(t0: f32[2,3]) {{ {lines} return t10 }}", max_nodes=4)
    assert [k.count("tanh") for k in kernels] == [2, 4, 4]
    assert any("is full, with 4 nodes" in s for s in declined(log.steps, "fuse"))


def test_opaque_nodes_and_those_of_open_rank_stay_alone_and_say_so() -> None:
    g = graph(
        """
        graph g(x: f32[4,4], y: f32[...]) {
          a: f32[4,4] = relu(x)
          d: f32[] = onnx.Det(a, opset=22)
          b: f32[...] = relu(y)
          c: f32[...] = neg(b)
          return c, d
        }
        """
    )
    log = Log()
    after = PASSES["fuse"].run(g, log)
    assert after is g
    assert why(log, ("a", "d")).startswith("onnx.Det is opaque")
    assert why(log, ("b", "c")) == "the rank of b is open: f32[...]"


def test_every_pair_that_is_not_fused_has_a_reason() -> None:
    text = """
    graph g(x: f32[2,3], w: f32[3,5]) {
      a: f32[2,3] = relu(x)
      b: f32[2,5] = matmul(a, w)
      c: f32[2,5] = softmax(b, axis=1)
      d: f32[5,2] = transpose(c, perm=[1,0])
      e: f32[2,5] = neg(c)
      f: f32[2,5] = exp(e)
      return d, f
    }
    """
    kernels, log, _ = fuse(text)
    assert kernels == ["a: relu", "b: matmul", "c: softmax", "d: transpose", "f: neg exp"]
    pairs = {s.took for s in log.steps if s.outcome == "declined"}
    assert pairs == {("a", "b"), ("b", "c"), ("c", "d"), ("c", "e")}


def test_policies_take_anchors_elementwise_nodes_only_or_nothing() -> None:
    text = """
    graph g(x: f32[2,3], w: f32[3,5]) {
      a: f32[2,5] = matmul(x, w)
      b: f32[2,5] = relu(a)
      c: f32[2,5] = neg(b)
      return c
    }
    """
    assert fuse(text)[0] == ["c: matmul relu neg"]
    kernels, log, _ = fuse(text, policy="elementwise")
    assert kernels == ["a: matmul", "c: relu neg"]
    assert "policy=elementwise" in why(log, ("a", "b"))
    assert fuse(text, policy="none")[0] == ["a: matmul", "b: relu", "c: neg"]


def test_fusing_again_leaves_groups_as_they_are() -> None:
    _, _, after = fuse(
        """
        graph g(x: f32[2,3], w: f32[3,5]) {
          a: f32[2,5] = matmul(x, w)
          b: f32[2,5] = relu(a)
          c: f32[2] = reduce_sum(b, axes=[1], keepdims=false)
          d: f32[2] = neg(c)
          return d
        }
        """
    )
    log = Log()
    assert PASSES["fuse"].run(after, log) is after
    assert "is a fused group already" in declined(log.steps, "fuse")[0]


def test_nodes_that_nobody_reads_are_fused_like_others() -> None:
    """Dead code may remain, because users can reorder and disable passes."""
    kernels, _, after = fuse(
        """
        graph g(x: f32[2,3], w: f32[3,5]) {
          dead: f32[2,3] = relu(x)
          deader: f32[2,3] = neg(dead)
          a: f32[2,5] = matmul(x, w)
          unread: f32[2,5] = exp(a)
          b: f32[2,5] = relu(a)
          twice: f32[2,5] = abs(b)
          return x
        }
        """
    )
    assert kernels == ["deader: relu neg", "twice: matmul exp relu abs"]
    assert {n.output for n in after.nodes} == {"deader", "twice"}


def weights_of(rows: int | str, axis: int, attrs: str = "") -> list[str]:
    """Return the kernels of a product with dequantized constant weights."""
    shape = "[40,64]" if "transpose" in attrs else "[64,40]"
    kernels, _, _ = fuse(f"""
        graph g(x: f32[{rows},64]) {{
          const q: i8{shape} = splat(3)
          const s: f32[{[64, 40][(axis + ("transpose" in attrs)) % 2]}] = splat(0.5)
          w: f32{shape} = dequantize(q, s, to=f32, axis={axis})
          y: f32[{rows},40] = matmul(x, w{attrs})
          return y
        }}
        """)
    return kernels


def test_weights_are_dequantized_in_the_product_where_that_pays() -> None:
    together, apart = ["y: dequantize matmul"], ["w: dequantize", "y: matmul"]
    assert weights_of(8, 1) == together
    assert weights_of("N", -1) == together
    assert weights_of(33, 1) == apart
    assert weights_of(500, 0, ", transpose_b=true") == together
    assert weights_of(8, 0) == apart  # a scale that varies along the summed axis
    assert weights_of(8, 1, ", transpose_b=true") == apart
