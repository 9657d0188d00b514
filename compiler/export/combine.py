"""Nodes that the standard has one operator for, put together before a graph is written.

What was taken apart when a model was read, so that passes see its parts, becomes a carried node
again: Gemm, quantized products, and searches whose results have as many rows as they find.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from compiler.export.contrib import opened, quantized_lstm
from compiler.export.scope import Scope
from compiler.ir.constant import Constant
from compiler.ir.graph import Attribute, Graph, Node, merge_origins
from compiler.ir.types import DType, TensorType

GEMM_TYPES = {
    DType.f16, DType.bf16, DType.f32, DType.f64, DType.i32, DType.i64, DType.u32, DType.u64,
}  # fmt: skip


def combined(graph: Graph, scope: Scope) -> Graph:
    """The graph with operators of the standard in the place of their parts.

    The scope in which it will be written knows the values that it takes from around it.
    """
    graph = opened(graph)
    work = Work(graph, scope)
    for node in graph.nodes:
        rule = _RULES.get(node.op)
        if rule is not None and node.output not in work.taken:
            rule(work, node)
    if not work.made:
        return graph
    nodes = [
        work.made.get(n.output, n)
        for n in graph.nodes
        if n.output in work.made or n.output not in work.taken
    ]
    return replace(graph, nodes=tuple(nodes), constants={**graph.constants, **work.constants})


@dataclass
class Work:
    """A graph, and what has been put together in it so far."""

    graph: Graph
    scope: Scope
    made: dict[str, Node] = field(default_factory=dict)
    """Carried nodes by the first output of the node in whose place they stand."""
    taken: set[str] = field(default_factory=set)
    """First outputs of the nodes that have been put together."""
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
        alone = len(self.graph.users.get(value, ())) == 1 and value not in self.graph.result_values
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


def _gemm(work: Work, node: Node) -> None:
    """A product of matrices and a sum that broadcasts to it."""
    out = work.type(node.output)
    if out is None or out.dtype not in GEMM_TYPES or out.shape is None or out.rank != 2:
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


def _quantized(work: Work, node: Node) -> None:
    """A product of bytes, brought back to bytes by one scale."""
    sums, scale, *rest = node.inputs
    zero = rest[0] if rest else ""
    t = work.type(sums)
    if not zero or t is None or t.shape is None or node.attrs["to"] not in (DType.u8, DType.i8):
        return
    z = work.type(zero)
    if z is None or not z.is_static or z.n_elements != 1:
        return
    matmul = work.inner(sums, "matmul_integer")
    if matmul is not None:
        _quantized_matmul(work, node, matmul, scale, zero)
        return
    bias = ""
    parts = [node]
    added = work.inner(sums, "add")
    if added is not None:
        sums, bias = added.inputs
        parts.insert(0, added)
    conv = work.inner(sums, "conv_integer")
    if conv is not None:
        _quantized_conv(work, [conv, *parts], t.rank, scale, zero, bias)


def _quantized_matmul(work: Work, node: Node, product: Node, scale: str, zero: str) -> None:
    factors = work.known(scale)
    if factors is None or factors.type.n_elements != 1 or not _plain_zeros(work, product):
        return
    one = work.constant(node.output, np.float32(1))
    factor = work.constant(node.output, factors.array().reshape(()))
    a, b, *points = product.inputs
    zeros = _points(work, node, (a, b), points)
    inputs = [a, one, zeros[0], b, factor, zeros[1], one, _single(work, node, zero)]
    work.combine(node, [product, node], "QLinearMatMul", inputs, {})


def _quantized_conv(
    work: Work, parts: Sequence[Node], rank: int, scale: str, zero: str, bias: str
) -> None:
    conv, node = parts[0], parts[-1]
    factors, biases = work.known(scale), work.known(bias)
    channels = work.type(conv.inputs[1])
    if factors is None or (bias and biases is None) or channels is None or not channels.is_static:
        return
    n = channels.static_shape[0]
    shapes = {(1,) * k for k in range(rank + 1)} | {(n, *(1,) * (rank - 2))}
    if factors.type.shape not in shapes or not _plain_zeros(work, conv):
        return
    listed = ""
    if biases is not None:
        if biases.type.shape != (n, *(1,) * (rank - 2)) or biases.type.dtype is not DType.i32:
            return
        listed = work.constant(node.output, biases.array().reshape(-1))
    flat = factors.array().reshape(-1)
    factor = work.constant(node.output, flat if len(flat) > 1 else flat.reshape(()))
    one = work.constant(node.output, np.float32(1))
    x, w, *points = conv.inputs
    zeros = _points(work, node, (x, w), points)
    inputs = [x, one, zeros[0], w, factor, zeros[1], one, _single(work, node, zero), listed]
    work.combine(node, parts, "QLinearConv", inputs, _window(conv))


def _window(conv: Node) -> dict[str, Attribute]:
    attrs: dict[str, Attribute] = {
        "strides": conv.attrs["strides"],
        "dilations": conv.attrs["dilations"],
        "group": conv.attrs["groups"],
    }
    if conv.attrs["auto_pad"] == "notset":
        return {**attrs, "pads": conv.attrs["pads"]}
    return {**attrs, "auto_pad": str(conv.attrs["auto_pad"]).upper()}


def _plain_zeros(work: Work, product: Node) -> bool:
    """Whether the zero points are one constant number each, as every runtime takes them."""
    points = [work.known(p) for p in product.inputs[2:] if p]
    return all(c is not None and len(np.unique(c.array())) == 1 for c in points)


def _points(
    work: Work, node: Node, operands: Sequence[str], points: Sequence[str]
) -> Sequence[str]:
    """The zero points of both operands; 0 where one is left out."""
    made: list[str] = []
    for k, operand in enumerate(operands):
        given = work.known(points[k]) if k < len(points) and points[k] else None
        t = work.type(operand)
        assert t is not None, f"{operand!r} is no tensor"
        value = np.zeros((), t.dtype.numpy) if given is None else given.array().reshape(-1)[0]
        made.append(work.constant(node.output, value))
    return made


def _single(work: Work, node: Node, value: str) -> str:
    """A constant of one element without axes."""
    c = work.known(value)
    return value if c is None else work.constant(node.output, c.array().reshape(()))


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


_RULES: Mapping[str, Callable[[Work, Node], None]] = {
    "add": _gemm,
    "class_of": _best_class,
    "requantize": _quantized,
    "lstm": quantized_lstm,
    **dict.fromkeys(_SEARCHES, _search),
}
