"""Patterns: calls of operators over placeholders.

    transpose(transpose(Any("x"), perm=AnyAttr("p")), perm=AnyAttr("q"))

The functions that build graphs also build patterns: an operator called with placeholders is a
pattern. If a pattern omits an attribute, the attribute must have its default. If a pattern omits an
operand, the node must omit it, too. Operands of commutative operators match in both orders. With
`OneOf` and `Product` a single pattern covers all forms that exporters write.
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
"""Commutative binary operators."""

NEAR = 1e-6
"""Relative tolerance with which `Near` matches a number."""


def is_near(number: float, value: float, dtype: DType) -> bool:
    """Whether a number equals this value up to one or two roundings in its type.

    In f64 the number must equal the value, since results keep the precision of f64.
    """
    step = float(finfo(dtype.numpy).eps) if dtype.is_float else 0.0
    return abs(number - value) <= abs(value) * (4 * step if dtype is DType.f64 else max(NEAR, step))


UNIFORM_LIMIT = 256
"""Largest number of elements of a stored constant that is tested for uniformity."""


@dataclass(frozen=True, slots=True)
class Any:
    """Any value, which the replacement receives as a `Tensor`.

    `optional` also matches an omitted operand.
    """

    name: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Const:
    """A constant; the replacement receives it as a `ConstTensor`. `optional` as in `Any`."""

    name: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Number:
    """A constant with equal elements; the replacement receives the Python number.

    `optional` also matches an omitted operand, for which the replacement receives None.
    """

    name: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Near:
    """A constant whose elements all equal this number, up to rounding in their type."""

    value: float

    def fits(self, number: float, c: Constant) -> bool:
        """Whether an element of the constant is this number, rounded once or twice."""
        return is_near(number, self.value, c.type.dtype)


@dataclass(frozen=True, slots=True)
class AnyAttr:
    """Any value of an attribute; the replacement receives it unchanged."""

    name: str


@dataclass(frozen=True, slots=True)
class Fact:
    """A property of a value that follows from its producers; `{}` in `text` is the value."""

    text: str
    holds: Callable[[Editor, str], bool]


@dataclass(frozen=True, slots=True)
class Known:
    """Any value with a known property; the replacement receives a `Tensor`."""

    name: str
    fact: Fact


@dataclass(frozen=True, slots=True)
class Named:
    """A call whose value the replacement also receives, to reuse it."""

    name: str
    call: Call


@dataclass(frozen=True, slots=True, eq=False)
class ConstTensor(Tensor):
    """A tensor operand with a stored constant."""

    constant: Constant | None = None

    @property
    def stored(self) -> Constant:
        """The constant, which is never None, in contrast to the attribute `constant`."""
        assert self.constant is not None, f"{self.name} has no constant"
        return self.constant


class OneOf:
    """Any of several patterns, tried in order; placeholders of the other patterns are None."""

    __slots__ = ("alternatives",)

    def __init__(self, *alternatives: Pattern) -> None:
        self.alternatives = alternatives


class Product:
    """A product of several factors in any order and association, including divisions by numbers."""

    __slots__ = ("factors", "tried")

    def __init__(self, *factors: Pattern) -> None:
        self.factors = factors
        self.tried = tuple(sorted(factors, key=lambda f: isinstance(f, Any)))


Root = Call | OneOf | Product
"""The possible roots of a rule's pattern."""

Pattern = Root | Any | Const | Number | Near | Known | Named | int | float | None
"""A pattern.

A number matches a constant whose elements all equal this number; None matches an omitted operand.
"""


def roots(p: Pattern) -> tuple[str, ...]:
    """Return the operators of the nodes at which a pattern may match."""
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
    """Return the number to which all elements of a constant are bit-identical, or None."""
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
    """Return the names of all placeholders, each once, in order of appearance."""
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
    """Return the number of nodes on the longest path through a pattern."""
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
    """Format a pattern for display: `transpose(transpose(x, perm=p), perm=q)`.

    The notation is `const c` for constants, `number n` for uniform constants, `x?` for optional
    operands, and `a | b` for alternatives. A product in any order is shown as a `mul` of all its
    factors, and a named call as `y = relu(x)`.
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
