"""Patterns: calls of operators over placeholders, matched against a graph from the root upwards.

    transpose(transpose(Any("x"), perm=AnyAttr("p")), perm=AnyAttr("q"))

The same vocabulary as for building: an operator called with placeholders is a pattern. An attribute
that a pattern does not mention must have its default; an operand it does not mention must be left
out. Operands of commutative operators match in both orders.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from inspect import Parameter

import numpy as np

from compiler.ir.constant import Bytes, Constant, Literal, Splat
from compiler.ir.editor import Editor
from compiler.ir.graph import Node
from compiler.ir.operator import Call, Tensor
from compiler.ir.text import attribute

COMMUTATIVE = frozenset({"add", "mul", "max", "min", "equal", "and", "or", "xor"})
"""Operators of two operands whose order does not change the result."""

UNIFORM_LIMIT = 256
"""Stored constants of at most this many elements are looked through for being all the same."""


@dataclass(frozen=True, slots=True)
class Any:
    """Any value; the replacement receives a `Tensor`. `optional` also matches one left out."""

    name: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Const:
    """A constant; the replacement receives it as a `ConstTensor`. `optional` as in `Any`."""

    name: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Number:
    """A constant whose elements are all the same; the replacement receives that Python number.

    `optional` also matches an operand left out, which the replacement receives as None.
    """

    name: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class AnyAttr:
    """Any value of an attribute; the replacement receives it as it is."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class ConstTensor(Tensor):
    """An operand together with the constant behind it."""

    constant: Constant | None = None

    @property
    def stored(self) -> Constant:
        """The constant, which is always there."""
        assert self.constant is not None, f"{self.name} has no constant"
        return self.constant


Pattern = Call | Any | Const | Number | int | float | None
"""A number stands for a constant whose elements all equal it; None for an operand left out."""


@dataclass(frozen=True, slots=True)
class Match:
    """What placeholders stand for, and the nodes matched, root first."""

    bound: Mapping[str, object]
    nodes: tuple[Node, ...] = ()

    def bind(self, name: str, value: object) -> Match | None:
        """The match with one more binding; None when the name stands for something else."""
        if name in self.bound:
            return self if _same(self.bound[name], value) else None
        return Match({**self.bound, name: value}, self.nodes)


def _same(a: object, b: object) -> bool:
    return type(a) is type(b) and (a == b or (a != a and b != b))


def match(ed: Editor, pattern: Call, root: Node) -> Iterator[Match]:
    """Every way in which a pattern fits at a node."""
    if pattern.op.name == root.op:
        yield from _match_node(ed, pattern, root, Match({}))


def _match_node(ed: Editor, p: Call, node: Node, m: Match) -> Iterator[Match]:
    found = _match_attrs(p, node, Match(m.bound, (*m.nodes, node)))
    if found is None:
        return
    n = max(len(p.args), len(node.inputs))
    patterns = (*p.args, *(None,) * (n - len(p.args)))
    values = (*node.inputs, *("",) * (n - len(node.inputs)))
    yield from _match_all(ed, patterns, values, found)
    if node.op in COMMUTATIVE and n == 2 and patterns[0] != patterns[1]:
        yield from _match_all(ed, patterns, values[::-1], found)


def _match_attrs(p: Call, node: Node, m: Match | None) -> Match | None:
    schema = p.op.schema.attributes
    for key, value in node.attrs.items():
        wanted = p.attrs.get(key, schema[key].default if key in schema else Parameter.empty)
        if isinstance(wanted, AnyAttr):
            m = m.bind(wanted.name, value) if m else None
        else:
            wanted = tuple(wanted) if isinstance(wanted, list) else wanted
            m = m if m and wanted == value else None
        if m is None:
            return None
    return m


def _match_all(
    ed: Editor, patterns: tuple[Pattern, ...], values: tuple[str, ...], m: Match
) -> Iterator[Match]:
    if not patterns:
        yield m
        return
    for found in _match_value(ed, patterns[0], values[0], m):
        yield from _match_all(ed, patterns[1:], values[1:], found)


def _match_value(ed: Editor, p: Pattern, value: str, m: Match) -> Iterator[Match]:
    found: Match | None = None
    match p:
        case None:
            found = None if value else m
        case Any(name, optional):
            found = m.bind(name, ValueName(value)) if value or optional else None
        case Const(name, optional):
            if value in ed.constants or (optional and not value):
                found = m.bind(name, ConstName(value))
        case Call():
            node = ed.producer(value) if value else None
            if node is not None and node.op == p.op.name and node.outputs[0] == value:
                yield from _match_node(ed, p, node, m)
            return
        case _:
            number = uniform(ed.constants[value]) if value in ed.constants else None
            if isinstance(p, Number):
                left_out = p.optional and not value
                found = m.bind(p.name, number) if number is not None or left_out else None
            elif number is not None and number == p:
                found = m
    if found is not None:
        yield found


class ValueName(str):
    """The name of a value that `Any` stands for; "" for one left out."""

    __slots__ = ()


class ConstName(ValueName):
    """The name of a constant that `Const` stands for."""

    __slots__ = ()


def uniform(c: Constant) -> int | float | bool | None:
    """The one number that all elements of a constant equal, bit for bit; None without one."""
    match c.storage:
        case Splat(value):
            number = value
        case Literal(values) | Bytes(values) if 0 < values.size <= UNIFORM_LIMIT:
            first = values.reshape(-1)[:1]
            if values.tobytes() != first.tobytes() * values.size:
                return None
            number = first[0]
        case _:
            return None
    if not (c.type.dtype.is_float or c.type.dtype.is_integer or c.type.dtype.label == "bool"):
        return None
    plain = np.asarray(number)
    return plain.item() if plain.dtype.kind in "fiub" else float(number)


def operands(ed: Editor, m: Match) -> dict[str, object]:
    """What a replacement receives for each placeholder."""
    return {name: _operand(ed, value) for name, value in m.bound.items()}


def _operand(ed: Editor, value: object) -> object:
    if not isinstance(value, ValueName):
        return value
    if not value:
        return None
    if isinstance(value, ConstName):
        c = ed.constants[value]
        return ConstTensor(str(value), c.type, None, c)
    return ed.tensor(str(value))


def placeholders(p: Pattern | object) -> list[str]:
    """The names of all placeholders, each once, in order of appearance."""
    names: dict[str, None] = {}
    if isinstance(p, Call):
        for part in (*p.args, *p.attrs.values()):
            names.update(dict.fromkeys(placeholders(part)))
    elif isinstance(p, Any | Const | Number | AnyAttr):
        names[p.name] = None
    return list(names)


def depth(p: Pattern | object) -> int:
    """How many nodes the longest path through a pattern has."""
    return 1 + max((depth(a) for a in p.args), default=0) if isinstance(p, Call) else 0


def pattern_text(p: Pattern | object) -> str:
    """A pattern as it is shown: `transpose(transpose(x, perm=p), perm=q)`.

    Constants are written `const c`, uniform ones `number n`, optional operands `x?`.
    """
    match p:
        case Call():
            parts = [pattern_text(a) for a in p.args]
            parts += [f"{k}={pattern_text(v)}" for k, v in p.attrs.items()]
            return f"{p.op.name}({', '.join(parts)})"
        case Any(name, optional):
            return name + "?" * optional
        case Const(name, optional):
            return f"const {name}" + "?" * optional
        case Number(name, optional):
            return f"number {name}" + "?" * optional
        case AnyAttr(name):
            return name
        case None:
            return "_"
        case builtins.list():
            return attribute(tuple(p))
        case _:
            return attribute(p)
