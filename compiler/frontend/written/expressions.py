"""Evaluation of expressions in the Python subset of written models."""

from __future__ import annotations

import ast
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from compiler.dataclass import dataclass
from compiler.errors import CompileError, Where, require
from compiler.frontend.tracing.functions import MAKERS, current
from compiler.frontend.tracing.tensor import BINARY, Tensor, indexed
from compiler.frontend.tracing.tracing import Tracing, check_option, like_one_of, shown
from compiler.frontend.written import numbers
from compiler.frontend.written.text import WritingLimits
from compiler.ir.operator import OPERATORS, Operator
from compiler.ir.types import DType

Scope = Mapping[str, Any]
T = TypeVar("T")

_SYMBOLS: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Invert: "~",
    ast.Not: "not",
    ast.And: "and",
    ast.Or: "or",
}

_ENDS = re.compile(rb"\r\n?|\n")
"""The line separators of Python."""

DTYPES = {d.label: d for d in DType}
PROPERTIES = ("shape", "rank", "dtype", "T")
BUILT_IN = ("range", "len")


@dataclass(frozen=True)
class Function:
    """A function in the text: its parameters with their defaults, and the enclosing scope."""

    name: str
    parameters: tuple[str, ...]
    by_name_only: tuple[str, ...]
    defaults: Mapping[str, Any]
    body: tuple[ast.stmt, ...]
    outer: Scope

    def bound(self, operands: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
        """Bind values to all parameters. Errors: E-WRITE-VALUE."""
        takes = f"{self.name} takes ({', '.join(self.parameters + self.by_name_only)})"
        fits = len(operands) <= len(self.parameters)
        require(fits, "E-WRITE-VALUE", f"{takes}, got {len(operands)} values")
        found = dict(zip(self.parameters, operands, strict=False))
        for name, value in options.items():
            known = name in self.parameters + self.by_name_only and name not in found
            require(known, "E-WRITE-VALUE", f"{takes}, got {name!r:.60}")
            found[name] = value
        for name in self.parameters + self.by_name_only:
            require(
                name in found or name in self.defaults,
                "E-WRITE-VALUE",
                f"{takes}, but {name} is missing",
            )
            found.setdefault(name, self.defaults.get(name))
        return found


@dataclass(frozen=True)
class _Method:
    """An operator bound to its first operand, as in `x.relu`."""

    of: Tensor
    op: Operator


@dataclass(frozen=True)
class _Word:
    """A predefined name: a constructor of constants, `range` or `len`."""

    name: str


def is_known(value: Any) -> bool:
    """Return whether a value is known while the model is read, unlike the elements of a tensor."""
    return value is None or isinstance(value, int | float | str | list | tuple)


class Expressions(ABC):
    """The evaluator of expressions, which computes all values while the text is read."""

    def __init__(self, text: str, source: str, limits: WritingLimits) -> None:
        self.text, self.source, self.limits = text, source, limits
        self.rows = text.splitlines(keepends=True)
        self.tracing = Tracing("model", limits.tracing)
        self.depth = 0

    # Positions

    def place(self, node: ast.AST) -> Where:
        """Return the position of a syntax node, in characters."""
        line: int = getattr(node, "lineno", 1)
        end_line: int = getattr(node, "end_lineno", None) or line
        row = _ENDS.split(self.text.encode())[line - 1]
        start: int = getattr(node, "col_offset", 0)
        end: int = getattr(node, "end_col_offset", None) or start + 1
        if end_line != line:
            end = len(row)
        column = len(row[:start].decode("utf-8", "replace"))
        length = len(row[start:end].decode("utf-8", "replace"))
        return Where(self.source, line, column + 1, max(length, 1))

    def at(self, node: ast.AST, compute: Callable[[], T]) -> T:
        """Compute a value; an error without a line gets the position of this syntax node."""
        try:
            return compute()
        except CompileError as e:
            if e.where.line:
                raise
            raise e.moved_to(self.place(node)) from e.__cause__
        except RecursionError:
            message = "this is nested too deeply"
            raise CompileError("E-WRITE-LIMIT", message, where=self.place(node)) from None

    def unavailable(self, node: ast.AST, what: str = "") -> CompileError:
        """Return the error for unsupported Python syntax."""
        words = what or _WORDS.get(type(node), type(node).__name__.lower())
        return CompileError(
            "E-WRITE-PYTHON", f"{words} is not available here", where=self.place(node)
        )

    # Values.

    def value(self, node: ast.expr, scope: Scope) -> Any:
        """Evaluate an expression. Errors: at its position."""
        return self.at(node, lambda: self._value(node, scope))

    def _value(self, node: ast.expr, scope: Scope) -> Any:
        match node:
            case ast.Constant(value=value):
                return self._literal(node, value)
            case ast.Name(id=name):
                return self._named(name, scope)
            case ast.BinOp(left=left, op=op, right=right):
                return self.binary(op, self.value(left, scope), self.value(right, scope), node)
            case ast.UnaryOp(op=op, operand=operand):
                return self._unary(_SYMBOLS[type(op)], self.value(operand, scope))
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._compare(op, self.value(left, scope), self.value(right, scope), node)
            case ast.BoolOp(op=op, values=parts):
                return self._logic(op, parts, scope)
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                return self.value(body if self.truth(test, scope) else otherwise, scope)
            case ast.List(elts=parts):
                return self._bounded([self.value(p, scope) for p in parts])
            case ast.Tuple(elts=parts):
                return self._bounded(tuple(self.value(p, scope) for p in parts))
            case ast.Dict(keys=keys, values=values):
                if None in keys:
                    raise self.unavailable(node, "** in a dictionary")
                return {
                    _key(self.value(k, scope)): self.value(v, scope)
                    for k, v in zip(keys, values, strict=True)
                    if k is not None
                }
            case ast.Attribute(value=of, attr=name):
                return self._attribute(self.value(of, scope), name)
            case ast.Subscript(value=of, slice=index):
                return self._element(self.value(of, scope), index, scope)
            case ast.Call():
                return self._call(node, scope)
            case _:
                raise self.unavailable(node)

    @abstractmethod
    def truth(self, test: ast.expr, scope: Scope) -> bool:
        """Evaluate a condition known while the model is read."""

    @abstractmethod
    def call_function(self, f: Function, operands: Sequence[Any], options: dict[str, Any]) -> Any:
        """Call a function of the text."""

    def _literal(self, node: ast.expr, value: Any) -> Any:
        if value is Ellipsis or value is None or isinstance(value, str):
            return value
        if isinstance(value, int | float):
            return numbers.number_of(lambda: value)
        raise self.unavailable(node, f"{type(value).__name__} as a literal")

    def _named(self, name: str, scope: Scope) -> Any:
        if name in scope:
            return scope[name]
        if name in MAKERS or name in BUILT_IN:
            return _Word(name)
        found = OPERATORS.get(name) or DTYPES.get(name)
        if found is None:
            known = [*scope, *MAKERS, *BUILT_IN, *OPERATORS]
            hint = like_one_of(name, known) or "a name must be an operator or be defined earlier"
            raise CompileError("E-GRAPH-NAME", f"{name!r:.60} is not defined", hint=hint)
        return found

    def binary(self, op: ast.AST, a: Any, b: Any, node: ast.AST) -> Any:
        """Evaluate `a op b`; if an operand is a tensor, add a node."""
        symbol = _SYMBOLS.get(type(op), "")
        if not isinstance(a, Tensor) and not isinstance(b, Tensor):
            return self._bounded(
                numbers.calculated(symbol, a, b, self.limits.tracing.list_elements)
            )
        if symbol not in BINARY:
            raise self.unavailable(node, f"{symbol or 'this operator'} between tensors")
        if isinstance(a, Tensor):
            return a.binary(symbol, b)
        assert isinstance(b, Tensor)
        return b.binary(symbol, a, reverse=True)

    def _bounded(self, value: T) -> T:
        """Check the total length of a value's nested lists, so that iteration over them is bounded.

        A list that occurs several times inside the value counts each time.
        Errors: E-WRITE-LIMIT.
        """
        if isinstance(value, list | tuple):
            numbers.check_length(value, self.limits.tracing.list_elements)
        return value

    def _unary(self, symbol: str, value: Any) -> Any:
        if isinstance(value, Tensor):
            require(symbol in "-~+", "E-WRITE-VALUE", "for a tensor, write logical_not(x)")
            return value if symbol == "+" else value.unary(symbol)
        if symbol == "not" and is_known(value):
            return not value
        if not numbers.is_number(value) or (symbol == "~" and not isinstance(value, int)):
            raise CompileError("E-WRITE-VALUE", f"{symbol} needs a number, got {shown(value)}")
        if symbol == "~":
            return ~value
        return -value if symbol == "-" else value

    def _compare(self, op: ast.AST, a: Any, b: Any, node: ast.AST) -> Any:
        symbol = _SYMBOLS.get(type(op), "")
        if not symbol:
            raise self.unavailable(node, "`is` or `in`")
        if isinstance(a, Tensor):
            return a.binary(symbol, b)
        if isinstance(b, Tensor):
            return b.binary({"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(symbol, symbol), a)
        return numbers.compared(symbol, a, b)

    def _logic(self, op: ast.AST, parts: list[ast.expr], scope: Scope) -> Any:
        value: Any = None
        for part in parts:
            value = self.value(part, scope)
            if not is_known(value):
                hint = "for tensors, write logical_and(a, b) or logical_or(a, b)"
                message = (
                    f"{_SYMBOLS[type(op)]} needs values that are known while the model is read, "
                    f"got {shown(value)}"
                )
                raise CompileError("E-WRITE-VALUE", message, where=self.place(part), hint=hint)
            if bool(value) == isinstance(op, ast.Or):
                return value
        return value

    def _attribute(self, of: Any, name: str) -> Any:
        if not isinstance(of, Tensor):
            message = f"{shown(of)} has no attribute {name!r:.60}"
            raise CompileError("E-WRITE-VALUE", message, hint="only tensors have attributes")
        match name:
            case "shape":
                return of.shape
            case "rank":
                return of.rank
            case "dtype":
                return of.dtype
            case "T":
                return of.T
            case _:
                pass
        if name not in OPERATORS:
            hint = like_one_of(name, (*PROPERTIES, *OPERATORS))
            raise CompileError(
                "E-WRITE-VALUE", f"a tensor has no attribute {name!r:.60}", hint=hint
            )
        return _Method(of, OPERATORS[name])

    def _element(self, of: Any, index: ast.expr, scope: Scope) -> Any:
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        places = tuple(self._place_in(p, scope) for p in parts)
        if isinstance(of, Tensor):
            return indexed(of, places)
        if not isinstance(of, list | tuple) or len(places) != 1:
            raise CompileError("E-WRITE-VALUE", f"{shown(of)} cannot be indexed")
        [at] = places
        if not isinstance(at, int | slice):
            raise CompileError("E-WRITE-VALUE", f"a list cannot be indexed by {shown(at)}")
        try:
            return of[at]
        except IndexError:
            message = f"index {at} is outside a list of {len(of)} elements"
            raise CompileError("E-WRITE-VALUE", message) from None

    def _place_in(self, part: ast.expr, scope: Scope) -> Any:
        if not isinstance(part, ast.Slice):
            return self.value(part, scope)
        ends = [
            None if each is None else self.value(each, scope)
            for each in (part.lower, part.upper, part.step)
        ]
        for each in ends:
            fits = each is None or (type(each) is int and abs(each) < numbers.MOST)
            needed = "a slice needs known integers"
            require(fits, "E-WRITE-VALUE", f"{needed}, got {shown(each)}")
        require(ends[2] != 0, "E-WRITE-VALUE", "the step of a slice cannot be 0")
        return slice(*ends)

    # Calls.

    def _call(self, node: ast.Call, scope: Scope) -> Any:
        called = self.value(node.func, scope)
        operands: list[Any] = []
        for each in node.args:
            if isinstance(each, ast.Starred):
                operands += self.series(each.value, scope)
            else:
                operands.append(self.value(each, scope))
        options: dict[str, Any] = {}
        for k in node.keywords:
            if k.arg is None:
                raise self.unavailable(k.value, "** in a call")
            options[k.arg] = self.at(k, lambda k=k: self._option(called, k, scope))
        return self.at(node.func, lambda: self._called(called, operands, options))

    def _option(self, called: Any, k: ast.keyword, scope: Scope) -> Any:
        """Evaluate a keyword argument, and check at its position that the operator accepts it."""
        value = self.value(k.value, scope)
        op = called.op if isinstance(called, _Method) else called
        if isinstance(op, Operator) and k.arg:
            check_option(op, k.arg, value)
        return value

    def _called(self, called: Any, operands: list[Any], options: dict[str, Any]) -> Any:
        match called:
            case Function():
                return self.call_function(called, operands, options)
            case _Method(of, op):
                return self.tracing.apply(op, [of, *operands], options)
            case Operator(name=name):
                if name in numbers.FUNCTIONS and operands and all(map(numbers.is_number, operands)):
                    return numbers.number_of(lambda: numbers.FUNCTIONS[name](*operands, **options))
                return self.tracing.apply(called, operands, options)
            case _Word("len"):
                fits = len(operands) == 1 and isinstance(operands[0], list | tuple) and not options
                require(fits, "E-WRITE-VALUE", "len takes one list; sizes are in x.shape")
                return len(operands[0])
            case _Word("range") if any(isinstance(o, Tensor) for o in operands):
                return self.tracing.apply(OPERATORS["range"], operands, options)
            case _Word("range"):
                return self._range(operands, options)
            case _Word(name):
                return self._made(name, operands, options)
            case _:
                raise CompileError("E-WRITE-VALUE", f"{shown(called)} is not a function")

    def _made(self, name: str, operands: list[Any], options: dict[str, Any]) -> Tensor:
        """Create a constant from checked arguments."""
        token = current.set(self.tracing)
        try:
            return MAKERS[name](*operands, **options)
        except TypeError:
            words = (MAKERS[name].__doc__ or "").partition("\n")[0]
            raise CompileError(
                "E-WRITE-VALUE", f"{name} does not accept these arguments", hint=words
            ) from None
        finally:
            current.reset(token)

    def _range(self, operands: list[Any], options: dict[str, Any]) -> list[int]:
        fits = 1 <= len(operands) <= 3 and not options and all(type(o) is int for o in operands)
        needed = "range takes one to three known integers"
        require(fits and (len(operands) < 3 or operands[2] != 0), "E-WRITE-VALUE", needed)
        iterations = range(*operands)
        # len() fails for a huge range.
        most = self.limits.iterations
        require(
            not iterations[most:], "E-WRITE-LIMIT", f"a loop may have at most {most:,} iterations"
        )
        return list(iterations)

    def series(self, node: ast.expr, scope: Scope) -> Sequence[Any]:
        """Evaluate the iterable of a loop: a list or a range. Errors: E-WRITE-VALUE."""
        value = self.value(node, scope)
        if not isinstance(value, list | tuple):
            message = f"loops iterate over range(...) or a list, not {shown(value)}"
            raise CompileError("E-WRITE-VALUE", message, where=self.place(node))
        return value


def _key(key: Any) -> Any:
    require(isinstance(key, str), "E-WRITE-VALUE", "the keys of a dictionary must be strings")
    return key


_WORDS: dict[type[ast.AST], str] = {
    ast.Import: "`import`",
    ast.ImportFrom: "`import`",
    ast.ClassDef: "`class`",
    ast.While: "`while`",
    ast.With: "`with`",
    ast.Try: "`try`",
    ast.Raise: "`raise`",
    ast.Global: "`global`",
    ast.Nonlocal: "`nonlocal`",
    ast.Delete: "`del`",
    ast.Assert: "`assert`",
    ast.Lambda: "`lambda`",
    ast.Await: "`await`",
    ast.AsyncFunctionDef: "`async`",
    ast.AsyncFor: "`async`",
    ast.AsyncWith: "`async`",
    ast.Yield: "`yield`",
    ast.YieldFrom: "`yield`",
    ast.JoinedStr: "an f-string",
    ast.ListComp: "a list comprehension",
    ast.SetComp: "a set comprehension",
    ast.DictComp: "a dictionary comprehension",
    ast.GeneratorExp: "a generator",
    ast.Set: "a set",
    ast.NamedExpr: "`:=`",
    ast.Starred: "`*` here",
    ast.Break: "`break`",
    ast.Continue: "`continue`",
    ast.Match: "`match`",
    ast.For: "`else` of a loop",
    ast.Compare: "a chain of comparisons",
}
"""The names of Python syntax in messages."""
