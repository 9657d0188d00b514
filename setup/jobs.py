"""Tables of docs/jobs.md: the inputs of each kind of job, and the places of the machine."""

from __future__ import annotations

from app.jobs.kinds import KINDS
from app.jobs.machine_facts import places


def kinds_table() -> str:
    """Return the table of kinds, with their inputs and the files that they give back."""
    rows = ["| kind | inputs | files given back |\n|---|---|---|\n"]
    for name, kind in KINDS.items():
        inputs = ", ".join(f"`{each}`" for each in kind.inputs)
        files = ", ".join(f"`{each}`" for each in kind.files)
        rows.append(f"| `{name}` | {inputs} | {files} |\n")
    return "".join(rows)


def places_table() -> str:
    """Return the table of the places of the machine that reach children."""
    rows = ["| place | content | a child ... |\n|---|---|---|\n"]
    for place in places():
        rows.append(f"| {place.name} | {place.words} | {place.way} |\n")
    return "".join(rows)
