"""Matching: every match of a pattern at a node, with the bindings of its placeholders."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping
from inspect import Parameter

from compiler.dataclass import dataclass
from compiler.ir.constant import Constant
from compiler.ir.editor import Editor
from compiler.ir.graph import Node
from compiler.ir.operator import Call
from compiler.passes.engine.pattern import (
    COMMUTATIVE,
    Any,
    AnyAttr,
    Const,
    ConstTensor,
    Known,
    Named,
    Near,
    Number,
    OneOf,
    Pattern,
    Product,
    Root,
    placeholders,
    roots,
    uniform,
)


@dataclass(frozen=True, slots=True)
class Match:
    """A match: bindings of placeholders, and the matched nodes, root first."""

    bound: Mapping[str, object]
    nodes: tuple[Node, ...] = ()

    def bind(self, name: str, value: object) -> Match | None:
        """Add a binding; return None if the name is bound to another value."""
        if name in self.bound:
            return self if _same(self.bound[name], value) else None
        return Match({**self.bound, name: value}, self.nodes)

    def with_nodes(self, *nodes: Node) -> Match:
        """Add nodes, without duplicates."""
        return Match(self.bound, tuple(dict.fromkeys((*self.nodes, *nodes))))


def _same(a: object, b: object) -> bool:
    return type(a) is type(b) and (a == b or (a != a and b != b))


def match(ed: Editor, pattern: Root, root: Node) -> Iterator[Match]:
    """Yield every match of a pattern at a node."""
    glance = _glance(pattern)
    if root.op not in glance.roots or not glance.may_fit(ed, root):
        return
    for m in _match_producer(ed, pattern, root, Match({})):
        absent = dict.fromkeys(name for name in glance.names if name not in m.bound)
        yield Match({**m.bound, **absent}, m.nodes) if absent else m


@dataclass(frozen=True, slots=True)
class _Glance:
    """A precomputed filter for a pattern, which rejects most nodes cheaply.

    For each operand, `below` lists the operators that may produce it: `_CONSTANT` if the operand
    must be a constant, None if any value is allowed. `below` is empty if the root of the pattern
    has several forms.
    """

    roots: frozenset[str]
    names: tuple[str, ...]
    below: tuple[frozenset[str] | None, ...]

    def may_fit(self, ed: Editor, node: Node) -> bool:
        """Whether the pattern allows the operators that produce a node's operands."""
        below = self.below
        if node.op in COMMUTATIVE and len(below) == 2 and len(node.inputs) == 2:
            first, second = node.inputs
            return (_is_from(ed, first, below[0]) and _is_from(ed, second, below[1])) or (
                _is_from(ed, second, below[0]) and _is_from(ed, first, below[1])
            )
        return all(map(lambda value, ops: _is_from(ed, value, ops), node.inputs, below))


_CONSTANT = frozenset({"constant"})
"""A marker for constants in sets of operators; no operator has this name."""

_glances: dict[int, tuple[Root, _Glance]] = {}


def _glance(pattern: Root) -> _Glance:
    """Return the filter of a pattern, computed once per pattern."""
    found = _glances.get(id(pattern))
    if found is None or found[0] is not pattern:
        below = tuple(map(_asked, pattern.args)) if isinstance(pattern, Call) else ()
        made = _Glance(frozenset(roots(pattern)), tuple(placeholders(pattern)), below)
        found = _glances[id(pattern)] = (pattern, made)
    return found[1]


def _asked(p: object) -> frozenset[str] | None:
    """Return the operators that may produce an operand, or None if any value is allowed."""
    match p:
        case Call() | Product():
            return frozenset(roots(p))
        case OneOf():
            each = [_asked(alternative) for alternative in p.alternatives]
            return frozenset().union(*(e for e in each if e)) if None not in each else None
        case Named(_, call):
            return _asked(call)
        case Const(optional=False) | Number(optional=False) | Near() | builtins.int() | float():
            return _CONSTANT
        case _:
            return None


def _is_from(ed: Editor, value: str, ops: frozenset[str] | None) -> bool:
    if ops is None:
        return True
    if value in ed.constants:
        return "constant" in ops
    node = ed.producer(value)
    return node is not None and node.op in ops


def _match_producer(ed: Editor, p: Pattern, node: Node, m: Match) -> Iterator[Match]:
    match p:
        case Call():
            if node.op == p.op.name:
                yield from _match_node(ed, p, node, m)
        case OneOf():
            for alternative in p.alternatives:
                yield from _match_producer(ed, alternative, node, m)
        case Product():
            yield from _match_product(ed, p, node, m)
        case _:
            pass


def _match_node(ed: Editor, p: Call, node: Node, m: Match) -> Iterator[Match]:
    found = _match_attrs(p, node, m.with_nodes(node))
    if found is None:
        return
    n = max(len(p.args), len(node.inputs))
    patterns = (*p.args, *(None,) * (n - len(p.args)))
    values = (*node.inputs, *("",) * (n - len(node.inputs)))
    yield from _match_all(ed, patterns, values, found)
    if node.op in COMMUTATIVE and n == 2 and patterns[0] != patterns[1] and values[0] != values[1]:
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
        case OneOf():
            for alternative in p.alternatives:
                yield from _match_value(ed, alternative, value, m)
            return
        case Known(name, fact):
            if value and fact.holds(ed, value):
                found = m.bind(name, ValueName(value))
        case Named(name, call):
            named = m.bind(name, ValueName(value)) if value else None
            if named is not None:
                yield from _match_value(ed, call, value, named)
            return
        case Call() | Product():
            node = ed.producer(value) if value else None
            if node is not None and node.outputs[0] == value:
                yield from _match_producer(ed, p, node, m)
            return
        case _:
            c = ed.constants.get(value)
            number = uniform(c) if c is not None else None
            if number is not None and c is not None:
                found = _match_number(p, number, c, m)
            elif isinstance(p, Number) and p.optional and not value:
                found = m.bind(p.name, None)
    if found is not None:
        yield found


def _match_number(p: Pattern, number: float, c: Constant, m: Match) -> Match | None:
    match p:
        case Number(name):
            return m.bind(name, number)
        case Near():
            return m if p.fits(number, c) else None
        case builtins.int() | builtins.float():
            return m if number == p else None
        case _:
            return None


@dataclass(frozen=True, slots=True)
class _Factor:
    """A factor of a product: a value, or its reciprocal."""

    value: str
    inverted: bool = False


def _match_product(ed: Editor, p: Product, node: Node, m: Match) -> Iterator[Match]:
    first = _factors(ed, node)
    for factors, nodes in _cuts(ed, first, (node,), 0, len(p.factors)) if first else ():
        yield from _match_factors(ed, p.tried, factors, m.with_nodes(*nodes))


def _factors(ed: Editor, node: Node) -> tuple[_Factor, ...]:
    """Return the two factors of a product or of a division by a constant; () for other nodes."""
    if node.op == "mul":
        return tuple(map(_Factor, node.inputs))
    if node.op == "div" and node.inputs[1] in ed.constants:
        return _Factor(node.inputs[0]), _Factor(node.inputs[1], inverted=True)
    return ()


def _cuts(
    ed: Editor, factors: tuple[_Factor, ...], nodes: tuple[Node, ...], start: int, n: int
) -> Iterator[tuple[tuple[_Factor, ...], tuple[Node, ...]]]:
    """Yield every way to expand products among the factors until there are n factors.

    Factors before `start` are not expanded, so each expansion appears once.
    """
    if len(factors) == n:
        yield factors, nodes
        return
    for i in range(start, len(factors)):
        node = None if factors[i].inverted else ed.producer(factors[i].value)
        inner = _factors(ed, node) if node is not None else ()
        if node is not None and inner:
            apart = (*factors[:i], *inner, *factors[i + 1 :])
            yield from _cuts(ed, apart, (*nodes, node), i, n)


def _match_factors(
    ed: Editor, patterns: tuple[Pattern, ...], factors: tuple[_Factor, ...], m: Match
) -> Iterator[Match]:
    if not patterns:
        yield m
        return
    for factor in dict.fromkeys(factors):
        rest = list(factors)
        rest.remove(factor)
        for found in _match_factor(ed, patterns[0], factor, m):
            yield from _match_factors(ed, patterns[1:], tuple(rest), found)


def _match_factor(ed: Editor, p: Pattern, factor: _Factor, m: Match) -> Iterator[Match]:
    if not factor.inverted:
        yield from _match_value(ed, p, factor.value, m)
        return
    c = ed.constants[factor.value]
    number = uniform(c)
    found = _match_number(p, 1 / number, c, m) if number else None
    if found is not None:
        yield found


class ValueName(str):
    """The name of a value bound to `Any`; "" for an omitted operand."""

    __slots__ = ()


class ConstName(ValueName):
    """The name of a constant bound to `Const`."""

    __slots__ = ()


def operands(ed: Editor, m: Match) -> dict[str, object]:
    """Convert the bindings to the arguments of a replacement."""
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
