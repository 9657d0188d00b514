"""The rules whose rewrites a compilation leaves out, and whether there are such rules."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from compiler.errors import CompileError
from compiler.passes.engine.declaration import ALIASES
from compiler.passes.engine.rule import RULES
from compiler.trace import AllBut


def all_but(rules: Iterable[str]) -> AllBut:
    """The gate that declines the rewrites of some rules; those of a pass have its name or alias."""
    return AllBut({ALIASES.get(rule, rule) for rule in rules})


def require_known_rules(gate: AllBut) -> None:
    """Errors: E-OPTION-VALUE for a rule that is none and that no pass has asked about."""
    known = gate.asked | RULES.keys()
    for name in sorted(gate.rules - known):
        close = get_close_matches(name, sorted(known), 1)
        raise CompileError(
            "E-OPTION-VALUE",
            f"--without: no rewrite is by a rule {name!r:.60}",
            hint=f"did you mean {close[0]}?" if close else "the trace of a compilation names them",
        )
