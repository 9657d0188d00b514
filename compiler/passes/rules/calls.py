"""Access to operators by name, for patterns and replacements: `o.relu(x)`, `o["and"](a, b)`."""

from __future__ import annotations

from importlib import import_module

from compiler.ir.operator import OPERATORS, Operator

import_module("compiler.ops")  # The import declares the operators.


class Operators:
    """Attribute access to the registry of operators."""

    def __getattr__(self, name: str) -> Operator:
        if name.startswith("__"):
            raise AttributeError(name)
        return OPERATORS[name]

    def __getitem__(self, name: str) -> Operator:
        return OPERATORS[name]


o = Operators()
