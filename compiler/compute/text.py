"""The parser of scalar expressions and computations; the inverse of their `str`.

    computation softmax(X: f32[4,10]) -> Y: f32[4,10] {
      temporary T: f32[4]
      T[i] = reduce_max([j], X[i, j])  for i<4, j<10
      Y[i, j] = exp(sub(X[i, j], T[i]))  for i<4, j<10
    }

The text of a read has no element type; the declaration of the tensor states it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeVar, get_args

from compiler.compute.computation import Computation, Routine, Stage
from compiler.compute.scalar import (
    COMBINERS,
    FUNCTIONS,
    Accumulated,
    Bits,
    Convert,
    Fetch,
    IndexValue,
    Inside,
    Number,
    Read,
    Reduce,
    Scalar,
    apply,
)
from compiler.compute.statements import (
    If,
    Loop,
    LoopKind,
    Prefetch,
    ScatterStore,
    Statement,
    Store,
    While,
)
from compiler.errors import CompileError, Where
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.types import DType, TensorType, parse_type

T = TypeVar("T")

NAME = re.compile(r"[A-Za-z_][\w.']*")
_NUMBER = re.compile(
    r"True|False|[-+]?(?:inf|nan|\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?)"
)
_SPACE = re.compile(r"(?:\s|//[^\n]*)*")
_KINDS: tuple[LoopKind, ...] = get_args(LoopKind)
MAX_DEPTH = 200
"""The maximum nesting depth of expressions, below Python's recursion limit."""


class Cursor:
    """A position in a text, with parsers for the parts of computations and kernels."""

    def __init__(self, text: str, dtypes: Mapping[str, DType] | None = None) -> None:
        self.text = text
        self.at = 0
        self.dtypes: dict[str, DType] = dict(dtypes or {})
        self._depth = 0
        self.skip()

    def fail(self, needed: str, at: int | None = None) -> CompileError:
        """Return the error for a missing token at this position."""
        at = self.at if at is None else at
        line = self.text.count("\n", 0, at) + 1
        column = at - (self.text.rfind("\n", 0, at) + 1) + 1
        found = self.text[at : at + 30].split("\n")[0]
        return CompileError(
            "E-TEXT-SYNTAX",
            f"needed {needed}, got {found!r}",
            where=Where(source="text", line=line, column=column, length=1),
        )

    def skip(self) -> None:
        """Skip white space and comments."""
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def take(self, token: str) -> bool:
        """Consume a token if it is next; return whether it was consumed."""
        if not self.text.startswith(token, self.at):
            return False
        self.at += len(token)
        self.skip()
        return True

    def word(self, token: str) -> bool:
        """Consume an entire word if it is next; return whether it was consumed."""
        found = NAME.match(self.text, self.at)
        return bool(found and found.group() == token) and self.take(token)

    def expect(self, token: str) -> None:
        """Consume a token. Errors: E-TEXT-SYNTAX for another token."""
        if not self.take(token):
            raise self.fail(repr(token))

    def match(self, pattern: re.Pattern[str], needed: str) -> str:
        """Consume and return a match of a pattern. Errors: E-TEXT-SYNTAX."""
        found = pattern.match(self.text, self.at)
        if not found:
            raise self.fail(needed)
        self.at = found.end()
        self.skip()
        return found.group()

    def name(self) -> str:
        """Parse a name."""
        return self.match(NAME, "a name")

    def until(self, *stops: str) -> str:
        """Consume the text before the first of the given tokens outside brackets."""
        depth, at = 0, self.at
        while at < len(self.text):
            if depth == 0 and self.text.startswith(stops, at):
                found, self.at = self.text[self.at : at], at
                return found.strip()
            depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(self.text[at], 0)
            if depth < 0:
                break
            at += 1
        raise self.fail(" or ".join(map(repr, stops)), at)

    def expr(self, *stops: str) -> Expr:
        """Parse an integer expression up to one of the given tokens."""
        before = self.at
        try:
            return affine.parse(self.until(*stops))
        except CompileError as e:
            raise e.at(self.fail("", before).where) from e

    def items(self, close: str, item: Callable[[], T]) -> tuple[T, ...]:
        """Parse comma-separated items and the closing token."""
        found: list[T] = []
        while not self.take(close):
            if found:
                self.expect(",")
            found.append(item())
        return tuple(found)

    def index(self) -> tuple[Expr, ...]:
        """Parse indices in brackets."""
        self.expect("[")
        return self.items("]", lambda: self.expr(",", "]"))

    def dtype(self, label: str) -> DType:
        """Return the element type with a short name."""
        if label not in DType.__members__:
            raise self.fail("an element type")
        return DType[label]

    def end(self) -> None:
        """Check for the end of the text. Errors: E-TEXT-SYNTAX."""
        if self.at < len(self.text):
            raise self.fail("the end of the text")

    # Scalars

    def scalar(self) -> Scalar:
        """Parse a scalar expression."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.fail(f"an expression nested at most {MAX_DEPTH} deep")
        before = self.at
        name = self.name()
        if self.text.startswith("[", self.at):
            if name not in self.dtypes:
                raise self.fail("a declared tensor", before)
            found: Scalar = Read(name, self.index(), self.dtypes[name])
        else:
            if not self.take("("):
                raise self.fail("'[' or '('")
            found = self._call(name, before)
        self._depth -= 1
        return found

    def _call(self, name: str, before: int) -> Scalar:
        if name in FUNCTIONS:
            args = self.items(")", self.scalar)
            try:
                return apply(name, *args)
            except (AssertionError, StopIteration) as e:
                raise self.fail(f"operands that {name} takes ({e})", before) from e
        if name in DType.__members__:
            found: Scalar = Number(self._number(), DType[name])
        elif name == "inside":
            return self._inside()
        elif name == "fetch":
            return self._fetch()
        elif name.startswith("to_"):
            found = Convert(self.scalar(), self.dtype(name[3:]))
        elif name.startswith("bits_"):
            found = Bits(self.scalar(), self.dtype(name[5:]))
        elif name.startswith("index_"):
            found = IndexValue(self.expr(")"), self.dtype(name[6:]))
        elif name.startswith("accumulated_"):
            found = Accumulated(self.dtype(name[12:]))
        elif name.startswith("reduce_") and name[7:] in COMBINERS:
            self.expect("[")
            axes = self.items("]", self.name)
            self.expect(",")
            found = Reduce(name[7:], axes, self.scalar())
        else:
            raise self.fail("a function", before)
        self.expect(")")
        return found

    def _fetch(self) -> Fetch:
        tensor = self._declared()
        index: list[Scalar] = []
        while not self.take(")"):
            self.expect(",")
            index.append(self.scalar())
        return Fetch(tensor, tuple(index), self.dtypes[tensor])

    def _number(self) -> float | int | bool:
        text = self.match(_NUMBER, "a number")
        if text in ("True", "False"):
            return text == "True"
        return int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)

    def _inside(self) -> Inside:
        self.expect("[")
        tests = self.items("]", self._test)
        self.expect(",")
        then = self.scalar()
        self.expect(",")
        before = self.at
        otherwise = self.scalar()
        self.expect(")")
        if then.dtype is not otherwise.dtype:
            raise self.fail(f"an expression of type {then.dtype}", before)
        return Inside(tests, then, otherwise)

    def _test(self) -> tuple[Expr, Expr]:
        self.expect("(")
        e = self.expr(",")
        self.expect(",")
        n = self.expr(")")
        self.expect(")")
        return e, n

    # Statements

    def block(self) -> tuple[Statement, ...]:
        """Parse statements in braces."""
        self.expect("{")
        self._depth += 1
        if self._depth > MAX_DEPTH // 2:
            raise self.fail(f"blocks nested at most {MAX_DEPTH // 2} deep")
        found: list[Statement] = []
        while not self.take("}"):
            found.append(self.statement())
        self._depth -= 1
        return tuple(found)

    def statement(self) -> Statement:
        """Parse a loop, a condition or a store."""
        for kind in _KINDS:
            if self.word(kind):
                return self._loop(kind)
        if self.word("if"):
            return If(self.scalar(), self.block())
        if self.word("while"):
            return While(self.scalar(), self.block())
        if self.word("prefetch"):
            return Prefetch(self._declared(), self.index())
        if self.word("scatter"):
            name = self._declared()
            self.expect("(")
            place = self.items(")", self.scalar)
            self.expect("=")
            return ScatterStore(name, place, self.scalar())
        stream = self.word("stream")
        name = self._declared()
        index = self.index()
        self.expect("=")
        return Store(name, index, self.scalar(), stream)

    def _declared(self) -> str:
        before = self.at
        name = self.name()
        if name not in self.dtypes:
            raise self.fail("a declared tensor", before)
        return name

    def _loop(self, kind: LoopKind) -> Loop:
        var = self.name()
        self.expect("in")
        start = self.expr("..")
        self.expect("..")
        stop = self.expr("{")
        return Loop(var, start, stop, self.block(), kind)

    # Computations

    def declaration(self) -> tuple[str, TensorType]:
        """Parse `name: type`, and record the type for later reads."""
        before = self.at
        name = self.name()
        self.expect(":")
        label = self.match(re.compile(r"\w+"), "an element type")
        if not self.text.startswith("[", self.at):
            raise self.fail("'['")
        start = self.at
        self.index()
        text = label + self.text[start : self.at].strip()
        if self.text.startswith("{c", self.at) or self.text.startswith("{h", self.at):
            start = self.at
            self.at = self.text.find("}", self.at) + 1 or len(self.text)
            text += self.text[start : self.at]
            self.skip()
        t = parse_type(text)
        if not isinstance(t, TensorType) or not t.is_ranked or name in self.dtypes:
            raise self.fail("a new name and a type of known rank", before)
        self.dtypes[name] = t.dtype
        return name, t

    def stage(self) -> Stage:
        """Parse `target[index] = value  for i<4, j<10`."""
        target = self.name()
        index = self.index()
        self.expect("=")
        value = self.scalar()
        extents: dict[str, Expr] = {}
        if self.word("for"):
            while not extents or self.take(","):
                axis = self.name()
                self.expect("<")
                is_number = re.compile(r"\d+(?=[,\s}]|$)").match(self.text, self.at)
                extents[axis] = (
                    int(self.match(re.compile(r"\d+"), "a number"))
                    if is_number
                    else self.expr(",", "\n", "}")
                )
                self.skip()
        return Stage(target, index, value, extents)

    def computation(self) -> Computation:
        """Parse a computation."""
        self.expect("computation")
        name = self.name()
        self.expect("(")
        tensors = dict(inputs := self.items(")", self.declaration))
        self.expect("->")
        outputs = [self.declaration()] if not self.take("{") else []
        while outputs and not self.take("{"):
            self.expect(",")
            outputs.append(self.declaration())
        tensors.update(outputs)
        while self.word("temporary"):
            tensors.update([self.declaration()])
        stages: list[Stage | Routine] = []
        while not self.take("}"):
            stages.append(Routine(self.block()) if self.word("routine") else self.stage())
        return Computation(
            name, tuple(n for n, _ in inputs), tuple(n for n, _ in outputs), tensors, tuple(stages)
        )


def parse_scalar(text: str, dtypes: Mapping[str, DType]) -> Scalar:
    """Parse a scalar expression; `dtypes` are the tensors' element types.

    Errors: E-TEXT-SYNTAX.
    """
    cursor = Cursor(text, dtypes)
    found = cursor.scalar()
    cursor.end()
    return found


def parse_computation(text: str) -> Computation:
    """Parse a computation; the result has no origins, which the text does not contain.

    Errors: E-TEXT-SYNTAX.
    """
    cursor = Cursor(text)
    found = cursor.computation()
    cursor.end()
    return found
