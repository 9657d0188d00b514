"""Nodes that the standard has one operator for, put together before a graph is written.

What was taken apart when a model was read, so that passes see its parts, becomes a foreign node
again: Gemm, quantized products, and searches whose results have as many rows as they find.
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
    """The graph with operators of the standard in the place of their parts.

    The scope in which it will be written knows the values that it takes from around it.
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
    """The graph without those of these values that nobody reads any more."""
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
    """A graph, and what has been put together in it so far."""

    graph: Graph
    scope: Scope
    made: dict[str, Node] = field(default_factory=dict)
    """Foreign nodes by the first output of the node in whose place they stand."""
    taken: set[str] = field(default_factory=set)
    """First outputs of the nodes that have been put together."""
    loose: set[str] = field(default_factory=set)
    """Values that have lost a reader."""
    constants: dict[str, Constant] = field(default_factory=dict)

    def type(self, value: str) -> TensorType | None:
        """The type of a value, when it is a tensor."""
        t = self.graph.types.get(value) or self.scope.type_around(value)
        return t if isinstance(t, TensorType) else None

    def known(self, value: str) -> Constant | None:
        """The constant of this name, here or around."""
        return self.graph.constants.get(value) or self.scope.constant(value)

    def inner(self, value: str, op: str) -> Node | None:
        """The node of this operator that gives a value read only once, and is no result."""
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
        """Let one node of the standard do the work of several; `outputs` are names and types."""
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
        """Say of which version of its own domain a node is."""
        made = self.made[at.output]
        self.made[at.output] = replace(made, attrs={**made.attrs, "opset": version})

    def constant(self, like: str, values: Any) -> str:
        """The name of a new constant for a part that has gone."""
        name = f"{like}%{len(self.constants)}"
        self.constants[name] = Constant.of(values)
        return name


def _sum(work: Work, node: Node) -> None:
    """What is added to a product, of matrices or with a constant, or to other sums."""
    _variadic(work, node)
    if node.output in work.taken:
        return
    _gemm(work, node)
    if node.output not in work.taken:
        lifted_constant(work, node)
    if node.output not in work.taken:
        normalised(work, node)


VARIADIC = {"add": "Sum", "max": "Max", "min": "Min"}
"""The standard's operators of any number of operands, by ours of two."""


def _variadic(work: Work, node: Node) -> None:
    """A chain that one node became when the model was read; chains of several stay apart.

    Runtimes fuse sums of two with what is before and after them.
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
    """Whether `user` is the next link of the chain that one node of the model became."""
    alone = work.inner(node.output, node.op) is node and user.inputs[0] == node.output
    same = user.op == node.op and user.origins == node.origins and len(node.origins) == 1
    return alone and same


def _gemm(work: Work, node: Node) -> None:
    """A product of matrices and a sum that broadcasts to it."""
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
    """An operator of ours with room for all it could find, and the one of ONNX without."""

    op_type: str
    count: int
    cut: Mapping[int, Callable[[Node], int]]
    """The outputs that are cut to what was found, and along which axis."""
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
    """A search all of whose results are cut to what it found."""
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
    """The classes of a forest's scores, which are no NaN when its weights are numbers.

    An operand that is NaN goes one way at every branch, and finite weights add up to no NaN.
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
"""What takes the most nodes comes first."""
