"""Which of our values an ONNX name means, at each place of a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from compiler.dataclass import dataclass
from compiler.errors import CompileError


@dataclass(slots=True)
class Scope:
    """Names of one graph or function body; a subgraph also sees the scope around it."""

    outer: Scope | None = None
    names: dict[str, str] = field(default_factory=dict)
    declared: dict[str, Any] = field(default_factory=dict)
    """TypeProtos that the model records for names."""

    def find(self, name: str) -> str | None:
        """Our value for a name; None when it has none (yet)."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        return None

    def value(self, name: str) -> str:
        """Our value for an operand; "" for one left out. Errors: E-MODEL-NAME."""
        if not name:
            return ""
        found = self.find(name)
        if found is None:
            raise CompileError("E-MODEL-NAME", f"{name!r} is read but defined nowhere")
        return found

    def define(self, name: str, value: str) -> None:
        """Give a name its value. Errors: E-MODEL-NAME when this scope has defined it before."""
        if name in self.names:
            raise CompileError("E-MODEL-NAME", f"{name!r} is defined twice")
        self.names[name] = value


@dataclass(slots=True)
class Frame:
    """A list of nodes being imported: a graph's, or a function's in place of a call."""

    nodes: Iterator[tuple[Any, str]]
    """Nodes with their unique names."""
    scope: Scope
    opsets: Mapping[str, int]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """AttributeProtos that references inside a function stand for."""
    prefix: str = ""
    """What names of the function's values begin with; "" in a graph."""
    origin: str = ""
    """The node of the file that called the function; "" in a graph."""
    value_names: Mapping[str, str] = field(default_factory=dict)
    """What outputs of the function are called outside."""
    returns: Mapping[str, str] = field(default_factory=dict)
    """Names of the calling scope, and which names of the function give them."""
    caller: Scope | None = None

    def finish(self) -> None:
        """Hand a function's outputs to the scope that called it. Errors: E-MODEL-NAME."""
        if self.caller is not None:
            for outside, inside in self.returns.items():
                self.caller.define(outside, self.scope.value(inside))
