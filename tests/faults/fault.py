"""The declaration of a seeded fault, and ways to seed it without editing the faulty code."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from compiler.ir.graph import Graph
from compiler.ir.operator import Call
from compiler.passes import PASSES, RULES
from compiler.passes.engine.rule import Because, Rule, Skip
from compiler.passes.pipeline.pipeline import Pipeline
from compiler.passes.pipeline.text import parse_pipeline
from tests.compiler.passes.numbers import graph as parsed

Body = Callable[..., Any]
Seed = Callable[[], Any]
"""A function that creates a context with a fault."""


@dataclass(frozen=True)
class Fault:
    """A fault in a rule or pass, a model that reveals it, and the rules to be named.

    `model` is the text of a graph; the default is the example of the first rule in `names`.
    """

    name: str
    kind: str
    names: tuple[str, ...]
    seeds: Sequence[Seed]
    model: str = ""
    at_near_miss: bool = False
    first: str = ""
    """A pass that the default pipeline lacks, or contains too late."""

    @property
    def graph(self) -> Graph:
        """Return the model."""
        if self.model:
            return parsed(self.model)
        if self.names[0] in RULES:
            declared = RULES[self.names[0]]
            return declared.near_miss_graph() if self.at_near_miss else declared.example_graphs()[0]
        return PASSES[self.names[0]].example_graphs()[0]

    @property
    def pipeline(self) -> Pipeline:
        """Return the default pipeline, after passes with the rules that it lacks."""
        text = f"{self.first},default" if self.first else "default"
        held = {r.name for line in parse_pipeline(text).passes for r in line.declared.rules}
        missing = [n for n in self.names if n in RULES and n not in held]
        holders = [p.name for p in PASSES.values() if {r.name for r in p.rules} & set(missing)]
        return parse_pipeline(",".join([*holders[:1], text]))

    @contextmanager
    def seeded(self) -> Generator[None]:
        """Seed the fault into the compiler in the block."""
        with _all(self.seeds):
            yield


@contextmanager
def _all(seeds: Sequence[Seed]) -> Generator[None]:
    if not seeds:
        yield
        return
    with seeds[0](), _all(seeds[1:]):
        yield


# Rules: declarations are frozen and shared, so every pass sees a field exchanged here.


@contextmanager
def exchanged(rule: Rule, **fields: Any) -> Generator[None]:
    """Give a rule other fields in the block."""
    before = {key: getattr(rule, key) for key in fields}
    _set(rule, fields)
    try:
        yield
    finally:
        _set(rule, before)


def _set(rule: Rule, fields: Mapping[str, Any]) -> None:
    for key, value in fields.items():
        object.__setattr__(rule, key, value)


def body(name: str, change: Callable[[Body], Body]) -> Seed:
    """Seed a rule whose replacement comes from another function."""

    def seed() -> Any:
        rule = RULES[name]
        return exchanged(rule, body=change(rule.body))

    return seed


def patterned(name: str, pattern: Any) -> Seed:
    """Seed a rule with another pattern."""
    return lambda: exchanged(RULES[name], pattern=pattern)


def instead(name: str, made: Body) -> Seed:
    """Seed a rule with another replacement."""
    return body(name, lambda old: lambda **given: made(**given))


def becomes(name: str, change: Callable[[Any], Any]) -> Seed:
    """Seed a rule with a changed replacement; its refusals stay unchanged."""

    def wrap(old: Body) -> Body:
        def run(**given: Any) -> Any:
            made = old(**given)
            if isinstance(made, Skip):
                return made
            if isinstance(made, Because):
                return replace(made, value=change(made.value))
            return change(made)

        return run

    return body(name, wrap)


def given(name: str, **changes: Callable[[Any], Any]) -> Seed:
    """Seed a rule that receives wrong facts about its match."""

    def wrap(old: Body) -> Body:
        def run(**got: Any) -> Any:
            return old(**{k: changes[k](v) if k in changes else v for k, v in got.items()})

        return run

    return body(name, wrap)


def hurried(name: str, made: Body) -> Seed:
    """Seed a rule that rewrites where it should decline."""

    def wrap(old: Body) -> Body:
        def run(**got: Any) -> Any:
            try:
                found = old(**got)
            except Exception:  # some rules decline by raising an exception
                return made(**got)
            return made(**got) if isinstance(found, Skip) else found

        return run

    return body(name, wrap)


# Changes of replacements


def swapped(call: Any) -> Any:
    """Exchange the first two operands."""
    assert isinstance(call, Call), f"{call!r} is not a call"
    return replace_args(call, (call.args[1], call.args[0], *call.args[2:]))


def replace_args(call: Call, args: tuple[Any, ...]) -> Call:
    """Apply the same operator to other operands."""
    return Call(call.op, args, call.attrs)


def operand(index: int, change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Change one operand."""

    def run(call: Any) -> Any:
        assert isinstance(call, Call), f"{call!r} is not a call"
        args = list(call.args)
        args[index] = change(args[index])
        return replace_args(call, tuple(args))

    return run


def attribute(key: str, change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Change one attribute."""

    def run(call: Any) -> Any:
        assert isinstance(call, Call), f"{call!r} is not a call"
        return Call(call.op, call.args, {**call.attrs, key: change(call.attrs.get(key))})

    return run


def constant(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Change the elements of a constant."""
    from compiler.ir.constant import Constant

    def run(value: Any) -> Any:
        if isinstance(value, Constant):
            return Constant.of(change(value.array()), value.type.dtype)
        return change(value)

    return run


# Functions of passes


@contextmanager
def _patched(place: Any, name: str, value: Any) -> Generator[None]:
    before = getattr(place, name)
    setattr(place, name, value)
    try:
        yield
    finally:
        setattr(place, name, before)


def function(place: Any, name: str, change: Callable[[Any], Any]) -> Seed:
    """Wrap a function of a module, or a method of a class."""
    return lambda: _patched(place, name, change(getattr(place, name)))
