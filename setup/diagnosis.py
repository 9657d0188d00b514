"""The table of causes in docs/diagnosis.md."""

from __future__ import annotations

from compiler.diagnosis.causes import CAUSES


def causes_table() -> str:
    """Return a Markdown table of all causes in the order of their examination."""
    rows = [
        f"| `{c.name}` | {c.title} | {c.words} | {', '.join(c.actions)} |\n"
        for c in CAUSES.values()
    ]
    return "| cause | title | definition | actions |\n|---|---|---|---|\n" + "".join(rows)
