"""The block `python`: code over the student API."""

from __future__ import annotations

from course.blocks.results import Results, Run, or_error
from course.format.kind import block_kind
from course.graphs import lines_from
from course.student.execute import Student, load
from course.student.show import collected


@block_kind(body="text")
def python(run: Run, code: str, *, name: str, expect: str = "") -> Results:
    """Run Python; results are the values that it reports with `show`.

    With `expect`, the code must raise an error with this code.
    """

    def make() -> Student:
        with lines_from(run.first_line):
            return load(code, run.lesson.source)

    student = or_error(run, expect, "the code", make)
    if isinstance(student, Results):
        return student
    return Results(collected(), output=student.output.text)
