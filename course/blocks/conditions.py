"""Conditions on results: `trips.saved > 2`, `a.share > 0.2 and a.share < 0.6`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable

from compiler.dataclass import dataclass
from compiler.errors import CompileError, Where
from course.format.references import Reference, parse_reference

_FORM = re.compile(r"\s*([\w.]+)\s*(<=|>=|==|!=|<|>)\s*(-?[\w.]+(?:e[-+]?\d+)?)\s*\Z")
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[-+]?\d+)?\Z")
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}

ValueOf = Callable[[Reference], float]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of a result with a number or another result."""

    left: Reference
    sign: str
    right: Reference | float

    def holds(self, value_of: ValueOf) -> bool:
        """Return whether the condition is true."""
        right = value_of(self.right) if isinstance(self.right, Reference) else self.right
        return _COMPARE[self.sign](value_of(self.left), right)


@dataclass(frozen=True, slots=True)
class Condition:
    """Comparisons joined by `and`."""

    parts: tuple[Comparison, ...]

    @property
    def references(self) -> tuple[Reference, ...]:
        """The results that the condition compares."""
        sides = (side for c in self.parts for side in (c.left, c.right))
        return tuple(r for r in sides if isinstance(r, Reference))

    def holds(self, value_of: ValueOf) -> bool:
        """Return whether all comparisons are true."""
        return all(c.holds(value_of) for c in self.parts)


def parse_condition(text: str, where: Where) -> Condition:
    """Parse a condition. Errors: E-LESSON-BLOCK, E-LESSON-TEXT."""
    return Condition(tuple(_comparison(part, where) for part in text.split(" and ")))


def _comparison(text: str, where: Where) -> Comparison:
    found = _FORM.match(text)
    if found is None:
        message = f"expected a condition such as trips.saved > 2, got {text[:60]!r}"
        raise CompileError("E-LESSON-BLOCK", message, where=where)
    right = found[3]
    number = float(right) if _NUMBER.match(right) else parse_reference(right, where)
    return Comparison(parse_reference(found[1], where), found[2], number)
