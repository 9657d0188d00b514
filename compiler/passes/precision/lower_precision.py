"""Lower-precision products: operands of contractions and values between products become bf16."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from typing import Literal

from compiler.compute.numbers import convert
from compiler.dataclass import dataclass
from compiler.ir.constant import Constant, Splat
from compiler.ir.graph import Graph, Node, names_inside
from compiler.ir.types import DType, TensorType, Type
from compiler.ops.fusion import fuse_nodes
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.step_kind import step_kind
from compiler.passes.fusion.kinds import is_lowerable
from compiler.passes.precision.kernels import (
    Body,
    casting,
    fresh,
    moved,
    retyped,
    with_body,
)
from compiler.passes.precision.products import inner_nodes, objection, products_of
from compiler.passes.precision.storage import Storage, product_operands
from compiler.trace import Log

ROUNDING = {"bf16": 2.0**-8}
"""Bound of the relative error of a rounding: half a unit in the last of 8 binary digits."""


@graph_pass(
    known_as={"TVM": "ToMixedPrecision"},
    for_code=True,
    needs=("fusion", "layouts"),
    error=ROUNDING["bf16"],
    example="""
    graph g(x: f32[64,16], r: f32[64,32]) {
      const w: f32[16,32] = splat(0.3)
      const v: f32[32,8] = splat(0.5)
      h: f32[64,32] = fusion(x, w, r, kind="contraction") {
        body: graph contraction(x: f32[64,16], w: f32[16,32], r: f32[64,32]) {
          m: f32[64,32] = matmul(x, w)
          a: f32[64,32] = add(m, r)
          h: f32[64,32] = relu(a)
          return h
        }
      }
      y: f32[64,8] = matmul(h, v)
      return y
    }
    =>
    graph g(x: f32[64,16], r: f32[64,32]) {
      const w.bf16: bf16[16,32] = splat(0.30078125)
      const v.bf16: bf16[32,8] = splat(0.5)
      x.bf16: bf16[64,16] = cast_flushed(x, to=bf16) <- h
      h: bf16[64,32] = fusion(x.bf16, w.bf16, r, kind="contraction") {
        body: graph contraction(x: bf16[64,16], w: bf16[16,32], r: f32[64,32]) {
          x.wide: f32[64,16] = cast(x, to=f32) <- h
          w.wide: f32[16,32] = cast(w, to=f32) <- h
          m: f32[64,32] = matmul(x.wide, w.wide)
          a: f32[64,32] = add(m, r)
          h: f32[64,32] = relu(a)
          h.bf16: bf16[64,32] = cast_flushed(h, to=bf16) <- h
          return h.bf16
        }
      }
      y: f32[64,8] = fusion(h, v.bf16, kind="contraction") {
        body: graph contraction(h: bf16[64,32], v: bf16[32,8]) {
          h.wide: f32[64,32] = cast(h, to=f32) <- y
          v.wide: f32[32,8] = cast(v, to=f32) <- y
          y: f32[64,8] = matmul(h.wide, v.wide)
          return y
        }
      }
      return y
    }
    """,
    steps=[
        step_kind(
            "round_operands",
            "Round the operands of a product to bf16; the sums stay f32.",
            near_miss="""
            graph g(x: f32[64,16], w: f32[64,16]) {
              y: f32[64,16] = mul(x, w)
              return y
            }
            """,
        ),
        step_kind(
            "store_rounded",
            "Store a value between products as bf16, in half the bytes.",
            near_miss="""
            graph g(x: f32[64,16]) {
              y: f32[64,16] = exp(x)
              z: f32[64,16] = softmax(y, axis=1)
              return z
            }
            """,
        ),
    ],
)
def lower_precision(graph: Graph, log: Log, *, to: Literal["bf16"] = "bf16") -> Graph:
    """Round operands of products to bf16 (8 binary digits); store values between products as bf16.

    Operands of matrix products and convolutions are rounded to bf16, constants at compile time.
    Products of two bf16 numbers are exact in f32, and accumulate in f32. A value that one kernel
    passes to another on a path between products is stored as bf16, in half the bytes. All other
    arithmetic inside kernels stays f32: sums, softmax, normalisation, activations. Inputs and
    results of the graph, and values on no path to a product (scores, boxes, lengths), keep their
    types. A rounding has a relative error of at most 2^-8, and on average a third of this bound.
    Denormal numbers become 0. Source: Kalamkar et al. 2019, "A study of BFLOAT16",
    arXiv:1905.12322.
    """
    chosen = _chosen_products(graph, log)
    if not any(chosen.values()):
        return graph
    storage = Storage(graph, chosen)
    _explain(storage, log)
    return _Writer(graph, log, DType.parse(to), chosen, storage).graph_after()


def _chosen_products(graph: Graph, log: Log) -> dict[str, list[str]]:
    """Return the products whose operands are rounded, by kernel; record reasons against others."""
    chosen: dict[str, list[str]] = {}
    for node in graph.nodes:
        types = node.regions["body"].types if node.op == "fusion" else graph.types
        for product in products_of(node):
            if _is_rounded(product, node):
                continue
            reason = objection(product, types.__getitem__)
            if not reason and node.op != "fusion" and not is_lowerable(node):
                reason = "the kernel has no generated code"
            if reason:
                log.declined("round_operands", node.output, reason, [node])
            elif log.may("round_operands", node.output):
                chosen.setdefault(node.output, []).append(product.output)
    return chosen


def _is_rounded(product: Node, node: Node) -> bool:
    """Whether the kernel casts both operands of a product from bf16."""
    makers = {o: n for n in inner_nodes(node) for o in n.outputs}
    body = node.regions["body"] if node.op == "fusion" else None
    for i in product.inputs[:2]:
        maker = makers.get(i)
        if body is None or maker is None or maker.op != "cast":
            return False
        t = body.types[maker.inputs[0]]
        if not isinstance(t, TensorType) or t.dtype is not DType.bf16:
            return False
    return True


def _explain(storage: Storage, log: Log) -> None:
    """Record steps for values that stay f32, and query the gate for other values."""
    for value in list(storage.narrow):
        if value in storage.narrow and not log.may("store_rounded", value):
            storage.refuse(value)
    for value, reason in storage.declined.items():
        log.declined("store_rounded", value, reason, [value])


@dataclass(slots=True)
class _Writer:
    """Rewrites the graph with rounded operands and lower-precision storage, node by node."""

    graph: Graph
    log: Log
    to: DType
    products: dict[str, list[str]]
    storage: Storage
    taken: set[str] = field(default_factory=set)
    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, Constant] = field(default_factory=dict)
    short: dict[str, str] = field(default_factory=dict)
    """The rounded copy of each f32 value: constants, inputs and results of the graph."""

    def __post_init__(self) -> None:
        self.taken = set(names_inside(self.graph))
        self.constants = dict(self.graph.constants)

    def graph_after(self) -> Graph:
        """Return the rewritten graph, without dead constants."""
        for node in self.graph.nodes:
            self.nodes.append(self._node(node))
        read = {i for n in self.nodes for i in n.reads} | self.graph.result_values
        constants = {k: c for k, c in self.constants.items() if k in read}
        return replace(self.graph, nodes=tuple(self.nodes), constants=constants)

    def _node(self, node: Node) -> Node:
        narrow = self.storage.narrow
        products = self.products.get(node.output, [])
        if not products and narrow.isdisjoint((*node.inputs, *node.outputs)):
            return node
        types = tuple(
            retyped(t, self.to) if o in narrow else t
            for o, t in zip(node.outputs, node.types, strict=True)
        )
        for o, t in zip(node.outputs, types, strict=True):
            if o in narrow:
                self._stored(node, o, t)
        if self.storage.moves_bits(node):
            constants = [i for i in self.storage.moved(node) if i in self.constants]
            renamed = {i: self._rounded(i, node) for i in constants}
            return moved(node, self.to).with_inputs(renamed)
        operands = {v: self._rounded(v, node) for v in self._operands(node)}
        for p in products:
            self._multiplied(node, p, operands)
        return self._kernel(node, operands, types, products)

    def _operands(self, node: Node) -> Iterator[str]:
        """Yield the f32 values that must be rounded before a kernel: operands of its products."""
        for v in product_operands(node, self.products):
            if v not in self.storage.narrow and _is_f32(self.graph.types[v]):
                yield v

    def _kernel(
        self, node: Node, operands: dict[str, str], types: tuple[Type, ...], products: list[str]
    ) -> Node:
        """Return a node as a kernel with conversions inside."""
        if node.op != "fusion":
            operator = "contraction" if products else "converting"
            node = replace(fuse_nodes(self.graph, [node], operator), name=node.name)
        body = node.regions["body"]
        outer = dict(zip([v.name for v in body.inputs], node.inputs, strict=True))
        comes = {v for v, o in outer.items() if o in operands or o in self.storage.narrow}
        goes = {
            r.value
            for r, o in zip(body.results, node.outputs, strict=True)
            if o in self.storage.narrow
        }
        made = Body(node, self.to).changed(comes, goes, products)
        return with_body(node, made, operands, types)

    def _rounded(self, value: str, reader: Node) -> str:
        """Return the rounded copy of an f32 value, created once."""
        if value not in self.short:
            name = self.short[value] = fresh(f"{value}.{self.to}", self.taken)
            c = self.graph.constants.get(value)
            if c is not None:
                self.constants[name] = rounded_constant(c, self.to)
            else:
                t = retyped(self.graph.types[value], self.to)
                maker = self.graph.producers.get(value, reader)
                self.nodes.append(casting(value, name, t, maker.origins))
        return self.short[value]

    def _multiplied(self, node: Node, product: str, operands: dict[str, str]) -> None:
        constants = [v for v in operands if v in self.graph.constants]
        saved = sum(self.graph.constants[v].type.nbytes // 2 for v in constants)
        stored = f"; saves {saved:,} bytes in {', '.join(constants)}" if constants else ""
        self.log.applied(
            "round_operands",
            node.output,
            f"{product} multiplies {self.to} numbers and accumulates in f32{stored}",
            [node, *constants],
            [node, *(operands[v] for v in constants)],
            error=2 * ROUNDING[str(self.to)],
        )

    def _stored(self, node: Node, value: str, t: Type) -> None:
        before = self.graph.types[value]
        assert isinstance(before, TensorType)
        saved = before.assumed.nbytes // 2
        self.log.applied(
            "store_rounded",
            value,
            f"stored as {t} between products: the write and each read save {saved:,} bytes",
            [node],
            [node],
            error=ROUNDING[str(self.to)],
        )


def rounded_constant(c: Constant, to: DType) -> Constant:
    """Round a constant to lower precision, and keep its storage."""
    if isinstance(c.storage, Splat):
        value = convert(c.array().reshape(-1)[:1], to)[0]
        return Constant(replace(c.type, dtype=to), Splat(value), c.origins)
    return Constant.of(convert(c.array(), to), to, c.origins)


def _is_f32(t: Type) -> bool:
    return isinstance(t, TensorType) and t.dtype is DType.f32
