"""The block `python`: code over the student API."""

from __future__ import annotations

from compiler.errors import CompileError
from course.blocks.results import Results, Run
from course.format.kind import block_kind
from course.graphs import moved
from course.student.execute import load
from course.student.show import collected


@block_kind(body="text")
def python(run: Run, code: str, *, name: str, expect: str = "") -> Results:
    """Run Python; results are the values that it reports with `show`.

    With `expect`, the code must raise an error with this code.
    """
    try:
        student = load(code, run.lesson.source)
    except CompileError as e:
        if e.code != expect:
            raise moved(e, run.first_line - 1) from None
        return Results(texts={"error": str(e)}, data={"error": e.to_json()})
    return Results(collected(), output=student.output.text)
