"""Conversion of quantized integers from i8 to u8, the unsigned operand of integer products."""

from __future__ import annotations

from dataclasses import field, replace

import numpy as np

from compiler.dataclass import dataclass
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node
from compiler.ir.types import DType, TensorType
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.quantization.codes import operand
from compiler.trace import Log

SHIFT = 128

RULE = "qdq_s8_to_u8"
MAKERS = ("quantize", "requantize")


@graph_pass(
    aliases=("unsigned_codes",),
    known_as={"ONNX Runtime": "QDQS8ToU8Transformer"},
    for_code=True,
    needs=["constants"],
    example="""
    graph g(x: f32[2,3]) {
      const s: f32[] = literal(0.1)
      const z: i8[] = literal(-3)
      q: i8[2,3] = quantize(x, s, z, to=i8, precision=f32)
      y: f32[2,3] = dequantize(q, s, z, to=f32)
      return y
    }
    =>
    graph g(x: f32[2,3]) {
      const s: f32[] = literal(0.1)
      const z.unsigned: u8[] = literal(125)
      q: u8[2,3] = quantize(x, s, z.unsigned, to=u8, precision=f32)
      y: f32[2,3] = dequantize(q, s, z.unsigned, to=f32)
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[2,3]) {
      const s: f32[] = literal(0.1)
      const z: i8[] = literal(-3)
      q: i8[2,3] = quantize(x, s, z, to=i8, precision=f32)
      return q
    }
    """,
)
def qdq_s8_to_u8(graph: Graph, log: Log) -> Graph:
    """Quantize to u8 instead of i8 if only dequantize nodes read the result.

    Quantized integers and zero points increase by 128, so the dequantized values stay the same.
    Instructions multiply an unsigned byte by a signed byte.
    """
    makers = [n for n in graph.nodes if n.op in MAKERS and n.attrs["to"] is DType.i8]
    if not makers:
        return graph
    change = _Change(Editor(graph), log)
    n_done = sum(change.apply(n) for n in makers)
    return change.ed.graph() if n_done else graph


@dataclass(slots=True)
class _Change:
    """An editor of a graph with a new u8 constant for each zero point."""

    ed: Editor
    log: Log
    zeros: dict[tuple[str, tuple[int, ...]], str] = field(default_factory=dict)

    def apply(self, node: Node) -> bool:
        """Change a node and its readers to u8; return whether the change was possible."""
        ed, readers = self.ed, self.ed.users(node.output)
        objection = self.objection(node, readers)
        if not self.log.may(RULE, node.output, objection, [node, *readers]):
            return False
        ed.made_constants.clear()
        unsigned = replace(node.tensor, dtype=DType.u8)
        made = replace(
            self.with_zero(node), types=(unsigned,), attrs={**node.attrs, "to": DType.u8}
        )
        ed.update(node, made)
        changed = [made]
        for reader in readers:
            changed.append(self.with_zero(reader))
            ed.update(reader, changed[-1])
        because = f"quantized integers and zero points increase by {SHIFT}: i8 becomes u8"
        new = [*changed, *ed.made_constants]
        self.log.applied(RULE, node.output, because, [node, *readers], new)
        return True

    def objection(self, node: Node, readers: list[Node]) -> str:
        """Return the reason that quantized integers must stay signed, or "" if there is none."""
        if self.ed.is_result(node.output):
            return f"{node.output} is a result of the graph, so its type is fixed"
        for n in (node, *readers):
            if n is not node and (n.op != "dequantize" or n.inputs[0] != node.output):
                return f"{n.op} reads the quantized integers directly"
            zero = operand(n, 2)
            if zero and self.ed.constant(zero) is None:
                return f"the zero point {zero} is not known at compile time"
            scale = self.ed.type(n.inputs[1])
            if not (isinstance(scale, TensorType) and scale.is_static):
                return f"the number of scales in {n.inputs[1]} is known only at run time"
        return ""

    def with_zero(self, node: Node) -> Node:
        """Return a node with a u8 zero point, 128 above the i8 zero point."""
        name, scale = operand(node, 2), self.ed.type(node.inputs[1])
        assert isinstance(scale, TensorType)
        zero = self.ed.constant(name) if name else None
        shape = scale.static_shape if zero is None else zero.type.static_shape
        key = (name, shape)
        if key not in self.zeros:
            old = np.zeros(shape, np.int16) if zero is None else zero.array().astype(np.int16)
            hint = f"{name or node.output}.unsigned"
            self.zeros[key] = self.ed.add_constant((old + SHIFT).astype(np.uint8), hint)
        return replace(node, inputs=(*node.inputs[:2], self.zeros[key]))
