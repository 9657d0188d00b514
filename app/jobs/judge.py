"""The job that judges an answer to an exercise."""

from __future__ import annotations

import tempfile
from typing import Any

from app.jobs.results import Results
from app.jobs.student_code import on_server
from app.jobs.task import Task
from app.wire import lessons
from course.judging import judge_in_process
from course.judging.apart import judge_apart
from course.judging.exercise import exercise_of
from sandbox.seal import SCRATCH

PART = "judgement"
EXERCISE = "declaration"
"""The fact that only the child receives: the exercise as data."""
_SPARE_S = 8.0
"""The judge ends this long before the time limit of its job."""


def judge_answer(task: Task, results: Results) -> None:
    """Judge an answer, and give back the verdict.

    The judge runs in this child, and the code of the answer in sandboxes of its own. A server
    without a sandbox that its user permits runs the code in this child.
    """
    request = task.request
    results.say("phase", {"phase": "judge", "words": "judging the answer"})
    asked: dict[str, Any] = {
        "version": 1,
        "exercise": request["exercise"],
        "files": request["files"],
        "seed": request["seed"],
    }
    if tempfile.gettempdir() == SCRATCH:
        exercise = exercise_of(request[EXERCISE])
        seconds = max(task.limits.seconds - _SPARE_S, task.limits.seconds / 2)
        found = judge_apart(asked, lambda name: exercise, runs=on_server(results), seconds=seconds)
    else:
        found = judge_in_process({**asked, "exercise": request[EXERCISE]})
    results.write(PART, lessons.judgement(found))
    results.say("ready", {"part": PART})
