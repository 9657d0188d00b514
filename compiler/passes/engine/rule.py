"""Declarative rules: a pattern, its replacement, a description, an example and a near miss.

    @rule(neg(neg(Any("x"))), example="...", near_miss="...")
    def drop_double_negation(x):
        ...

The replacement function receives exactly the placeholders. It returns a value, a call, an array, or
`Skip` with the reason that the rule does not apply.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from compiler.dataclass import dataclass
from compiler.ir.graph import Graph
from compiler.ir.operator import Operand
from compiler.ir.text import parse_graph
from compiler.ir.verify import verify
from compiler.passes.engine.pattern import Root, pattern_text, placeholders, roots

ROUNDINGS = 2e-6
"""Error budget of a rule that changes a few roundings; a rounding error of f32 is 6e-8."""


@dataclass(frozen=True, slots=True)
class Skip:
    """The result of a replacement if the rule does not apply to the match, with the reason."""

    because: str


@dataclass(frozen=True, slots=True)
class Because:
    """A replacement, with a reason that contains the numbers of this match."""

    value: Operand
    because: str


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A pattern, its replacement, an example and a near miss, which tests run and the page shows.

    `near_miss` is a graph that resembles the pattern but must not change. `error` limits the change
    of results, relative to their scale; 0 means bit-identical results. `single_use` requires that
    no other node reads the inner values of the pattern, because the replacement would otherwise
    repeat expensive work. `result` names the argument of the replacement that receives the type of
    the root. `source` is the file and line of the declaration, relative to the package.
    """

    name: str
    pattern: Root
    body: Callable[..., Any]
    written_words: str
    source: str
    written_example: str
    written_near_miss: str
    error: float = 0.0
    single_use: bool = False
    result: str = ""

    @property
    def exact(self) -> bool:
        """Whether results are bit-identical."""
        return self.error == 0

    @property
    def example(self) -> str:
        """Two graphs as text, before and after."""
        return textwrap.dedent(self.written_example)

    @property
    def near_miss(self) -> str:
        """The text of the graph that must not change."""
        return textwrap.dedent(self.written_near_miss)

    @property
    def words(self) -> str:
        """The effect of the rule, and its benefit."""
        return inspect.cleandoc(self.written_words)

    @property
    def title(self) -> str:
        """The first line of the description."""
        return self.words.split("\n", 1)[0]

    @property
    def pattern_text(self) -> str:
        """The pattern as text."""
        return pattern_text(self.pattern)

    def example_graphs(self) -> tuple[Graph, Graph]:
        """The two graphs of the example, before and after."""
        return example_graphs(self.example)

    def near_miss_graph(self) -> Graph:
        """The verified graph that the rule must not change."""
        graph = parse_graph(self.near_miss)
        verify(graph)
        return graph


def example_graphs(example: str) -> tuple[Graph, Graph]:
    """Parse and verify the graphs of a text `before => after`.

    Errors: as for parsing and verifying.
    """
    first, _, second = textwrap.dedent(example).partition("=>")
    before, after = parse_graph(first), parse_graph(second)
    verify(before)
    verify(after)
    return before, after


RULES: dict[str, Rule] = {}


def rule(
    pattern: Root,
    *,
    example: str,
    near_miss: str,
    error: float = 0.0,
    single_use: bool = False,
    result: str = "",
    name: str = "",
    words: str = "",
) -> Callable[[Callable[..., Any]], Rule]:
    """Declare a function as a replacement; the rule gets the name and docstring of the function.

    In a table of rules all rows share one function, so each row gives its name and description.
    """

    def declare(body: Callable[..., Any]) -> Rule:
        assert roots(pattern), "the root of a pattern is an operator"
        known = name or body.__name__
        assert known not in RULES, f"rule {known} is declared twice"
        code = inspect.unwrap(body).__code__
        wanted = {*placeholders(pattern), *filter(None, [result])}
        taken = {*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]}
        fits = taken <= wanted if code.co_flags & inspect.CO_VARKEYWORDS else taken == wanted
        assert fits, f"the replacement of {known} takes {taken}, but the pattern binds {wanted}"
        source = _row() if name else _place(code.co_filename, code.co_firstlineno)
        texts = words or body.__doc__ or "", source, example, near_miss
        RULES[known] = Rule(known, pattern, body, *texts, error, single_use, result)
        return RULES[known]

    return declare


def _row() -> str:
    """Return the file and line of the statement or table row that a module is executing."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    assert frame is not None, "rows are declared by modules"
    return _place(frame.f_code.co_filename, frame.f_lineno)


def _place(file: str, line: int) -> str:
    return f"{file.rpartition('compiler/')[2]}:{line}"
