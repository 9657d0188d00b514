"""Batching of matrix products in a loop: one product before the loop multiplies all slices."""

from __future__ import annotations

from dataclasses import replace

from compiler.dataclass import dataclass
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, Value, all_nodes
from compiler.ir.legality import first_illegal
from compiler.ir.operator import OPERATORS, Operand
from compiler.ir.types import TensorType
from compiler.ops.control_flow.control import entry, is_batched, n_scanned
from compiler.ops.control_flow.plain_scan import is_plain_scan
from compiler.ops.data_movement.concat import concat
from compiler.ops.linear_algebra.matmul import matmul
from compiler.ops.recurrent.steps import part, rows_product
from compiler.passes.engine.declaration import graph_pass
from compiler.passes.engine.rule import ROUNDINGS
from compiler.trace import Log


@graph_pass(
    aliases=("batch_products",),
    needs=["constants"],
    example="""
    graph g(x: f32[5,2,3], w: f32[3,4], a: f32[2,4]) {
      y: f32[2,4] = onnx.Scan(a, x, num_scan_inputs=1, opset=16) {
        body: graph body(s: f32[2,4], r: f32[2,3]) {
          p: f32[2,4] = matmul(r, w)
          t: f32[2,4] = add(s, p)
          return t
        }
      }
      return y
    }
    =>
    graph g(x: f32[5,2,3], w: f32[3,4], a: f32[2,4]) {
      const p.x.a.shape: i64[2] = literal(10,3)
      const p.shape: i64[3] = literal(5,2,4)
      p.x.a: f32[10,3] = reshape(x, p.x.a.shape, allowzero=true)
      p.x: f32[10,4] = matmul(p.x.a, w)
      p_2: f32[5,2,4] = reshape(p.x, p.shape, allowzero=true)
      y: f32[2,4] = onnx.Scan(a, p_2, num_scan_inputs=1, opset=16, scan_input_directions=[0]) {
        body: graph body(s: f32[2,4], p: f32[2,4]) {
          t: f32[2,4] = add(s, p)
          return t
        }
      }
      return y
    }
    """,
    near_miss="""
    graph g(x: f32[5,2,4], w: f32[4,4], a: f32[2,4]) {
      y: f32[2,4] = onnx.Scan(a, x, num_scan_inputs=1, opset=16) {
        body: graph body(s: f32[2,4], r: f32[2,4]) {
          p: f32[2,4] = matmul(s, w)
          t: f32[2,4] = add(r, p)
          return t
        }
      }
      return y
    }
    """,
)
def batch_loop_matmuls(graph: Graph, log: Log) -> Graph:
    """Replace one product per iteration with a single product before the loop.

    The weights are read once instead of once per iteration. If a product concatenates slices and
    states, only the slices are batched. Source: Appleyard et al. 2016 (arXiv:1604.01946), section
    3.3.
    """
    if not any(n.op == "onnx.Scan" for n in all_nodes(graph)):
        return graph
    ed = Editor(graph)
    n_batched = 0
    for node in graph.nodes:
        if node.op == "onnx.Scan" and not is_batched(node) and is_plain_scan(node):
            n_batched += _Batch(ed, node, log).run()
    return ed.graph() if n_batched else graph


@dataclass(frozen=True, slots=True)
class _Product:
    """A product in a loop body: its node, and the slices in its left operand.

    `parts` lists the concatenated left operands (or the single left operand) with their column
    ranges.
    """

    node: Node
    parts: tuple[tuple[str, int, int], ...]
    joined: Node | None


class _Batch:
    """A Scan, and the products of its slices with weights, which move before the Scan."""

    def __init__(self, ed: Editor, node: Node, log: Log) -> None:
        self.ed, self.node, self.log = ed, node, log
        self.body = node.regions["body"]
        n = n_scanned(node)
        self.n_states = len(node.inputs) - n
        names = (v.name for v in self.body.inputs[self.n_states :])
        self.slices = {name: self.n_states + k for k, name in enumerate(names)}
        self._moved: dict[str, str] = {}
        """Constants of the body that the products before the loop also need."""

    def run(self) -> bool:
        """Move the products; return whether any moved."""
        products = [p for n in self.body.nodes if (p := self._product(n)) is not None]
        if products and (illegal := first_illegal(self.body, self.ed.facts)) is not None:
            because = (
                f"the operands of {illegal.output} are illegal, and an iteration may never run"
            )
            self.log.declined("batch_loop_matmuls", self.node.output, because, [self.node])
            return False
        products = [p for p in products if self.log.may("batch_loop_matmuls", p.node.output)]
        if not products:
            return False
        self.ed.made.clear()
        self.ed.made_constants.clear()
        inputs, operands = list(self.body.inputs), list(self.node.inputs)
        n = len(self.slices)
        directions = [entry(self.node, "scan_input_directions", k) for k in range(n)]
        nodes = list(self.body.nodes)
        for p in products:
            left: list[str] = []
            for name, start, end in p.parts:
                if name not in self.slices:
                    continue
                at = self.slices[name]
                value = self._in_front(p, operands[at], start, end)
                directions.append(directions[at - self.n_states])
                operands.append(value)
                is_all = len(p.parts) == 1
                left.append(p.node.output if is_all else self.ed.fresh(p.node.output))
                inputs.append(Value(left[-1], p.node.tensor))
            self._replace(nodes, p, left)
        region = replace(self.body, inputs=tuple(inputs), nodes=tuple(nodes))
        attrs = {
            **self.node.attrs,
            "num_scan_inputs": len(directions),
            "scan_input_directions": tuple(directions),
        }
        attrs.pop("scan_input_axes", None)
        now = replace(self.node, inputs=tuple(operands), attrs=attrs, regions={"body": region})
        now = _without_unread(now, self.n_states)
        made = [*self.ed.made, *self.ed.made_constants, now]
        self.ed.update(self.node, now)
        names = ", ".join(p.node.output for p in products)
        because = f"one product computes {names} of all iterations, and reads the weights once"
        self.log.applied(
            "batch_loop_matmuls", self.node.output, because, [self.node], made, error=ROUNDINGS
        )
        return True

    def _product(self, node: Node) -> _Product | None:
        """Match a product of slices and weights, with weights defined outside the loop."""
        if node.op != "matmul" or node.attrs["transpose_a"]:
            return None
        x, w = node.inputs
        weights = self.ed.facts.types.get(w) if w not in self.body.types else None
        constant = self.body.constants.get(w)
        t = constant.type if constant is not None else weights
        if not isinstance(t, TensorType) or not t.is_static or t.rank != 2:
            return None
        size = t.static_shape[1 if node.attrs["transpose_b"] else 0]
        if x in self.slices:
            return _Product(node, ((x, 0, size),), None)
        joined = self.body.producers.get(x)
        if joined is None or joined.op != "concat":
            return None
        if joined.attrs["axis"] % joined.tensor.rank != joined.tensor.rank - 1:
            return None
        if not any(i in self.slices for i in joined.inputs):
            return None
        parts: list[tuple[str, int, int]] = []
        at = 0
        for i in joined.inputs:
            one = self.body.types[i] if i in self.body.types else self.ed.facts.types[i]
            assert isinstance(one, TensorType), f"{i} is {one}"
            columns = one.dims[-1]
            if not isinstance(columns, int):
                return None
            parts.append((i, at, at + columns))
            at += columns
        return _Product(node, tuple(parts), joined)

    def _weights(self, p: _Product, start: int, end: int) -> Operand:
        w = p.node.inputs[1]
        constant = self.body.constants.get(w)
        if constant is not None and w not in self._moved:
            self._moved[w] = self.ed.add_constant(constant, w)
        whole: Operand = self.ed.tensor(self._moved.get(w, w))
        if p.joined is None:
            return whole
        return part(whole, 1 if p.node.attrs["transpose_b"] else 0, start, end)

    def _in_front(self, p: _Product, rows: str, start: int, end: int) -> str:
        """Build the product of all iterations, before the loop."""
        transposed = p.node.attrs["transpose_b"]
        x, w = self.ed.tensor(rows), self._weights(p, start, end)
        plain = x.rank == 2
        product = matmul(x, w, transpose_b=transposed) if plain else rows_product(x, w, transposed)
        return self.ed.build(product, hint=p.node.output, origins=p.node.origins)

    # The loop body without the batched products

    def _replace(self, nodes: list[Node], p: _Product, left: list[str]) -> None:
        """Replace a product with slices of the batched products, plus the product of the states."""
        at = next(i for i, n in enumerate(nodes) if n.output == p.node.output)
        others = [part for part in p.parts if part[0] not in self.slices]
        terms = [*left]
        made: list[Node] = []
        if others:
            made += self._others(p, others)
            terms.append(made[-1].output)
        total = terms[0]
        for k, term in enumerate(terms[1:]):
            is_last = k == len(terms) - 2
            name = p.node.output if is_last else self.ed.fresh(p.node.output)
            made.append(self._like(p.node, "add", (total, term), name))
            total = name
        nodes[at : at + 1] = made

    def _others(self, p: _Product, others: list[tuple[str, int, int]]) -> list[Node]:
        """Build the product of the operands that are not slices."""
        assert p.joined is not None, "a product without slices is not batched"
        name, t = others[0][0], p.joined.tensor
        made: list[Node] = []
        if len(others) > 1:
            name = self.ed.fresh(p.joined.output)
            columns = sum(end - start for _, start, end in others)
            kept = TensorType(t.dtype, (*t.dims[:-1], columns))
            joined = replace(
                p.joined, inputs=tuple(o[0] for o in others), outputs=(name,), types=(kept,)
            )
            made.append(joined)
        ranges = [(start, end) for _, start, end in others]
        w = self._columns(p, ranges)
        product = self._like(p.node, "matmul", (name, w), self.ed.fresh(p.node.output))
        return [*made, replace(product, attrs=p.node.attrs)]

    def _columns(self, p: _Product, ranges: list[tuple[int, int]]) -> str:
        """Return the weights for some columns of the concatenation, computed before the loop."""
        parts = [self._weights(p, start, end) for start, end in ranges]
        axis = 1 if p.node.attrs["transpose_b"] else 0
        whole = parts[0] if len(parts) == 1 else concat(*parts, axis=axis)
        return self.ed.build(whole, hint=f"{p.node.output}.w", origins=p.node.origins)

    def _like(self, node: Node, op: str, inputs: tuple[str, ...], output: str) -> Node:
        return Node(op, inputs, (output,), node.types, OPERATORS[op].bind({}), output, node.origins)


def _without_unread(node: Node, n_states: int) -> Node:
    """Remove slices and nodes that nothing in the body reads."""
    body = node.regions["body"]
    needed = {r.value for r in body.results}
    nodes: list[Node] = []
    for n in reversed(body.nodes):
        if not needed.isdisjoint(n.outputs):
            nodes.append(n)
            needed.update(n.reads)
    kept = [k for k, v in enumerate(body.inputs) if k < n_states or v.name in needed]
    directions = node.attrs["scan_input_directions"]
    body = replace(
        body,
        inputs=tuple(body.inputs[k] for k in kept),
        nodes=tuple(reversed(nodes)),
        constants={k: c for k, c in body.constants.items() if k in needed},
    )
    attrs = {
        **node.attrs,
        "num_scan_inputs": len(kept) - n_states,
        "scan_input_directions": tuple(directions[k - n_states] for k in kept[n_states:]),
    }
    inputs = tuple(node.inputs[k] for k in kept)
    return replace(node, inputs=inputs, attrs=attrs, regions={"body": body})
