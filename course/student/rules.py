"""Rules in student code.

    from course.student.rules import Any, o, rule

    @rule(o.neg(o.neg(Any("x"))))
    def drop_double_negation(x):
        return x

The decorator is that of the compiler, except that it asks for no example and registers nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any as Anything

from compiler.errors import CompileError
from compiler.passes.engine.pattern import (
    Any,
    AnyAttr,
    Const,
    Named,
    Number,
    OneOf,
    placeholders,
    roots,
)
from compiler.passes.engine.rule import ROUNDINGS, Because, Rule, Skip
from compiler.passes.rules.calls import o

__all__ = [
    "ROUNDINGS",
    "Any",
    "AnyAttr",
    "Because",
    "Const",
    "Named",
    "Number",
    "OneOf",
    "Rule",
    "Skip",
    "o",
    "rule",
]


def rule(
    pattern: Anything, *, error: float = 0.0, single_use: bool = False, result: str = ""
) -> Callable[[Callable[..., Anything]], Rule]:
    """Declare a function as the replacement of a pattern; its parameters are the placeholders.

    Errors: E-ANSWER-FORM for a pattern without a root, or for other parameters.
    """

    def declare(body: Callable[..., Anything]) -> Rule:
        if not roots(pattern):
            raise CompileError("E-ANSWER-FORM", "the root of a pattern is an operator, like o.neg")
        code = body.__code__
        taken = {*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]}
        wanted = {*placeholders(pattern), *filter(None, [result])}
        if taken != wanted:
            message = (
                f"{body.__name__} takes {_listed(taken)}, but the pattern binds {_listed(wanted)}"
            )
            hint = "give the function exactly the placeholders of the pattern as parameters"
            raise CompileError("E-ANSWER-FORM", message, hint=hint)
        words, place = body.__doc__ or "", f"{code.co_filename}:{code.co_firstlineno}"

        @wraps(body)
        def replacement(*values: Anything, **named: Anything) -> Anything:
            found = body(*values, **named)
            if isinstance(found, type):
                message = f"{body.__name__} returned the class {found.__name__}"
                hint = f'make a value of it, such as {found.__name__}("the reason")'
                raise CompileError("E-ANSWER-FORM", message, hint=hint)
            return found

        return Rule(
            body.__name__, pattern, replacement, words, place, "", "", error, single_use, result
        )

    return declare


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"
