"""Declarations of passes, with descriptions, options and executed examples; the registry of passes.

A `rules pass` applies declarative rules, a `graph pass` is an algorithm from graph to graph, and an
`analysis` computes facts. A pass without changes returns the same graph object.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Literal, get_args, get_origin, get_type_hints

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.passes.engine.regions import in_regions
from compiler.passes.engine.rewrite import apply_rules
from compiler.passes.engine.rule import Rule, example_graphs
from compiler.passes.engine.step_kind import StepKind, step_kind
from compiler.trace import Log

PassKind = Literal["rules", "graph", "analysis"]

Fact = Literal[
    "constants",  # foldable nodes are constants
    "single uses",  # no unread node reads a value
    "sizes",  # computations of sizes are constants
    "movement",  # redundant transposes and copies are gone
    "parts",  # operators compute only the slices that are read
    "fusion",  # the nodes of each kernel are one fusion
    "layouts",  # each value has its layout in memory
    "algorithms",  # each contraction has its algorithm
]
"""A fact of `needs` and `gives`; a new fact is a new entry with a comment."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a pass: its type, its default, and its allowed values if they are enumerated."""

    name: str
    kind: type
    default: Any
    choices: tuple[str, ...] = ()

    def check(self, pass_name: str, value: Any) -> Any:
        """Check and return a value; integers become floats if floats are required.

        Errors: E-PIPELINE-OPTION.
        """
        if self.kind is float and type(value) is int:
            value = float(value)
        fits = type(value) is self.kind and (not self.choices or value in self.choices)
        if fits and self.kind in (int, float):
            fits = value >= 0
        if not fits:
            allowed = " or ".join(self.choices) if self.choices else _KINDS[self.kind]
            raise CompileError(
                "E-PIPELINE-OPTION",
                f"{pass_name} requires {self.name} to be {allowed}, got {value!r}",
            )
        return value


_KINDS = {int: "a count", float: "a non-negative number", bool: "true or false", str: "a name"}


@dataclass(frozen=True, slots=True, eq=False)
class Pass:
    """A pass; `run` applies it.

    `needs` has the facts (see `Fact`) that make a pass more effective; `gives` has the facts that
    the pass establishes. Every order of passes gives a correct program, but only some orders give a
    fast program. `idempotent` means that a second run directly after the first changes nothing.
    `error` is the error budget of each rewrite, relative to the scale of results. A pass with a
    budget above 0 runs only if a precision mode or the user requests it. `aliases` are short forms
    and former names: the text of a pipeline may use them, but they are never printed. `known_as`
    maps other compilers to the names of their closest passes. `for_code` marks a pass that is
    profitable only with this compiler's code generation. Such a pass decomposes an operator for
    which other runtimes have a kernel. `elsewhere` lists the options for graphs that run in other
    runtimes. `steps` lists the kinds of rewrites that a graph pass records.
    """

    name: str
    kind: PassKind
    words: str
    options: Mapping[str, Option]
    fn: Callable[..., Any]
    example: str
    source: str
    rules: tuple[Rule, ...] = ()
    needs: tuple[Fact, ...] = ()
    gives: tuple[Fact, ...] = ()
    idempotent: bool = True
    example_options: Mapping[str, Any] | None = None
    error: float = 0.0
    for_code: bool = False
    elsewhere: Mapping[str, Any] | None = None
    aliases: tuple[str, ...] = ()
    known_as: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[StepKind, ...] = ()

    @property
    def title(self) -> str:
        """The first line of the docstring."""
        return self.words.split("\n", 1)[0]

    def bind(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of all options, given or default. Errors: E-PIPELINE-OPTION."""
        for name in options:
            if name not in self.options:
                known = ", ".join(self.options) or "none"
                raise CompileError(
                    "E-PIPELINE-OPTION", f"{self.name} has no option {name!r}; options: {known}"
                )
        return {
            name: o.check(self.name, options[name]) if name in options else o.default
            for name, o in self.options.items()
        }

    def run(self, graph: Graph, log: Log | None = None, **options: Any) -> Graph:
        """Run the pass on a graph and its regions; return the same object if nothing changed.

        Errors: E-PIPELINE-OPTION.
        """
        log, bound = Log() if log is None else log, self.bind(options)
        result = self.fn(graph, log, **bound)
        if self.kind == "analysis":
            return graph
        return in_regions(lambda g, inner: self.fn(g, inner, **bound), result, log)

    def facts(self, graph: Graph, **options: Any) -> Any:
        """Return the facts that an analysis computes."""
        assert self.kind == "analysis", f"{self.name} is not an analysis"
        return self.fn(graph, Log(), **self.bind(options))

    def example_graphs(self) -> tuple[Graph, Graph]:
        """Return the two graphs of the example; for an analysis, both are the same graph."""
        if self.kind == "analysis":
            return example_graphs(f"{self.example}\n=>\n{self.example}")
        return example_graphs(self.example)


PASSES: dict[str, Pass] = {}

ALIASES: dict[str, str] = {}
"""Maps each alias of a pass to the name of the pass."""


def _options(
    fn: Callable[..., Any], words: Mapping[str, Sequence[str]] | None = None
) -> dict[str, Option]:
    found: dict[str, Option] = {}
    if not fn.__code__.co_kwonlyargcount:
        return found
    hints = get_type_hints(fn)
    for p in inspect.signature(fn).parameters.values():
        if p.kind is not p.KEYWORD_ONLY:
            continue
        kind, choices = hints[p.name], tuple((words or {}).get(p.name, ()))
        if get_origin(kind) is Literal:
            kind, choices = str, get_args(kind)
        found[p.name] = Option(p.name, kind, p.default, choices)
    return found


def _register(made: Pass) -> Pass:
    assert made.name not in PASSES, f"pass {made.name} is declared twice"
    unknown = {*made.needs, *made.gives}.difference(get_args(Fact))
    assert not unknown, f"{made.name}: no fact {sorted(unknown)}; facts: {get_args(Fact)}"
    PASSES[made.name] = made
    for alias in made.aliases:
        assert alias not in ALIASES, f"two passes have the alias {alias}"
        ALIASES[alias] = made.name
    return made


def _source(fn: Callable[..., Any]) -> str:
    code = fn.__code__
    return f"{code.co_filename.rpartition('compiler/')[2]}:{code.co_firstlineno}"


def graph_pass(
    *,
    example: str,
    near_miss: str = "",
    steps: Sequence[StepKind] = (),
    needs: Sequence[Fact] = (),
    gives: Sequence[Fact] = (),
    idempotent: bool = True,
    example_options: Mapping[str, Any] | None = None,
    choices: Mapping[str, Sequence[str]] | None = None,
    error: float = 0.0,
    for_code: bool = False,
    elsewhere: Mapping[str, Any] | None = None,
    aliases: Sequence[str] = (),
    known_as: Mapping[str, str] = {},
) -> Callable[[Callable[..., Graph]], Pass]:
    """Declare an algorithm `(graph, log, *, options) -> graph` as a pass named after it.

    `choices` lists the allowed values of options whose values come from a registry. `near_miss` is
    a graph that the pass leaves unchanged. A pass with a near miss also declares a kind of step,
    named after the pass. `steps` lists further kinds. A kind without its own example or near miss
    uses that of the pass.
    """

    def declare(fn: Callable[..., Graph]) -> Pass:
        words, text = inspect.getdoc(fn) or "", textwrap.dedent(example)
        own = [step_kind(fn.__name__, words, near_miss=near_miss)] if near_miss else []
        kinds = [
            replace(
                kind,
                example=kind.example or text,
                near_miss=kind.near_miss or textwrap.dedent(near_miss),
                options=kind.options if kind.example else example_options or {},
            )
            for kind in (*own, *steps)
        ]
        return _register(
            Pass(
                fn.__name__,
                "graph",
                words,
                _options(fn, choices),
                fn,
                text,
                _source(fn),
                (),
                tuple(needs),
                tuple(gives),
                idempotent,
                example_options,
                error,
                for_code,
                elsewhere,
                tuple(aliases),
                known_as,
                tuple(kinds),
            )
        )

    return declare


def analysis(
    *, example: str, aliases: Sequence[str] = (), known_as: Mapping[str, str] = {}
) -> Callable[[Callable[..., Any]], Pass]:
    """Declare a function `(graph, log, *, options) -> facts` as a pass named after it."""

    def declare(fn: Callable[..., Any]) -> Pass:
        words = inspect.getdoc(fn) or ""
        text = textwrap.dedent(example)
        return _register(
            Pass(
                fn.__name__,
                "analysis",
                words,
                _options(fn),
                fn,
                text,
                _source(fn),
                aliases=tuple(aliases),
                known_as=known_as,
                steps=(StepKind(fn.__name__, words, f"{text}\n=>\n{text}", "", {}),),
            )
        )

    return declare


def rules_pass(
    name: str,
    rules: Sequence[Rule],
    words: str,
    *,
    example: str = "",
    needs: Sequence[Fact] = (),
    gives: Sequence[Fact] = (),
    for_code: bool = False,
    aliases: Sequence[str] = (),
    known_as: Mapping[str, str] = {},
) -> Pass:
    """Declare a set of rules as a pass; the default example is the example of the first rule."""

    def run(
        graph: Graph,
        log: Log,
        *,
        until: Literal["fixpoint", "once"] = "fixpoint",
        inexact: bool = True,
        at_most: int = 20,
    ) -> Graph:
        return apply_rules(graph, rules, log, until=until, inexact=inexact, at_most=at_most)

    frame = inspect.currentframe()
    caller = frame.f_back if frame is not None else None
    assert caller is not None, "passes are declared by modules"
    source = f"{caller.f_code.co_filename.rpartition('compiler/')[2]}:{caller.f_lineno}"
    text = textwrap.dedent(example) if example else rules[0].example
    return _register(
        Pass(
            name,
            "rules",
            inspect.cleandoc(words),
            _options(run),
            run,
            text,
            source,
            tuple(rules),
            tuple(needs),
            tuple(gives),
            for_code=for_code,
            aliases=tuple(aliases),
            known_as=known_as,
        )
    )
