"""The scopes of ONNX names: maps from names to values of the graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from compiler.dataclass import dataclass
from compiler.errors import CompileError


@dataclass(slots=True)
class Scope:
    """The names of one graph or function body; a subgraph also sees the enclosing scope."""

    outer: Scope | None = None
    names: dict[str, str] = field(default_factory=dict)
    declared: dict[str, Any] = field(default_factory=dict)
    """The TypeProtos that the model records, by name."""

    def find(self, name: str) -> str | None:
        """Return the value of a name, or None."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None

    def value(self, name: str) -> str:
        """Return the value of an operand; "" if omitted. Errors: E-MODEL-NAME."""
        if not name:
            return ""
        found = self.find(name)
        if found is None:
            raise CompileError("E-MODEL-NAME", f"{name!r} is read but not defined")
        return found

    def define(self, name: str, value: str) -> None:
        """Bind a name to a value. Errors: E-MODEL-NAME if this scope already defines the name."""
        if name in self.names:
            raise CompileError("E-MODEL-NAME", f"{name!r} is defined twice")
        self.names[name] = value


@dataclass(slots=True)
class Frame:
    """A list of nodes during import: a graph, or an inlined function."""

    nodes: Iterator[tuple[Any, str]]
    """The nodes, each with its unique name."""
    scope: Scope
    opsets: Mapping[str, int]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """The AttributeProtos to which attributes inside the function refer."""
    prefix: str = ""
    """The name prefix of the function's values; "" in a graph."""
    origin: str = ""
    """The calling node in the file; "" in a graph."""
    value_names: Mapping[str, str] = field(default_factory=dict)
    """Maps the function's output names to names in the calling scope."""
    returns: Mapping[str, str] = field(default_factory=dict)
    """Maps names of the calling scope to names inside the function."""
    caller: Scope | None = None

    def finish(self) -> None:
        """Define a function's outputs in the calling scope. Errors: E-MODEL-NAME."""
        if self.caller is not None:
            for outside, inside in self.returns.items():
                self.caller.define(outside, self.scope.value(inside))
