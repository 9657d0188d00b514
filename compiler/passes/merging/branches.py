"""Parallel products of one operand, and the operations that follow each of the products."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

import numpy as np

from compiler.dataclass import dataclass
from compiler.ir.constant import Constant
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import OPERATORS, Call, Operand
from compiler.ir.text import attribute
from compiler.ir.types import TensorType
from compiler.passes.engine.pattern import COMMUTATIVE, uniform
from compiler.passes.rules.calls import o

SHARED_BYTES = 4096
"""Largest size in bytes of weights that are duplicated because they have other readers."""


@dataclass(frozen=True, slots=True)
class Form:
    """The column axis of a product: in its weights and in its result."""

    weight_axis: int
    result_axis: int
    column: tuple[int, ...]
    """Trailing sizes of 1 that align a constant of one number per column with the column axis."""


@dataclass(slots=True)
class Branches:
    """Products of one operand whose columns can be concatenated, and the operations after them."""

    form: Form
    chains: list[list[Node]]
    stages: list[list[Constant | None]] = field(default_factory=list)
    """For each operation after the products: a constant per branch, or None if unary."""

    @property
    def products(self) -> list[Node]:
        """The products."""
        return [chain[0] for chain in self.chains]

    @property
    def ends(self) -> list[Node]:
        """The last node of each branch."""
        return [chain[-1] for chain in self.chains]

    @property
    def widths(self) -> list[int]:
        """The number of columns of each product."""
        return [_size(n, self.form.result_axis) for n in self.products]


def _size(node: Node, axis: int) -> int:
    size = node.tensor.dims[axis]
    assert isinstance(size, int), f"{node.output} has open columns"
    return size


def products_by_operand(graph: Graph) -> Iterator[tuple[str, list[Node]]]:
    """Yield each operand that several products with different weights read, with these products."""
    readers: dict[tuple[str, str], list[Node]] = {}
    for node in graph.nodes:
        if node.op in ("matmul", "conv") and node.inputs[0] not in graph.constants:
            readers.setdefault((node.op, node.inputs[0]), []).append(node)
    for (_, x), nodes in readers.items():
        if len(nodes) > 1:
            yield x, nodes


def objection(ed: Editor, node: Node) -> str:
    """Return the reason that a product cannot be combined with others, or "" if it can."""
    weights = node.inputs[1:]
    for w in filter(None, weights):
        if w not in ed.constants:
            return f"{w} is not constant, so every run would have to concatenate it"
        if ed.n_uses(w) > 1 and ed.constants[w].stored_bytes > SHARED_BYTES:
            return f"{w} has {ed.n_uses(w)} readers, so it would be stored twice"
    rank = ed.constants[node.inputs[1]].type.rank
    if node.op == "matmul" and (rank != 2 or not node.tensor.is_ranked or node.tensor.rank < 2):
        return f"the weights have {rank} axes; only matrices can be concatenated by columns"
    if node.attrs.get("groups", 1) != 1:
        return f"each of its {node.attrs['groups']} groups reads only some channels"
    return ""


def geometry(ed: Editor, node: Node) -> str:
    """Return the properties that combined products must share, as text."""
    t = ed.constants[node.inputs[1]].type
    kernel = t.static_shape[2:] if node.op == "conv" else ()
    attrs = ", ".join(f"{k}={attribute(v)}" for k, v in node.attrs.items())
    bias = (
        "" if node.op == "matmul" else ", bias" if len(node.inputs) > 2 and node.inputs[2] else ""
    )
    return f"{t.dtype} kernel {list(kernel)}, {attrs}{bias}"


def form_of(node: Node) -> Form:
    """Return the column axis of a product."""
    rank = node.tensor.rank
    if node.op == "conv":
        return Form(0, 1, (1,) * (rank - 2))
    return Form(0 if node.attrs.get("transpose_b") else 1, rank - 1, ())


def grow(ed: Editor, branches: Branches) -> None:
    """Add operations that follow every branch: arithmetic with constants, and unary functions."""
    while True:
        following = [_only_reader(ed, n) for n in branches.ends]
        nodes = [n for n in following if n is not None]
        if len(nodes) < len(following) or len({n.output for n in nodes}) < len(nodes):
            return
        if len({(n.op, str(n.attrs)) for n in nodes}) > 1:
            return
        pairs = zip(branches.chains, nodes, branches.widths, strict=True)
        stage = [_operand(ed, chain[-1], n, w, branches.form) for chain, n, w in pairs]
        single = [len(n.inputs) == 1 for n in nodes]
        if not all(single) and not all(c is not None for c in stage):
            return
        if len({_side(chain[-1], n) for chain, n in zip(branches.chains, nodes, strict=True)}) > 1:
            return
        for chain, n in zip(branches.chains, nodes, strict=True):
            chain.append(n)
        branches.stages.append(stage)


def _only_reader(ed: Editor, node: Node) -> Node | None:
    """Return the only reader of a value, if it is an elementwise node of the same type."""
    users = ed.users(node.output)
    if len(users) != 1 or ed.n_uses(node.output) != 1:
        return None
    user = users[0]
    operator = OPERATORS.get(user.op)
    if operator is None or operator.kind != "elementwise" or len(user.outputs) != 1:
        return None
    known = 1 <= len(user.inputs) <= 2 and user.inputs.count(node.output) == 1
    return user if known and user.type == node.type else None


def _side(value: Node, user: Node) -> int:
    """Return the operand position at which a node reads a value; 0 for commutative nodes."""
    return 0 if user.op in COMMUTATIVE else user.inputs.index(value.output)


def _operand(ed: Editor, value: Node, user: Node, width: int, form: Form) -> Constant | None:
    """Return the constant operand of a node as one number per column, or None if impossible."""
    others = [i for i in user.inputs if i != value.output]
    c = ed.constants.get(others[0]) if len(others) == 1 else None
    if c is None or not isinstance(value.type, TensorType):
        return None
    return per_column(c, width, form)


def per_column(c: Constant, width: int, form: Form) -> Constant | None:
    """Expand a constant that varies only along columns to all columns; None for other constants."""
    shape, behind = c.type.static_shape, len(form.column)
    whole = TensorType(c.type.dtype, (width, *form.column))
    number = uniform(c)
    if number is not None and c.type.n_elements == 1:
        return Constant.splat(np.asarray(c.array()).reshape(-1)[0], whole)
    place = len(shape) - 1 - behind
    if place < 0 or shape[place] != width or c.type.n_elements != width:
        return None
    return Constant.of(c.array().reshape(whole.static_shape), c.type.dtype)


def concatenated(constants: Sequence[Constant], axis: int) -> Constant:
    """Concatenate constants; equal splats stay a splat."""
    first = constants[0].type
    sizes = sum(c.type.static_shape[axis] for c in constants)
    shape = tuple(sizes if i == axis else n for i, n in enumerate(first.static_shape))
    numbers = {uniform(c) if c.is_splat else None for c in constants}
    number = next(iter(numbers))
    if len(numbers) == 1 and number is not None:
        return Constant.splat(number, TensorType(first.dtype, shape))
    return Constant.of(np.concatenate([c.array() for c in constants], axis), first.dtype)


def merged(ed: Editor, branches: Branches) -> Call:
    """Build the product of all columns, followed by the operations common to all branches."""
    first, form = branches.products[0], branches.form
    weights = [ed.constants[n.inputs[1]] for n in branches.products]
    call: Call = _call(first, ed.tensor(first.inputs[0]), concatenated(weights, form.weight_axis))
    if len(first.inputs) > 2 and first.inputs[2]:
        biases = [ed.constants[n.inputs[2]] for n in branches.products]
        call = o[first.op](*call.args, concatenated(biases, 0), **call.attrs)
    for at, stage in enumerate(branches.stages):
        node, value = branches.chains[0][at + 1], branches.chains[0][at]
        constants = [c for c in stage if c is not None]
        operands: list[Operand] = [call]
        if constants:
            operands.append(concatenated(constants, 0))
            if _side(value, node):
                operands.reverse()
        call = o[node.op](*operands, **node.attrs)
    return call


def _call(node: Node, *operands: Operand) -> Call:
    return o[node.op](*operands, **node.attrs)
