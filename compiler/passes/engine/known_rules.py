"""Rules that somebody names to leave their rewrites out: whether there are such."""

from __future__ import annotations

from difflib import get_close_matches

from compiler.errors import CompileError
from compiler.passes.engine.rule import RULES
from compiler.trace import AllBut


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
