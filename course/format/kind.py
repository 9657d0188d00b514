"""Declarations of kinds of blocks: options, body, description, and the function that runs it.

    @block_kind(body="text")
    def pipeline(run: Run, text: str, *, name: str, of: str) -> Results:
        '''Run passes on a graph.'''

The keyword-only parameters are the options of the block, and the docstring is its description.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, Literal, get_args, get_origin, get_type_hints

from compiler.dataclass import dataclass
from compiler.errors import CompileError, Where

Value = str | int | float | bool

Body = Literal["none", "text", "toml"]
"""The body of a block: empty, the text form of a thing, or TOML."""

Read = Callable[[str, Where], Any]
"""A function from a body, and the position of its first line, to the typed content."""

NAME = re.compile(r"[A-Za-z_]\w{0,59}\Z")
"""The name of a block; references begin with it."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a kind of block; `required` if it has no default."""

    name: str
    kind: type
    default: Any
    choices: tuple[str, ...] = ()
    required: bool = False

    def objection(self, value: Value) -> str:
        """Return why a value does not fit, or ""."""
        fits = type(value) is self.kind or (self.kind is float and type(value) is int)
        if self.choices:
            return "" if value in self.choices else f"one of {', '.join(self.choices)}"
        if fits and self.name == "name":
            return "" if NAME.match(str(value)) else "a name of letters, digits and underscores"
        return "" if fits else _WORDS[self.kind]


_WORDS = {int: "an integer", float: "a number", bool: "true or false", str: "a text"}


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A kind of block. `run` is None for blocks that only the page shows.

    Blocks of a `late` kind run after all others, because they read results of later blocks.
    """

    name: str
    words: str
    body: Body
    options: dict[str, Option]
    read: Read
    run: Callable[..., Any] | None
    late: bool = False

    @property
    def title(self) -> str:
        """The first line of the description."""
        return self.words.split("\n", 1)[0]

    def bind(self, options: dict[str, Value], where: Where) -> dict[str, Value]:
        """Check the given options. Errors: E-LESSON-BLOCK."""
        for name, value in options.items():
            if name not in self.options:
                known = ", ".join(self.options) or "none"
                message = f"{self.name} has no option {name!r:.40}; options: {known}"
                raise CompileError("E-LESSON-BLOCK", message, where=where)
            wanted = self.options[name].objection(value)
            if wanted:
                message = f"{self.name} requires {name} to be {wanted}, got {value!r:.60}"
                raise CompileError("E-LESSON-BLOCK", message, where=where)
        for option in self.options.values():
            if option.required and option.name not in options:
                message = f"{self.name} requires the option {option.name}"
                raise CompileError("E-LESSON-BLOCK", message, where=where)
        return {name: options[name] for name in self.options if name in options}


def _as_is(body: str, where: Where) -> str:
    return body


def block_kind(
    *, body: Body, read: Read = _as_is, runs: bool = True, late: bool = False
) -> Callable[[Callable[..., Any]], Kind]:
    """Declare a function `(run, content, *, options) -> Results` as a kind of block."""

    def declare(fn: Callable[..., Any]) -> Kind:
        words = inspect.getdoc(fn) or ""
        assert words, f"{fn.__name__} has no docstring"
        run = fn if runs else None
        return Kind(fn.__name__, words, body, _options(fn), read, run, late)

    return declare


def _options(fn: Callable[..., Any]) -> dict[str, Option]:
    hints = get_type_hints(fn)
    found: dict[str, Option] = {}
    for p in inspect.signature(fn).parameters.values():
        if p.kind is p.KEYWORD_ONLY:
            kind, choices = hints[p.name], ()
            if get_origin(kind) is Literal:
                kind, choices = str, get_args(kind)
            found[p.name] = Option(p.name, kind, p.default, choices, p.default is p.empty)
    return found
