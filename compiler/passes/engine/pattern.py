"""Patterns: calls of operators over placeholders.

    transpose(transpose(Any("x"), perm=AnyAttr("p")), perm=AnyAttr("q"))

The same vocabulary as for building: an operator called with placeholders is a pattern. An attribute
that a pattern does not mention must have its default; an operand it does not mention must be left
out. Operands of commutative operators match in both orders. `OneOf` and `Product` say in one
pattern what exporters write in many ways.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from ml_dtypes import finfo

from compiler.dataclass import dataclass
from compiler.ir.constant import Bytes, Constant, Literal, Splat
from compiler.ir.operator import Call, Tensor, with_trait
from compiler.ir.text import attribute
from compiler.ir.types import DType

if TYPE_CHECKING:
    from compiler.ir.editor import Editor

COMMUTATIVE = with_trait("commutative")
"""Operators of two operands whose order does not change the result."""

NEAR = 1e-6
"""How far a number may be from one that a pattern wants `Near`, relative to it."""


def is_near(number: float, value: float, dtype: DType) -> bool:
    """Whether a number is meant to be this value, rounded once or twice in its type.

    In f64 it has to be the value: results are as exact as that type.
    """
    step = float(finfo(dtype.numpy).eps) if dtype.is_float else 0.0
    return abs(number - value) <= abs(value) * (4 * step if dtype is DType.f64 else max(NEAR, step))


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
class Near:
    """A constant whose elements all equal this number, as near as their type can say it."""

    value: float

    def fits(self, number: float, c: Constant) -> bool:
        """Whether an element of such a constant is this number, rounded once or twice."""
        return is_near(number, self.value, c.type.dtype)


@dataclass(frozen=True, slots=True)
class AnyAttr:
    """Any value of an attribute; the replacement receives it as it is."""

    name: str


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that can be told of a value from how it is made; `{}` in the text is the value."""

    text: str
    holds: Callable[[Editor, str], bool]


@dataclass(frozen=True, slots=True)
class Known:
    """Any value of which a fact is known; the replacement receives a `Tensor`."""

    name: str
    fact: Fact


@dataclass(frozen=True, slots=True)
class Named:
    """A call whose value the replacement receives as well, so that it need not be made again."""

    name: str
    call: Call


@dataclass(frozen=True, slots=True, eq=False)
class ConstTensor(Tensor):
    """An operand together with the constant behind it."""

    constant: Constant | None = None

    @property
    def stored(self) -> Constant:
        """The constant, which is always there."""
        assert self.constant is not None, f"{self.name} has no constant"
        return self.constant


class OneOf:
    """Any of several patterns, tried in order; the placeholders of the others are None."""

    __slots__ = ("alternatives",)

    def __init__(self, *alternatives: Pattern) -> None:
        self.alternatives = alternatives


class Product:
    """A product of several factors: whatever the order and the brackets, divided by numbers too."""

    __slots__ = ("factors", "tried")

    def __init__(self, *factors: Pattern) -> None:
        self.factors = factors
        self.tried = tuple(sorted(factors, key=lambda f: isinstance(f, Any)))


Root = Call | OneOf | Product
"""What a pattern of a rule may be."""

Pattern = Root | Any | Const | Number | Near | Known | Named | int | float | None
"""A number stands for a constant whose elements all equal it; None for an operand left out."""


def roots(p: Pattern) -> tuple[str, ...]:
    """The operators that a node may have at which a pattern fits."""
    match p:
        case Call():
            return (p.op.name,)
        case OneOf():
            return tuple(dict.fromkeys(chain.from_iterable(map(roots, p.alternatives))))
        case Product():
            return ("mul", "div")
        case _:
            return ()


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


def placeholders(p: Pattern | object) -> list[str]:
    """The names of all placeholders, each once, in order of appearance."""
    names: dict[str, None] = {}
    if isinstance(p, Call | OneOf | Product):
        for part in _parts(p):
            names.update(dict.fromkeys(placeholders(part)))
    elif isinstance(p, Any | Const | Number | AnyAttr | Known | Named):
        names[p.name] = None
        if isinstance(p, Named):
            names.update(dict.fromkeys(placeholders(p.call)))
    return list(names)


def _parts(p: Root) -> tuple[object, ...]:
    match p:
        case Call():
            return (*p.args, *p.attrs.values())
        case OneOf():
            return p.alternatives
        case Product():
            return p.factors


def depth(p: Pattern | object) -> int:
    """How many nodes the longest path through a pattern has."""
    match p:
        case Call():
            here = 1
        case Product():
            here = len(p.factors) - 1
        case OneOf():
            here = 0
        case Named(_, call):
            return depth(call)
        case _:
            return 0
    return here + max(map(depth, _parts(p)), default=0)


def pattern_text(p: Pattern | object) -> str:
    """A pattern as it is shown: `transpose(transpose(x, perm=p), perm=q)`.

    Constants are written `const c`, uniform ones `number n`, optional operands `x?`, a choice
    `a | b`, a product in any order as a `mul` of all its factors, a named call `y = relu(x)`.
    """
    match p:
        case Call():
            parts = [pattern_text(a) for a in p.args]
            parts += [f"{k}={pattern_text(v)}" for k, v in p.attrs.items()]
            return f"{p.op.name}({', '.join(parts)})"
        case OneOf():
            return " | ".join(map(pattern_text, p.alternatives))
        case Product():
            return f"mul({', '.join(map(pattern_text, p.factors))})"
        case Near(value):
            return f"near {value:.7g}"
        case Named(name, call):
            return f"{name} = {pattern_text(call)}"
        case Known(name, fact):
            return fact.text.format(name)
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
