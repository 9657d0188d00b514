"""The job that runs the blocks of a lesson, and fills its prose."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from app.jobs.results import Results
from app.jobs.task import SAMPLES, Task
from app.jobs.worker_slot import measuring
from app.samples import sample_graph
from app.wire import VERSION, lessons
from app.wire.shapes.lessons import LessonRun
from compiler.errors import CompileError
from course.blocks.all import read_lesson
from course.blocks.results import Run
from course.blocks.run import run_blocks
from course.format.lesson import Lesson
from course.format.references import references_of

PART = "lesson"
MARKDOWN = "markdown"
"""The fact that only the child receives: the text of the lesson."""
_WRITE_EVERY_S = 0.25


def run_lesson(task: Task, results: Results) -> None:
    """Run all blocks of a lesson; the results so far are given back after each block.

    A block that fails has its error, and the others run nevertheless. Errors: E-LESSON-*.
    """
    request, say = task.request, results.say
    name = request["lesson"]
    say("phase", {"phase": "lesson", "words": "reading the lesson"})
    lesson = read_lesson(request[MARKDOWN], f"{name}/lesson.md")
    run = Run(
        lesson,
        lambda sample: sample_graph(sample, task.inputs[SAMPLES]),
        request["seconds"],
        lambda: measuring(say, 1),
    )
    found: LessonRun = {
        "version": VERSION,
        "lesson": name,
        "seconds": request["seconds"],
        "n_blocks": len(lesson.blocks),
        "blocks": [],
        "figures": {},
    }
    places = {id(b): i for i, b in enumerate(lesson.blocks)}
    written_s = 0.0

    def write() -> None:
        found["figures"] = figures(run)
        results.write(PART, found)
        say("ready", {"part": PART})

    for ran in run_blocks(run):
        found["blocks"].append(lessons.block(places[id(ran.block)], ran))
        say("phase", {"phase": "lesson", "words": f"running {ran.block.name or ran.block.kind}"})
        if perf_counter() - written_s > _WRITE_EVERY_S:
            write()
            written_s = perf_counter()
    write()


def figures(run: Run) -> dict[str, str]:
    """Return the text of each reference of the prose whose result exists so far."""
    return dict(_figures(run, run.lesson))


def _figures(run: Run, lesson: Lesson) -> Any:
    for where, reference in references_of(lesson):
        try:
            text = run.amount(reference, where).text(reference.filter)
        except CompileError:
            continue
        yield str(reference).strip("{}"), text
