"""Recombination of nodes into single standard operators before export.

Nodes that the import decomposed become single foreign nodes again: Gemm, quantized matrix products,
quantized convolutions, and operators like NonMaxSuppression. The results of operators like
NonMaxSuppression have one row per found element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from compiler.dataclass import dataclass
from compiler.export.channels import normalised
from compiler.export.contrib import quantized_lstm
from compiler.export.opened import opened
from compiler.export.quantized import (
    lifted_constant,
    lifted_number,
    requantized,
    scaled_sums,
)
from compiler.export.quantized_operators import quantized
from compiler.export.scope import Scope
from compiler.ir.constant import Constant
from compiler.ir.graph import Attribute, Graph, Node, merge_origins
from compiler.ir.types import DType, TensorType


def combined(graph: Graph, scope: Scope) -> Graph:
    """Replace groups of nodes by standard operators.

    `scope` is the scope in which the graph will be exported; it contains the captured values.
    """
    graph = opened(graph, fused=scope.model.fused)
    work = Work(graph, scope)
    for rules in _RULES:
        for node in graph.nodes:
            rule = rules.get(node.op)
            if rule is not None and node.output not in work.taken:
                rule(work, node)
    if not work.made:
        return graph
    nodes = [
        work.made.get(n.output, n)
        for n in graph.nodes
        if n.output in work.made or n.output not in work.taken
    ]
    made = replace(graph, nodes=tuple(nodes), constants={**graph.constants, **work.constants})
    return _without(made, work.loose)


def _without(graph: Graph, loose: set[str]) -> Graph:
    """Remove the nodes whose outputs are in `loose` and have no readers."""
    unread = {
        n.output
        for n in graph.nodes
        if n.output in loose
        and not graph.users.get(n.output)
        and n.output not in graph.result_values
    }
    if not unread:
        return graph
    kept = tuple(n for n in graph.nodes if n.output not in unread)
    return _without(replace(graph, nodes=kept), loose)


@dataclass
class Work:
    """A graph and the combinations found so far."""

    graph: Graph
    scope: Scope
    made: dict[str, Node] = field(default_factory=dict)
    """The new foreign nodes, keyed by the first output of the node that each replaces."""
    taken: set[str] = field(default_factory=set)
    """The first outputs of the nodes that a combination replaced."""
    loose: set[str] = field(default_factory=set)
    """The values that lost a reader to a combination and may now be unread."""
    constants: dict[str, Constant] = field(default_factory=dict)

    def type(self, value: str) -> TensorType | None:
        """Return the type of a value if the value is a tensor, else None."""
        t = self.graph.types.get(value) or self.scope.type_around(value)
        return t if isinstance(t, TensorType) else None

    def known(self, value: str) -> Constant | None:
        """Return the constant of this name, here or in an enclosing graph."""
        return self.graph.constants.get(value) or self.scope.constant(value)

    def inner(self, value: str, op: str) -> Node | None:
        """Return the node of this operator that defines a value, if the value is read once."""
        node = self.graph.producers.get(value)
        reads = [i for user in self.graph.users.get(value, ()) for i in user.reads if i == value]
        alone = len(reads) == 1 and value not in self.graph.result_values
        fits = node is not None and node.op == op and alone and node.output not in self.taken
        return node if fits else None

    def combine(
        self,
        at: Node,
        parts: Sequence[Node],
        op_type: str,
        inputs: Sequence[str],
        attrs: Mapping[str, Attribute],
        outputs: Mapping[str, Any] | None = None,
    ) -> None:
        """Replace several nodes by one standard node; `outputs` maps its outputs to types."""
        given = outputs if outputs is not None else dict(zip(at.outputs, at.types, strict=True))
        trimmed = list(inputs)
        while not trimmed[-1]:
            trimmed.pop()
        self.taken.update(p.output for p in parts)
        self.made[at.output] = Node(
            f"onnx.{op_type}",
            tuple(trimmed),
            tuple(given),
            tuple(given.values()),
            {**attrs, "opset": self.scope.model.opset},
            at.name,
            merge_origins(*(p.origins for p in parts)),
        )

    def set_version(self, at: Node, version: int) -> None:
        """Set the opset version of a node's domain."""
        made = self.made[at.output]
        self.made[at.output] = replace(made, attrs={**made.attrs, "opset": version})

    def constant(self, like: str, values: Any) -> str:
        """Add a constant operand for a combined node; return the constant's name."""
        name = f"{like}%{len(self.constants)}"
        self.constants[name] = Constant.of(values)
        return name


def _sum(work: Work, node: Node) -> None:
    """Combine an addition with a matrix product, a multiplication by a constant, or an addition."""
    _variadic(work, node)
    if node.output in work.taken:
        return
    _gemm(work, node)
    if node.output not in work.taken:
        lifted_constant(work, node)
    if node.output not in work.taken:
        normalised(work, node)


VARIADIC = {"add": "Sum", "max": "Max", "min": "Min"}
"""Maps binary operators to the variadic operators of the standard."""


def _variadic(work: Work, node: Node) -> None:
    """Recombine binary nodes imported from one variadic node; leave other chains unchanged.

    Other chains stay binary, because runtimes fuse binary additions with adjacent nodes.
    """
    t, parts, operands = work.type(node.output), [node], list(node.inputs)
    if any(_is_next(work, node, user) for user in work.graph.users.get(node.output, ())):
        return
    while (first := work.inner(operands[0], node.op)) is not None and _is_next(
        work, first, parts[-1]
    ):
        parts.append(first)
        operands[:1] = first.inputs
    floats = t is not None and t.dtype in (DType.f32, DType.f64)
    if floats and len(parts) > 1:
        work.combine(node, parts, VARIADIC[node.op], operands, {})


def _is_next(work: Work, node: Node, user: Node) -> bool:
    """Return whether `user` continues a chain of binary nodes imported from a single node."""
    alone = work.inner(node.output, node.op) is node and user.inputs[0] == node.output
    same = user.op == node.op and user.origins == node.origins and len(node.origins) == 1
    return alone and same


def _gemm(work: Work, node: Node) -> None:
    """Combine a matrix product and the addition of a broadcast operand into a Gemm."""
    out = work.type(node.output)
    if out is None or not out.dtype.is_float or out.dtype.is_storage or out.rank != 2:
        return
    for value, addend in (node.inputs, node.inputs[::-1]):
        product, t = work.inner(value, "matmul"), work.type(addend)
        if product is None or work.type(value) != out or not _are_matrices(work, product):
            continue
        if t is None or t.shape is None or t.rank > 2:
            continue
        attrs: dict[str, Attribute] = {
            "transA": int(bool(product.attrs["transpose_a"])),
            "transB": int(bool(product.attrs["transpose_b"])),
        }
        work.combine(node, [product, node], "Gemm", [*product.inputs, addend], attrs)
        return


def _are_matrices(work: Work, product: Node) -> bool:
    types = [work.type(i) for i in product.inputs]
    return all(t is not None and t.shape is not None and t.rank == 2 for t in types)


@dataclass(frozen=True)
class _Search:
    """The conversion of an operator with padded results to an ONNX operator with exact results."""

    op_type: str
    count: int
    cut: Mapping[int, Callable[[Node], int]]
    """For each output index: the axis along which a slice keeps only the elements found."""
    attrs: Callable[[Node], dict[str, Attribute]]


def _first(node: Node) -> int:
    return 0


_SEARCHES = {
    "kept_boxes": _Search(
        "NonMaxSuppression",
        1,
        {0: _first},
        lambda n: {"center_point_box": int(bool(n.attrs["centered"]))},
    ),
    "nonzero_places": _Search("NonZero", 1, {0: lambda n: 1}, lambda n: {}),
    "unique_rows": _Search(
        "Unique",
        4,
        {0: lambda n: int(n.attrs["axis"]), 1: _first, 3: _first},  # type: ignore[arg-type]
        lambda n: {"axis": n.attrs["axis"], "sorted": int(bool(n.attrs["rising"]))},
    ),
}


def _search(work: Work, node: Node) -> None:
    """Combine a node of `_SEARCHES` with the slices of all its results."""
    search, graph = _SEARCHES[node.op], work.graph
    count = node.outputs[search.count]
    outputs: dict[str, Any] = {}
    cuts: list[Node] = []
    for k, (value, t) in enumerate(zip(node.outputs, node.types, strict=True)):
        if k == search.count:
            continue
        if k not in search.cut:
            outputs[value or f"%{k}"] = t
            continue
        users = graph.users.get(value, ())
        if not users and value not in graph.result_values:
            outputs[f"%{k}"] = t
            continue
        if len(users) != 1 or value in graph.result_values:
            return
        (cut,) = users
        if not _is_cut(cut, value, count, search.cut[k](node), t):
            return
        cuts.append(cut)
        outputs[cut.output] = cut.type
    others = [n for n in graph.users.get(count, ()) if n not in cuts]
    if not cuts or others or count in graph.result_values:
        return
    work.combine(node, [node, *cuts], search.op_type, node.inputs, search.attrs(node), outputs)
    made = work.made[node.output]
    names = tuple("" if o.startswith("%") else o for o in made.outputs)
    work.made[node.output] = replace(made, outputs=names)


def _is_cut(cut: Node, value: str, count: str, axis: int, t: Any) -> bool:
    if cut.op != "leading" or tuple(cut.inputs) != (value, count):
        return False
    stated = cut.attrs["axis"]
    assert isinstance(stated, int), f"{cut.name} cuts along {stated}"
    rank = t.rank if isinstance(t, TensorType) and t.shape is not None else 0
    return rank > 0 and stated % rank == axis % rank


def _best_class(work: Work, node: Node) -> None:
    """Replace the node that chooses a forest's best class by ArgMax; the two differ only for NaN.

    The scores of a forest are never NaN. A NaN feature takes a defined branch at every node, and
    sums of finite weights are not NaN.
    """
    scores, labels = node.inputs
    forest, known = work.graph.producers.get(scores), work.known(labels)
    if forest is None or forest.op != "forest" or known is None:
        return
    weights, absent = work.known(forest.inputs[-1]), float(forest.attrs["absent"])  # type: ignore[arg-type]
    numbered = known.array().tolist() == list(range(known.type.n_elements))
    if weights is None or not np.isfinite(weights.array()).all() or np.isnan(absent):
        return
    if numbered:
        work.combine(node, [node], "ArgMax", [scores], {"axis": 1, "keepdims": 0})


_RULES: Sequence[Mapping[str, Callable[[Work, Node], None]]] = (
    {"requantize": requantized, "quantize": quantized, "lstm": quantized_lstm},
    {
        "add": _sum,
        "max": _variadic,
        "min": _variadic,
        "sub": lifted_number,
        "mul": scaled_sums,
        "class_of": _best_class,
        **dict.fromkeys(_SEARCHES, _search),
    },
)
"""Functions that combine nodes, by operator; larger combinations are tried first."""
