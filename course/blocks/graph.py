"""The block `graph`: a graph as text."""

from __future__ import annotations

from compiler.ir.types import open_symbols
from course.blocks.results import Results, Run, or_error
from course.format.kind import block_kind
from course.graphs import read_graph
from course.quantities.quantity import counted
from course.quantities.subject import Subject

WITHOUT_SIZES = ("nodes", "parameters", "contractions", "copies", "weight_bytes", "stored_bytes")
"""The quantities of a graph with open sizes; all others need numbers."""


@block_kind(body="text")
def graph(run: Run, text: str, *, name: str, expect: str = "") -> Results:
    """Type and verify a graph; types may be omitted.

    Results are all deterministic quantities, or those without sizes if a size is open. With
    `expect`, the graph must be refused with this error code, and the page shows the error.
    """
    source, line = run.lesson.source, run.first_line
    made = or_error(run, expect, "the graph", lambda: read_graph(text, source, line))
    if isinstance(made, Results):
        return made
    found = counted(Subject(made))
    if open_symbols(v.type for v in made.inputs):
        found = {name: found[name] for name in WITHOUT_SIZES}
    return Results(found, {"graph": str(made)}, graph=made)
