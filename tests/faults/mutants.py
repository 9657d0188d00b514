"""Mutants of the functions of rules, with one small change of the source each."""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from compiler.passes.engine.pattern import COMMUTATIVE

OTHER_OPERATOR = {
    "add": "sub",
    "sub": "add",
    "mul": "div",
    "div": "mul",
    "max": "min",
    "min": "max",
    "relu": "abs",
    "abs": "neg",
    "neg": "abs",
    "exp": "tanh",
    "tanh": "sigmoid",
    "sigmoid": "tanh",
    "sqrt": "abs",
    "reduce_sum": "reduce_mean",
    "reduce_mean": "reduce_sum",
    "reduce_max": "reduce_min",
    "reduce_min": "reduce_max",
    "reduce_l1": "reduce_sum",
    "logical_and": "logical_or",
    "logical_or": "logical_and",
    "less": "less_equal",
    "greater": "greater_equal",
    "less_equal": "less",
    "greater_equal": "greater",
    "floor": "ceil",
    "ceil": "floor",
}
"""The substitute for each operator of Python."""

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Mod: ast.FloorDiv,
}

SAME_EITHER_WAY = {*COMMUTATIVE, "logical_and", "logical_or", "objection_to", "operator"}
"""Calls in which the order of operands has no effect, or affects only a reason."""

WORDS = {"Skip", "Because", "Objection", "CompileError", "traffic", "counted", "_reason"}
"""Calls that only contribute to a reason."""


@dataclass(frozen=True)
class Mutant:
    """A function with a changed body."""

    name: str
    what: str
    line: int
    functions: tuple[FunctionType, ...]
    code: CodeType

    @contextmanager
    def at_work(self) -> Generator[None]:
        """Use the changed code of the functions in the block."""
        before = [f.__code__ for f in self.functions]
        for f in self.functions:
            f.__code__ = self.code
        try:
            yield
        finally:
            for f, old in zip(self.functions, before, strict=True):
                f.__code__ = old


Change = tuple[str, Callable[[Any], None]]


def mutants(functions: list[FunctionType]) -> Iterator[Mutant]:
    """Yield all mutants of functions with the same source."""
    code = functions[0].__code__
    path = Path(code.co_filename)
    tree = _parsed(path)
    found = _find(tree, code)
    if found is None:
        return
    for k, (what, _) in enumerate(_changes(found)):
        changed = copy.deepcopy(tree)
        node = _find(changed, code)
        assert node is not None, code.co_name
        what, change = list(_changes(node))[k]
        change(None)
        ast.fix_missing_locations(changed)
        made = _code_in(compile(changed, str(path), "exec", dont_inherit=True), code)
        if made is not None and made.co_freevars == code.co_freevars:
            line = int(what.partition(":")[0])
            yield Mutant(code.co_name, what, line, tuple(functions), made)


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _find(tree: ast.AST, code: CodeType) -> ast.FunctionDef | None:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
    return None


def _code_in(code: CodeType, like: CodeType) -> CodeType | None:
    pending = [code]
    while pending:
        here = pending.pop()
        if here.co_name == like.co_name and here.co_firstlineno == like.co_firstlineno:
            return here
        pending += [c for c in here.co_consts if isinstance(c, CodeType)]
    return None


def _changes(function: ast.FunctionDef) -> Iterator[Change]:
    """Yield every small change of a function's body, with a description."""
    for statement in function.body:
        yield from _in(statement)


def _in(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Call) and _called(node) in WORDS:
        # A replacement may be an argument of the same call as the reason.
        if _called(node) == "Because" and node.args:
            yield from _in(node.args[0])
        return
    if isinstance(node, ast.JoinedStr | ast.Assert):
        return
    yield from _of(node)
    for child in ast.iter_child_nodes(node):
        yield from _in(child)


def _called(call: ast.Call) -> str:
    f = call.func
    return f.id if isinstance(f, ast.Name) else f.attr if isinstance(f, ast.Attribute) else ""


def _of(node: ast.AST) -> Iterator[Change]:
    line = getattr(node, "lineno", 0)

    def change(words: str, fn: Callable[[], None]) -> Change:
        return f"{line}: {words}", lambda _: fn()

    match node:
        case ast.If() if _declines(node):
            yield change(
                f"never `{ast.unparse(node.test)}`",
                lambda: setattr(node, "test", ast.Constant(False)),
            )
        case ast.Call():
            text = ast.unparse(node)
            plain = not any(isinstance(a, ast.Starred) for a in node.args)
            if len(node.args) >= 2 and plain and _called(node) not in SAME_EITHER_WAY:
                yield change(
                    f"first operands of `{text}` change places",
                    lambda: node.args.__setitem__(slice(0, 2), node.args[1::-1]),
                )
            for k, keyword in enumerate(node.keywords):
                if keyword.arg:
                    yield change(
                        f"`{text}` without {keyword.arg}", lambda k=k: node.keywords.pop(k)
                    )
        case ast.Attribute(value=ast.Name(id="o"), attr=name) if name in OTHER_OPERATOR:
            other = OTHER_OPERATOR[name]
            yield change(f"{other} for {name}", lambda: setattr(node, "attr", other))
        case ast.Constant(value=bool() as flag):
            yield change(f"{not flag} for {flag}", lambda: setattr(node, "value", not flag))
        case ast.Constant(value=int() as n):
            yield change(f"{n + 1} for {n}", lambda: setattr(node, "value", n + 1))
        case ast.Constant(value=float() as x):
            yield change(f"{x + 1} for {x}", lambda: setattr(node, "value", x + 1))
        case ast.Compare(ops=[op]) if type(op) in _COMPARISONS:
            yield change(
                f"another comparison in `{ast.unparse(node)}`",
                lambda: setattr(node, "ops", [_COMPARISONS[type(op)]()]),
            )
        case ast.BinOp(op=op) if type(op) in _ARITHMETIC:
            yield change(
                f"another operator in `{ast.unparse(node)}`",
                lambda: setattr(node, "op", _ARITHMETIC[type(op)]()),
            )
        case ast.BoolOp():
            other_op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield change(f"and/or in `{ast.unparse(node)}`", lambda: setattr(node, "op", other_op))
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            yield change(
                f"`{ast.unparse(node)}` without its sign",
                lambda: (
                    setattr(node, "op", ast.UAdd() if isinstance(node.op, ast.USub) else node.op)
                    if isinstance(node.op, ast.USub)
                    else setattr(node, "operand", ast.UnaryOp(ast.Not(), node.operand))
                ),
            )
        case _:
            return


def _declines(node: ast.If) -> bool:
    """Return whether a condition leads only to a refusal."""
    last = node.body[-1]
    value = last.value if isinstance(last, ast.Return) else None
    return isinstance(last, ast.Raise) or (isinstance(value, ast.Call) and _called(value) == "Skip")


def unwrapped(fn: Any) -> FunctionType:
    """Return the function without wrappers."""
    found = inspect.unwrap(fn)
    assert isinstance(found, FunctionType), found
    return found
