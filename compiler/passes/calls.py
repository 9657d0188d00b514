"""Every operator under its name, for patterns and replacements: `o.relu(x)`, `o["and"](a, b)`."""

from __future__ import annotations

import compiler.ops  # noqa: F401 - importing declares the operators
from compiler.ir.operator import OPERATORS, Operator


class Operators:
    """Attribute access to the registry of operators."""

    def __getattr__(self, name: str) -> Operator:
        if name.startswith("__"):
            raise AttributeError(name)
        return OPERATORS[name]

    def __getitem__(self, name: str) -> Operator:
        return OPERATORS[name]


o = Operators()
