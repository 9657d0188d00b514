"""Trip counts of loops with counters: induction variables and their bounds.

A state with a constant integer increment per iteration is an induction variable. Arithmetic gives
the number of iterations for which a comparison of this variable with a loop-invariant value holds.
Source: LLVM's ScalarEvolution (add recurrences, exit counts), XLA's while-loop analysis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from compiler.dataclass import dataclass
from compiler.ir.affine import Affine, Expr
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node
from compiler.ir.infer import Facts, infer
from compiler.ir.operator import Array, with_trait
from compiler.ir.types import DType, TensorType, Type

COUNTERS = (DType.i64, DType.i32, DType.i16, DType.i8)
"""Element types of induction variables."""

VIEWS = with_trait("aliasing") | {"onnx.Identity"}
"""Operators that return a single-element operand unchanged."""

KEEPS = VIEWS | {"cast"}
"""Operators that preserve the value of a single-element operand if the result is an integer."""


@dataclass(frozen=True, slots=True)
class Line:
    """An affine integer: const + the sum of coefficient * value + stride * iteration.

    `terms` lists loop-invariant values by name.
    """

    const: int
    terms: tuple[tuple[str, int], ...] = ()
    stride: int = 0

    def plus(self, other: Line, times: int = 1) -> Line:
        """Return the sum of this line and `times` the other."""
        terms = dict(self.terms)
        for name, n in other.terms:
            terms[name] = terms.get(name, 0) + times * n
        kept = tuple(sorted((k, n) for k, n in terms.items() if n))
        return Line(self.const + times * other.const, kept, self.stride + times * other.stride)

    def at(self, step: int) -> Line:
        """Return the line with iteration `step` as its origin."""
        return replace(self, const=self.const + step * self.stride)

    @property
    def number(self) -> int | None:
        """The value at iteration 0, if known."""
        return None if self.terms else self.const


@dataclass(frozen=True, slots=True)
class Positive:
    """A test that holds while the number is above 0."""

    line: Line


@dataclass(frozen=True, slots=True)
class NotZero:
    """A test that holds while the number, which changes by one per iteration, is not 0."""

    line: Line


@dataclass(frozen=True, slots=True)
class AllOf:
    """A test that holds while all of several tests hold."""

    parts: tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """A test that holds while any of several tests holds; a failed test never holds again."""

    parts: tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class Fixed:
    """A test that always holds, or never."""

    holds: bool


@dataclass(frozen=True, slots=True)
class Opaque:
    """A condition that the body must compute, by its name there."""

    value: str
    because: str


Test = Positive | NotZero | AllOf | AnyOf | Fixed | Opaque

Numbers = Callable[[str], "Line | None"]
"""Function that returns a value as a line, or None for a value that is not affine."""


class Tests:
    """An analysis of conditions in a graph; `number` returns integer values as lines."""

    def __init__(self, graph: Graph, number: Numbers, known: Mapping[str, Array]) -> None:
        self.graph, self.number, self.known = graph, number, known

    def read(self, value: str, holds: bool = True) -> Test:
        """Return a condition as a test; with `holds=False` its negation."""
        found = self.known.get(value)
        if found is not None and found.dtype != np.object_ and found.size == 1:
            return Fixed(bool(found.reshape(-1)[0]) == holds)
        node = self.graph.producers.get(value)
        if node is None:
            return Opaque(value if holds else "", "no node computes the condition")
        if node.op in VIEWS or (
            node.op == "cast" and _is_bool(self.graph.types.get(node.inputs[0]))
        ):
            return self._within(value, self.read(node.inputs[0], holds), holds)
        if node.op == "logical_not":
            return self._within(value, self.read(node.inputs[0], not holds), holds)
        if node.op in ("logical_and", "logical_or"):
            parts = tuple(self.read(i, holds) for i in node.inputs)
            return self._joined(value, holds, (node.op == "logical_and") == holds, parts)
        return self._comparison(value, node, holds)

    def _within(self, value: str, test: Test, holds: bool) -> Test:
        """Return the test; a test that the body computes gets the name of the outermost value."""
        if isinstance(test, Opaque):
            return Opaque(value if holds else "", test.because)
        return test

    def _joined(self, value: str, holds: bool, is_all: bool, parts: tuple[Test, ...]) -> Test:
        opaque = next((p for p in parts if isinstance(p, Opaque)), None)
        if is_all:
            unnamed = any(isinstance(p, Opaque) and not p.value for p in parts)
            if unnamed and opaque is not None:
                return Opaque(value if holds else "", opaque.because)
            return AllOf(
                tuple(q for p in parts for q in (p.parts if isinstance(p, AllOf) else (p,)))
            )
        if opaque is not None:
            return Opaque(value if holds else "", opaque.because)
        if all(map(_ends_once, parts)):
            return AnyOf(parts)
        return Opaque(value if holds else "", "one of two conditions may hold again later")

    def _comparison(self, value: str, node: Node, holds: bool) -> Test:
        if node.op not in _COMPARED:
            return Opaque(value if holds else "", f"{node.op} computes the condition")
        a, b = (self.number(i) for i in node.inputs)
        if a is None or b is None:
            other = node.inputs[0 if a is None else 1]
            because = f"{other} is not an affine function of the iteration number"
            return Opaque(value if holds else "", because)
        if node.op == "equal":
            line = b.plus(a, -1)
            if holds or abs(line.stride) != 1:
                return Opaque(value if holds else "", "the condition tests a counter for equality")
            return NotZero(line)
        above, extra = _COMPARED[node.op]
        line = (a.plus(b, -1) if above else b.plus(a, -1)).plus(Line(extra))
        return Positive(line if holds else Line(1).plus(line, -1))


_COMPARED: Mapping[str, tuple[bool, int]] = {
    "less": (False, 0),
    "less_equal": (False, 1),
    "greater": (True, 0),
    "greater_equal": (True, 1),
    "equal": (False, 0),
}
"""For each comparison: whether it requires a > b, and the addend that admits a = b."""


def _ends_once(test: Test) -> bool:
    if isinstance(test, Positive):
        return test.line.stride < 0
    return isinstance(test, Fixed) or (
        isinstance(test, AllOf | AnyOf) and all(map(_ends_once, test.parts))
    )


def _is_bool(t: Type | None) -> bool:
    return isinstance(t, TensorType) and t.dtype is DType.bool


def is_number(t: Type | None) -> bool:
    """Whether a type is a single integer."""
    return isinstance(t, TensorType) and t.dtype in COUNTERS and t.is_static and t.n_elements == 1


class Around:
    """The integers around the loops of a graph under construction, as lines."""

    def __init__(self, editor: Editor) -> None:
        self.ed = editor
        self._sizes: dict[Expr, str] = {}
        """For each open size visited so far: a value equal to this size."""

    def number(self, value: str) -> Line | None:
        """Return a value as an affine expression, or None if it is not a single integer."""
        if not is_number(self.ed.facts.types.get(value)):
            return None
        known = self.ed.known(value)
        found = None if known is None else only(known)
        if isinstance(found, int):
            return Line(found)
        node = self.ed.producer(value)
        made = None if node is None else combined(node, self.number)
        if made is not None:
            return made
        return Line(0, ((value if found is None else self._sizes.setdefault(found, value), 1),))

    def of_size(self, size: Expr) -> Line | None:
        """Return an open size as a line, or None if no visited value equals the size."""
        name = self._sizes.get(size)
        return None if name is None else Line(0, ((name, 1),))


class Induction:
    """The integers of a loop body, as lines over its iterations."""

    def __init__(self, node: Node, facts: Facts, around: Around) -> None:
        body = node.regions["body"]
        self.body, self.around, outer = body, around, around.number
        typed, found = infer(body, facts)
        self.graph = typed
        self.known = {k: v for k, v in found.known.items() if k in typed.types}
        self.types = found.types
        self._lines: dict[str, Line] = {}
        starts = node.inputs[2:]
        states = [v.name for v in body.inputs[2:]]
        self._lines[body.inputs[0].name] = Line(0, (), 1)
        symbolic = {s: Line(0, ((_own(s), 1),)) for s in states if is_number(self.types.get(s))}
        self._lines.update(symbolic)
        after = {s: self.line(r.value) for s, r in zip(states, body.results[1:], strict=False)}
        self._lines = {body.inputs[0].name: Line(0, (), 1)}
        for state, start in zip(states, starts, strict=True):
            before, now = symbolic.get(state), after[state]
            if before is None or now is None or not start:
                continue
            change, first = now.plus(before, -1), outer(start)
            if change.number is not None and not change.stride and first is not None:
                self._lines[state] = replace(first, stride=change.number)

    def line(self, value: str) -> Line | None:
        """Return a value of the body as a line, or None if it is not affine."""
        if value in self._lines:
            return self._lines[value]
        if not is_number(self.types.get(value)):
            return None
        if value in self.known:
            found = only(self.known[value])
            return Line(found) if isinstance(found, int) else self.around.of_size(found)
        if value in {v.name for v in self.body.inputs}:
            return None
        node = self.graph.producers.get(value)
        if node is None:
            return self.around.number(value)
        return combined(node, self.line)


def _own(state: str) -> str:
    return f"%{state}"


def combined(node: Node, number: Numbers) -> Line | None:
    """Return the result of a node on lines if it is a line again, else None."""
    if node.op in KEEPS:
        return number(node.inputs[0])
    how = _COMBINED.get(node.op)
    lines = [number(i) for i in node.inputs] if how is not None else []
    known = [line for line in lines if line is not None]
    return how(*known) if how is not None and len(known) == len(lines) else None


def _product(a: Line, b: Line) -> Line | None:
    for x, y in ((a, b), (b, a)):
        if y.number is not None and not y.stride:
            return Line(0).plus(x, y.number)
    return None


_COMBINED: Mapping[str, Callable[..., Line | None]] = {
    "neg": lambda a: Line(0).plus(a, -1),
    "add": lambda a, b: a.plus(b),
    "sub": lambda a, b: a.plus(b, -1),
    "mul": _product,
}
"""The result of each operator on lines that is a line again."""


def only(known: Array) -> Expr:
    """Return the only element if known, possibly as an expression of sizes."""
    value = known.reshape(-1)[0]
    return value if isinstance(value, Affine) else int(value)
