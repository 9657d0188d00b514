"""Motion of quantize and dequantize across data movement, which then moves bytes."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.ir.constant import Constant
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node
from compiler.ir.types import DType, TensorType
from compiler.passes.code_motion.moves import (
    earlier,
    exchange_all,
    grows,
    later,
    makers,
    moves_alone,
    only_reader,
)
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.step_kind import step_kind
from compiler.passes.rules.windows import empty_window
from compiler.trace import Log

BYTES = (DType.u8, DType.i8, DType.u16, DType.i16)
"""Quantized types of whole bytes."""


@graph_pass(
    aliases=("propagate_quantization",),
    known_as={"ONNX Runtime": "QDQPropagationTransformer"},
    needs=["constants"],
    example="""
    graph g(x: u8[2,3,4]) {
      const s: f32[] = literal(0.1)
      const z: u8[] = literal(130)
      d: f32[2,3,4] = dequantize(x, s, z, to=f32)
      t: f32[3,4,2] = transpose(d, perm=[1,2,0])
      y: f32[3,4,2] = exp(t)
      return y
    }
    =>
    graph g(x: u8[2,3,4]) {
      const s: f32[] = literal(0.1)
      const z: u8[] = literal(130)
      t.moved: u8[3,4,2] = transpose(x, perm=[1,2,0])
      t: f32[3,4,2] = dequantize(t.moved, s, z, to=f32)
      y: f32[3,4,2] = exp(t)
      return y
    }
    """,
    steps=[
        step_kind(
            "dequantize_later",
            "Move a dequantization after data movement, which then moves integers.",
            near_miss="""
            graph g(x: u8[2,3,4]) {
              const s: f32[] = literal(0.1)
              const z: u8[] = literal(130)
              d: f32[2,3,4] = dequantize(x, s, z, to=f32)
              y: f32[2,3,4] = exp(d)
              return y
            }
            """,
        ),
        step_kind(
            "quantize_earlier",
            "Move a quantization before data movement, which then moves integers.",
            example="""
            graph g(x: f32[2,3,4]) {
              const s: f32[] = literal(0.1)
              const z: u8[] = literal(130)
              t: f32[3,4,2] = transpose(x, perm=[1,2,0])
              q: u8[3,4,2] = quantize(t, s, z, to=u8, precision=f32)
              return q
            }
            =>
            graph g(x: f32[2,3,4]) {
              const s: f32[] = literal(0.1)
              const z: u8[] = literal(130)
              q.early: u8[2,3,4] = quantize(x, s, z, to=u8, precision=f32) @ q
              q: u8[3,4,2] = transpose(q.early, perm=[1,2,0]) @ t
              return q
            }
            """,
            near_miss="""
            graph g(x: f32[2,3,4]) {
              const s: f32[] = literal(0.1)
              const z: u8[] = literal(130)
              e: f32[2,3,4] = exp(x)
              q: u8[2,3,4] = quantize(e, s, z, to=u8, precision=f32)
              return q
            }
            """,
        ),
    ],
)
def propagate_qdq(graph: Graph, log: Log) -> Graph:
    """Move dequantize after data movement, and quantize before it.

    After the move, data movement copies bytes instead of floats, and adjacent quantize and
    dequantize nodes cancel. A maximum can also be taken over quantized integers, since quantization
    is monotonic. Results are bit-identical. Source: QDQPropagation of ONNX Runtime.
    """
    if not any(n.op in ("quantize", "dequantize") for n in graph.nodes):
        return graph
    return exchange_all(graph, log, _down, _up)


def _down(ed: Editor, log: Log, value: str) -> bool:
    """Dequantize the result of a data-movement node instead of the operands."""
    node = ed.producer(value)
    made = None if node is None else makers(ed, node, "dequantize")
    if node is None or made is None:
        return False
    objection = _objection(ed, node, made)
    if not log.may("dequantize_later", value, objection, [*made, node]):
        return False
    axis = _moved_axis(ed, made[0], node)
    later(ed, log, "dequantize_later", node, made, axis=axis)
    return True


def _up(ed: Editor, log: Log, value: str) -> bool:
    """Quantize the operand of a data-movement node instead of the result."""
    node, after = ed.producer(value), only_reader(ed, value, "quantize")
    if node is None or after is None:
        return False
    objection = _objection_up(ed, node, after)
    if not log.may("quantize_earlier", value, objection, [node, after]):
        return False
    earlier(ed, log, "quantize_earlier", node, after)
    return True


def _objection(ed: Editor, node: Node, made: list[Node]) -> str:
    """Return the reason against dequantizing a result instead of the operands, or ""."""
    first = made[0]
    if _codes_of(ed, first) not in BYTES:
        return f"{_codes_of(ed, first)} elements are not whole bytes, or not smaller than floats"
    for m in made:
        if not moves_alone(ed, m):
            return f"{m.output} has other readers, so it would be dequantized twice"
        if _codes_of(ed, m) is not _codes_of(ed, first) or not _same_steps(ed, m, first):
            return f"{m.output} and {first.output} have different scales or zero points"
    sizes = [ed.type(m.output) for m in made]
    if not all(isinstance(t, TensorType) and t.is_ranked for t in (*sizes, node.type)):
        return f"the rank of {node.inputs[0]} is not known"
    if any(not t.layout.is_plain for t in (*sizes, node.tensor) if isinstance(t, TensorType)):
        return "layouts are assigned already"
    if first.attrs["block_size"]:
        return f"each block of {first.attrs['block_size']} elements has a separate scale"
    if not _is_single(ed, first) and node.op != "transpose":
        return f"there is a scale per index along axis {first.attrs['axis']}"
    if grows(ed, node):
        return f"{node.output} has more elements than {node.inputs[0]}"
    return _objection_to_pool(ed, node, first) if node.op == "max_pool" else ""


def _objection_up(ed: Editor, node: Node, after: Node) -> str:
    t = ed.type(node.inputs[0])
    if not isinstance(t, TensorType) or not t.is_ranked or not node.tensor.is_ranked:
        return f"the rank of {node.inputs[0]} is not known"
    if not t.layout.is_plain or not node.tensor.layout.is_plain:
        return "layouts are assigned already"
    if not _is_single(ed, after) or after.attrs["block_size"]:
        return f"there is a scale per index along axis {after.attrs['axis']}"
    if after.tensor.dtype not in BYTES or not t.dtype.is_float:
        return f"{after.tensor.dtype} elements are not whole bytes, or not smaller than {t.dtype}"
    return ""


def _objection_to_pool(ed: Editor, node: Node, first: Node) -> str:
    """Return the reason against a maximum over integers (negative scales, empty windows), or ""."""
    scale = ed.constant(first.inputs[1])
    if scale is None or not bool((scale.array() > 0).all()):
        return f"the scale {first.inputs[1]} is not known to be positive"
    return empty_window(node.attrs)


def _same_steps(ed: Editor, a: Node, b: Node) -> bool:
    """Whether two nodes have equal scales and zero points."""
    if dict(a.attrs) != dict(b.attrs) or len(a.inputs) != len(b.inputs):
        return False
    pairs = zip(a.inputs[1:], b.inputs[1:], strict=True)
    return all(x == y or _same_constant(ed.constant(x), ed.constant(y)) for x, y in pairs)


def _same_constant(a: Constant | None, b: Constant | None) -> bool:
    return a is not None and b is not None and a.type == b.type and a.storage == b.storage


def _is_single(ed: Editor, node: Node) -> bool:
    """Whether a node has a single scale and zero point per tensor."""
    return all(t.is_static and t.n_elements == 1 and t.rank <= 1 for t in _parameters(ed, node))


def _parameters(ed: Editor, node: Node) -> Iterator[TensorType]:
    for name in filter(None, node.inputs[1:]):
        t = ed.type(name)
        assert isinstance(t, TensorType)
        yield t if t.is_ranked else TensorType(t.dtype, (2,))


def _moved_axis(ed: Editor, first: Node, node: Node) -> int:
    """Return the axis of the scales after a data-movement node."""
    axis = first.attrs["axis"]
    if node.op != "transpose" or _is_single(ed, first):
        return axis
    return tuple(node.attrs["perm"]).index(axis % node.tensor.rank)


def _codes_of(ed: Editor, node: Node) -> DType:
    t = ed.type(node.inputs[0])
    assert isinstance(t, TensorType)
    return t.dtype
