"""The block `graph`: a graph as text."""

from __future__ import annotations

from compiler.errors import CompileError
from course.blocks.results import Results, Run
from course.format.kind import block_kind
from course.graphs import read_graph
from course.quantities import QUANTITIES, Subject


@block_kind(body="text")
def graph(run: Run, text: str, *, name: str, expect: str = "") -> Results:
    """Type and verify a graph; types may be omitted.

    Results are all deterministic quantities. With `expect`, the graph must be refused with this
    error code, and the page shows the error.
    """
    try:
        made = read_graph(text, run.lesson.source, run.first_line)
    except CompileError as e:
        if e.code != expect:
            raise
        return Results(texts={"error": str(e)}, data={"error": e.to_json()})
    if expect:
        message = f"the graph was accepted, but the block expects {expect}"
        raise CompileError("E-LESSON-RESULT", message, where=run.where)
    subject = Subject(made)
    amounts = {q.name: q.of(subject) for q in QUANTITIES.values() if not q.is_timed}
    return Results(amounts, {"graph": str(made)}, graph=made)
