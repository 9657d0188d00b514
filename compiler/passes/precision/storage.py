"""The values between kernels to store in lower precision, and the reasons against others."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field

from compiler.dataclass import dataclass
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import OPERATORS, with_trait
from compiler.ir.types import DType, TensorType
from compiler.passes.fusion.kinds import is_lowerable
from compiler.passes.precision.products import inner_nodes, products_of

VIEWS = with_trait("aliasing")
"""Operators whose result shares the memory, and thus the element type, of their operand."""

MOVES = VIEWS | with_trait("copying")
"""Operators that copy elements without interpreting them."""

_CODE = ("elementwise", "contraction", "reduction", "movement")


@dataclass(slots=True)
class Storage:
    """The values of a graph stored in lower precision, and the reasons against other values.

    The candidates are operands of products, and values on paths between two products. Values on no
    path to a product (scores, boxes, results) keep their types.
    """

    graph: Graph
    products: Mapping[str, Collection[str]]
    """The products with rounded operands, by kernel."""
    narrow: set[str] = field(default_factory=set)
    declined: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        behind, before, read = self._behind(), self._before(), self._read_by_products()
        for node in self.graph.nodes:
            for v in node.values():
                if not _is_f32(v.type) or v.name not in before:
                    continue
                if v.name not in behind and v.name not in read:
                    continue
                reason = self._objection(node, v.name)
                if reason:
                    self.declined[v.name] = reason
                else:
                    self.narrow.add(v.name)
        while self._settle():
            pass

    def refuse(self, value: str) -> None:
        """Keep a value, and the values that share its memory, in f32."""
        self.narrow.discard(value)
        while self._settle():
            pass

    def _behind(self) -> set[str]:
        """Return the values that depend on a product."""
        found: set[str] = set()
        for node in self.graph.nodes:
            if self._is_product(node) or any(i in found for i in node.reads):
                found.update(filter(None, node.outputs))
        return found

    def _before(self) -> set[str]:
        """Return the values on which a product depends."""
        found: set[str] = set()
        for node in reversed(self.graph.nodes):
            if self._is_product(node) or any(o in found for o in node.outputs):
                found.update(node.reads)
                found.update(v.name for v in node.values() if not self._is_read(v.name))
        return found

    def _is_read(self, value: str) -> bool:
        return value in self.graph.users or value in self.graph.result_values

    def _is_product(self, node: Node) -> bool:
        return bool(self.products.get(node.output)) or any(products_of(node))

    def _read_by_products(self) -> set[str]:
        """Return the values that products read directly."""
        return {v for n in self.graph.nodes for v in product_operands(n, self.products)}

    def _objection(self, maker: Node, value: str) -> str:
        if value in self.graph.result_values:
            return f"{value} is a result of the graph, which keeps its type"
        for node in (maker, *self.graph.users.get(value, ())):
            reason = self._unfit(node)
            if reason:
                return reason
        return ""

    def _unfit(self, node: Node) -> str:
        """Return the reason that a kernel can only read and write f32, or "" if there is none."""
        if any(n.op == "attention" for n in inner_nodes(node)):
            return f"attention {node.output} is a single kernel with f32 products"
        if node.op in MOVES or node.op == "fusion":
            return ""
        if is_lowerable(node) and OPERATORS[node.op].kind in _CODE:
            return ""
        return f"{node.op} {node.output} runs separately, in f32"

    def _settle(self) -> bool:
        """Keep operands and results of views and splits in f32 unless all can be stored as bf16."""
        for node in self.graph.nodes:
            if not (node.op in VIEWS or (node.op in MOVES and len(node.outputs) > 1)):
                continue
            values = [*self.moved(node), *filter(None, node.outputs)]
            wide = [v for v in values if v not in self.narrow]
            if wide and len(wide) < len(values):
                for v in self.narrow & set(values):
                    self.narrow.discard(v)
                    self.declined[v] = f"{node.op} requires the same type for {node.output}"
                    self.declined[v] += f", and {wide[0]} stays f32"
                return True
        return False

    def moved(self, node: Node) -> list[str]:
        """Return the f32 operands of a data movement node; its results contain their elements."""
        return [i for i in node.inputs if i and _is_f32(self.graph.types[i])]

    def moves_bits(self, node: Node) -> bool:
        """Whether a kernel copies lower-precision elements without conversion."""
        if not all(n.op in MOVES for n in inner_nodes(node)):
            return False
        moved = [i for i in self.moved(node) if i not in self.graph.constants]
        return bool(moved) and all(v in self.narrow for v in (*moved, *filter(None, node.outputs)))


def product_operands(node: Node, products: Mapping[str, Collection[str]]) -> dict[str, None]:
    """Return a kernel's operands that only products with rounded operands read, in order."""
    chosen = products.get(node.output, ())
    if node.op != "fusion":
        return dict.fromkeys(node.inputs[:2]) if chosen else {}
    body = node.regions["body"]
    read: dict[str, None] = {}
    others: set[str] = set(body.result_values)
    for n in body.nodes:
        if n.output in chosen:
            read.update(dict.fromkeys(n.inputs[:2]))
            others.update(n.inputs[2:])
        else:
            others.update(n.inputs)
    outer = {v.name: i for v, i in zip(body.inputs, node.inputs, strict=True)}
    return {outer[v]: None for v in read if v in outer and v not in others}


def _is_f32(t: object) -> bool:
    return isinstance(t, TensorType) and t.is_ranked and t.dtype is DType.f32
