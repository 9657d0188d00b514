"""Trip counts of loops with counters: induction variables and their bounds.

A state with a constant integer increment per iteration is an induction variable. If a comparison
relates an induction variable to a loop-invariant value, arithmetic gives the number of iterations
for which the comparison holds.
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
class AddRecurrence:
    """An add recurrence {start, +, step}: an integer that grows by `step` per iteration.

    The start is `constant` plus a sum of products: `terms` pairs the name of each loop-invariant
    value with its coefficient. An integer that is loop-invariant itself has step 0. Source:
    SCEVAddRecExpr of LLVM, affine with a constant step.
    """

    constant: int
    terms: tuple[tuple[str, int], ...] = ()
    step: int = 0

    def plus(self, other: AddRecurrence, times: int = 1) -> AddRecurrence:
        """Return this recurrence plus the other recurrence multiplied by `times`."""
        terms = dict(self.terms)
        for name, n in other.terms:
            terms[name] = terms.get(name, 0) + times * n
        kept = tuple(sorted((k, n) for k, n in terms.items() if n))
        return AddRecurrence(
            self.constant + times * other.constant, kept, self.step + times * other.step
        )

    def shifted(self, iterations: int) -> AddRecurrence:
        """Return the recurrence whose start is the value after this number of iterations."""
        return replace(self, constant=self.constant + iterations * self.step)

    @property
    def known_start(self) -> int | None:
        """The value at iteration 0, if known."""
        return None if self.terms else self.constant


@dataclass(frozen=True, slots=True)
class Positive:
    """A test that holds while the number is above 0."""

    recurrence: AddRecurrence


@dataclass(frozen=True, slots=True)
class NotZero:
    """A test that holds while the number, which changes by one per iteration, is not 0."""

    recurrence: AddRecurrence


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
    """A test that always holds, or a test that never holds."""

    holds: bool


@dataclass(frozen=True, slots=True)
class Opaque:
    """A condition that the body must compute, with its name in the body."""

    value: str
    because: str


Test = Positive | NotZero | AllOf | AnyOf | Fixed | Opaque

Recurrences = Callable[[str], "AddRecurrence | None"]
"""Function that returns the recurrence of a value, or None for a value that is not affine."""


class Tests:
    """An analysis of conditions in a graph; `recurrence_of` maps an integer to its recurrence."""

    def __init__(
        self, graph: Graph, recurrence_of: Recurrences, known: Mapping[str, Array]
    ) -> None:
        self.graph, self.recurrence_of, self.known = graph, recurrence_of, known

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
        """Return the test of a condition; an opaque test gets the name of the condition."""
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
        return Opaque(value if holds else "", "one of two conditions may become true again")

    def _comparison(self, value: str, node: Node, holds: bool) -> Test:
        if node.op not in _COMPARED:
            return Opaque(value if holds else "", f"{node.op} computes the condition")
        a, b = (self.recurrence_of(i) for i in node.inputs)
        if a is None or b is None:
            other = node.inputs[0 if a is None else 1]
            because = f"{other} is not an affine function of the iteration number"
            return Opaque(value if holds else "", because)
        if node.op == "equal":
            recurrence = b.plus(a, -1)
            if holds or abs(recurrence.step) != 1:
                return Opaque(value if holds else "", "the condition tests a counter for equality")
            return NotZero(recurrence)
        above, extra = _COMPARED[node.op]
        recurrence = (a.plus(b, -1) if above else b.plus(a, -1)).plus(AddRecurrence(extra))
        return Positive(recurrence if holds else AddRecurrence(1).plus(recurrence, -1))


_COMPARED: Mapping[str, tuple[bool, int]] = {
    "less": (False, 0),
    "less_equal": (False, 1),
    "greater": (True, 0),
    "greater_equal": (True, 1),
    "equal": (False, 0),
}
"""For each comparison of a and b: whether a > b satisfies it, and 1 if a = b satisfies it."""


def _ends_once(test: Test) -> bool:
    if isinstance(test, Positive):
        return test.recurrence.step < 0
    return isinstance(test, Fixed) or (
        isinstance(test, AllOf | AnyOf) and all(map(_ends_once, test.parts))
    )


def _is_bool(t: Type | None) -> bool:
    return isinstance(t, TensorType) and t.dtype is DType.bool


def is_number(t: Type | None) -> bool:
    """Whether a type is a single integer."""
    return isinstance(t, TensorType) and t.dtype in COUNTERS and t.is_static and t.n_elements == 1


class Invariants:
    """The integers outside the loops of a graph under construction, as recurrences of step 0."""

    def __init__(self, editor: Editor) -> None:
        self.ed = editor
        self._sizes: dict[Expr, str] = {}
        """For each open size visited so far: a value equal to this size."""

    def recurrence_of(self, value: str) -> AddRecurrence | None:
        """Return the recurrence of a value, or None if it is not a single integer."""
        if not is_number(self.ed.facts.types.get(value)):
            return None
        known = self.ed.known(value)
        found = None if known is None else only(known)
        if isinstance(found, int):
            return AddRecurrence(found)
        node = self.ed.producer(value)
        made = None if node is None else combined(node, self.recurrence_of)
        if made is not None:
            return made
        return AddRecurrence(
            0, ((value if found is None else self._sizes.setdefault(found, value), 1),)
        )

    def of_size(self, size: Expr) -> AddRecurrence | None:
        """Return the recurrence of an open size, or None if no visited value equals the size."""
        name = self._sizes.get(size)
        return None if name is None else AddRecurrence(0, ((name, 1),))


class InductionVariables:
    """The integers of a loop body, as recurrences over its iterations."""

    def __init__(self, node: Node, facts: Facts, outside: Invariants) -> None:
        body = node.regions["body"]
        self.body, self.outside = body, outside
        typed, found = infer(body, facts)
        self.graph = typed
        self.known = {k: v for k, v in found.known.items() if k in typed.types}
        self.types = found.types
        self._found: dict[str, AddRecurrence] = {}
        starts = node.inputs[2:]
        states = [v.name for v in body.inputs[2:]]
        self._found[body.inputs[0].name] = AddRecurrence(0, step=1)
        symbolic = {
            s: AddRecurrence(0, ((_own(s), 1),)) for s in states if is_number(self.types.get(s))
        }
        self._found.update(symbolic)
        after = {
            s: self.recurrence_of(r.value) for s, r in zip(states, body.results[1:], strict=False)
        }
        self._found = {body.inputs[0].name: AddRecurrence(0, step=1)}
        for state, start in zip(states, starts, strict=True):
            before, now = symbolic.get(state), after[state]
            if before is None or now is None or not start:
                continue
            change, first = now.plus(before, -1), outside.recurrence_of(start)
            if change.known_start is not None and not change.step and first is not None:
                self._found[state] = replace(first, step=change.known_start)

    def recurrence_of(self, value: str) -> AddRecurrence | None:
        """Return the recurrence of a value of the body, or None if it is not affine."""
        if value in self._found:
            return self._found[value]
        if not is_number(self.types.get(value)):
            return None
        if value in self.known:
            found = only(self.known[value])
            return AddRecurrence(found) if isinstance(found, int) else self.outside.of_size(found)
        if value in {v.name for v in self.body.inputs}:
            return None
        node = self.graph.producers.get(value)
        if node is None:
            return self.outside.recurrence_of(value)
        return combined(node, self.recurrence_of)


def _own(state: str) -> str:
    return f"%{state}"


def combined(node: Node, recurrence_of: Recurrences) -> AddRecurrence | None:
    """Return the result of a node whose operands are recurrences, or None if it is not affine."""
    if node.op in KEEPS:
        return recurrence_of(node.inputs[0])
    how = _COMBINED.get(node.op)
    recurrences = [recurrence_of(i) for i in node.inputs] if how is not None else []
    known = [r for r in recurrences if r is not None]
    return how(*known) if how is not None and len(known) == len(recurrences) else None


def _product(a: AddRecurrence, b: AddRecurrence) -> AddRecurrence | None:
    for x, y in ((a, b), (b, a)):
        if y.known_start is not None and not y.step:
            return AddRecurrence(0).plus(x, y.known_start)
    return None


_COMBINED: Mapping[str, Callable[..., AddRecurrence | None]] = {
    "neg": lambda a: AddRecurrence(0).plus(a, -1),
    "add": lambda a, b: a.plus(b),
    "sub": lambda a, b: a.plus(b, -1),
    "mul": _product,
}
"""For each operator that maps recurrences to a recurrence: the function for the result."""


def only(known: Array) -> Expr:
    """Return the only element if known, possibly as an expression of sizes."""
    value = known.reshape(-1)[0]
    return value if isinstance(value, Affine) else int(value)
