"""The roles of open dimensions of inputs, derived from operators and from dimension names.

Inference has propagated the symbol of each open dimension through the graph. The operators whose
operands contain a symbol determine its role, for example the channels or the height of a
convolution's operand. The operand may be a transpose of the input. Other symbols get their role
from their name, or from their axis.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from compiler.ir.affine import symbols
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import OPERATORS
from compiler.ir.types import Dim, TensorType, Type

Role = Literal["batch", "channels", "height", "width", "depth", "length"]

_MOST_CHANNELS = 4
"""The largest fixed size of a last axis that counts as the channel axis of an image."""

_IMAGE_OPERATORS = frozenset({
    "conv", "conv_transpose", "conv_integer", "conv_codes", "deform_conv", "max_pool",
    "max_pool_places", "average_pool", "lp_pool", "batch_norm", "instance_norm", "group_norm",
    "lrn", "depth_to_space", "space_to_depth",
})  # fmt: skip
"""Operators whose first operand has the axes batch, channels, and then positions."""
_CONVOLUTIONS = frozenset({"conv", "conv_integer", "conv_codes"})

_NAMES: tuple[tuple[Role, re.Pattern[str]], ...] = (
    ("batch", re.compile(r"(n_?)?batch(es)?(_?(size|dim|axis))?")),
    ("channels", re.compile(r"(n_|num_|in_|input_)?channels?")),
    ("height", re.compile(r"(\w+_)?(height|rows)")),
    ("width", re.compile(r"(\w+_)?(width|cols|columns)")),
    ("length", re.compile(r"(\w+_)?(seq|sequence|len|length|time|steps|tokens)(_?len(gth)?)?")),
)  # fmt: skip
_LETTERS: Mapping[str, Role] = {"c": "channels", "h": "height", "w": "width"}
"""Names of the axes of an image."""

_CHANNELS_FIRST: tuple[Role, ...] = ("batch", "channels", "height", "width")
_CHANNELS_LAST: tuple[Role, ...] = ("batch", "height", "width", "channels")


class Evidence:
    """The roles and sizes of symbols, derived from the operators that read the symbols.

    `needed` has the sizes that operators require. `likely` has the sizes with which symbols
    broadcast.
    """

    def __init__(self) -> None:
        self.roles: dict[str, Role] = {}
        self.needed: dict[str, int] = {}
        self.likely: dict[str, int] = {}
        self.is_complete = False

    def read(self, graph: Graph) -> None:
        """Read all nodes of a graph."""
        self.is_complete = True
        types = graph.types
        for node in graph.nodes:
            shapes = [_shape(types.get(name)) for name in node.inputs]
            if node.op in _IMAGE_OPERATORS:
                self._image(node, shapes)
            elif node.op == "matmul":
                self._product(node, shapes)
            else:
                self._broadcast(node, shapes)

    def _image(self, node: Node, shapes: list[tuple[Dim, ...] | None]) -> None:
        x, w = shapes[0], shapes[1] if len(shapes) > 1 else None
        if x is None or len(x) < 3:
            return
        places: tuple[Role, ...] = ("length",) if len(x) == 3 else ("height", "width")
        if len(x) > 4:
            places = ("depth", *places)
        for d, role in zip(x, ("batch", "channels", *places), strict=False):
            for symbol in symbols(d):
                self.roles.setdefault(symbol, role)
        if w and node.op in _CONVOLUTIONS and len(w) == len(x) and isinstance(w[1], int):
            self._needs(x[1], w[1] * int(node.attrs.get("groups", 1)))
        elif w and node.op in ("batch_norm", "conv_transpose") and isinstance(w[0], int):
            self._needs(x[1], w[0])

    def _product(self, node: Node, shapes: list[tuple[Dim, ...] | None]) -> None:
        a, b = shapes
        if not a or not b:
            return
        across = a[max(0, len(a) - 2)] if node.attrs.get("transpose_a") else a[len(a) - 1]
        down = b[len(b) - 1] if node.attrs.get("transpose_b") else b[max(0, len(b) - 2)]
        for one, other in ((across, down), (down, across)):
            if isinstance(other, int):
                self._needs(one, other)

    def _broadcast(self, node: Node, shapes: list[tuple[Dim, ...] | None]) -> None:
        operator = OPERATORS.get(node.op)
        known = [shape for shape in shapes if shape]
        is_norm = node.op in ("layer_norm", "rms_norm")
        if len(known) < 2 or not (is_norm or (operator and operator.kind == "elementwise")):
            return
        for one in known:
            for other in known:
                for d, size in zip(reversed(one), reversed(other), strict=False):
                    if isinstance(size, int) and size > 1 and (symbol := symbol_of(d)):
                        self.likely.setdefault(symbol, size)

    def _needs(self, d: Dim, size: int) -> None:
        if symbol := symbol_of(d):
            self.needed.setdefault(symbol, size)


def _shape(t: Type | None) -> tuple[Dim, ...] | None:
    return t.shape if isinstance(t, TensorType) else None


def symbol_of(d: Dim) -> str:
    """Return the symbol that is this dimension, "" for a number or an expression."""
    names = symbols(d)
    return next(iter(names)) if len(names) == 1 and str(d) in names else ""


def roles_of(dims: Sequence[Dim], evidence: Evidence, channels_last: bool) -> list[Role | None]:
    """Return the role of each axis of an input; None if nothing determines it."""
    roles: list[Role | None] = [_role(d, len(dims), evidence) for d in dims]
    if dims and roles[0] is None:
        roles[0] = "batch"
    if len(dims) != 4:
        return roles
    last = channels_last or _is_channels_last(dims, roles)
    order = _CHANNELS_LAST if last else _CHANNELS_FIRST
    found: list[Role | None] = [known or usual for known, usual in zip(roles, order, strict=True)]
    return found


def _role(d: Dim, rank: int, evidence: Evidence) -> Role | None:
    if isinstance(d, int):
        return None
    arrived: list[Role] = [evidence.roles[s] for s in sorted(symbols(d)) if s in evidence.roles]
    if arrived:
        return arrived[0]
    name = str(d).lower()
    if rank > 3 and name in _LETTERS:
        return _LETTERS[name]
    for role, pattern in _NAMES:
        if pattern.fullmatch(name):
            return role
    return None


def _is_channels_last(dims: Sequence[Dim], roles: Sequence[Role | None]) -> bool:
    """Return whether the last axis of an image is the channel axis."""
    if roles[1] == "height" or roles[2] == "width" or roles[3] == "channels":
        return True
    if roles[1] == "channels" or roles[2] == "height" or roles[3] == "width":
        return False
    last, first = dims[3], dims[1]
    return isinstance(last, int) and last <= _MOST_CHANNELS and not isinstance(first, int)
