"""The rules that a compilation disables, and a check of their names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from compiler.errors import CompileError
from compiler.passes.engine.declaration import ALIASES
from compiler.passes.engine.rule import RULES
from compiler.trace import AllBut


def all_but(rules: Iterable[str]) -> AllBut:
    """Return a gate that declines rewrites of some rules or passes, given by name or alias."""
    return AllBut({ALIASES.get(rule, rule) for rule in rules})


def require_known_rules(gate: AllBut) -> None:
    """Check the names of disabled rules. Errors: E-OPTION-VALUE for an unknown name."""
    known = gate.asked | RULES.keys()
    for name in sorted(gate.rules - known):
        close = get_close_matches(name, sorted(known), 1)
        raise CompileError(
            "E-OPTION-VALUE",
            f"--without: no rule or pass is named {name!r:.60}",
            hint=f"did you mean {close[0]}?"
            if close
            else "the trace of a compilation lists its rules",
        )
