"""Routes of the course: its map, runs of lessons, exercises, and verdicts on answers."""

from __future__ import annotations

from typing import Any, cast

from flask import Response, request

from app.api.answers import answer, body, queue
from app.api.kept import Kept
from app.api.queued import accepted, sender
from app.api.table import Query, Table
from app.jobs import judge as judging
from app.jobs import lesson as running
from app.learn.contents import course_map
from app.learn.library import digest_of, library
from app.wire import VERSION
from app.wire.fields import fields_of, needed, number, text, whole, whole_number
from app.wire.shapes import jobs, lessons
from course.graphs import MOST_CHARACTERS

ROUTES = Table()
DEFAULT_SECONDS = 0.5
"""Time for measuring in each experiment of a lesson."""
_SECONDS, _SEED, _FILE = number(0.0, 3.0), whole(0, 2**32 - 1), text(MOST_CHARACTERS)


@ROUTES.route("GET", "/course", lessons.Course, fails=(400,))
def course() -> Response:
    """Return the map of the course."""
    return answer(course_map(library()))


@ROUTES.route(
    "POST",
    "/lessons/<lesson>/runs",
    jobs.Job,
    status=202,
    body=lessons.LessonOptions,
    query=[Query("reuse", "1: return an earlier job with the same request and a stored result")],
    fails=(400, 404, 413, 503, 507),
    creates="jobs",
)
def new_lesson_run(lesson: str) -> Response:
    """Start a job that runs the blocks of a lesson."""
    given = fields_of(body(), "the request", lessons.LessonOptions.__annotations__)
    seconds = _SECONDS.of("seconds", given.get("seconds", DEFAULT_SECONDS))
    reuse = whole_number(request.args.get("reuse"), "reuse", 0, 0, 1)
    shown = library().lesson(lesson)
    wanted: lessons.LessonRequest = {
        "kind": "lesson",
        "lesson": shown.name,
        "digest": shown.digest,
        "seconds": seconds,
        "foreign": shown.is_foreign,
    }
    private = {running.MARKDOWN: shown.text}
    return accepted(
        queue().obtain(_plain(wanted), shown.name, private, done=bool(reuse), **sender())
    )


@ROUTES.route("GET", "/jobs/<job_id>/lesson", lessons.LessonRun, fails=(404, 409))
def lesson_run(job_id: str) -> Response:
    """Return the results of a lesson's blocks so far."""
    return Kept(job_id).packed(running.PART)


@ROUTES.route(
    "POST",
    "/lessons/<lesson>/<exercise>/judgements",
    jobs.Job,
    status=202,
    body=lessons.AnswerToJudge,
    fails=(400, 404, 413, 503, 507),
    creates="jobs",
)
def new_judgement(lesson: str, exercise: str) -> Response:
    """Start a job that judges an answer to an exercise."""
    given = fields_of(body(), "the answer", lessons.AnswerToJudge.__annotations__)
    seed = _SEED.of("seed", given.get("seed", 0))
    found = library().exercise(lesson, exercise).exercise
    files = fields_of(given.get("files"), "files", (found.declared.file,))
    if not files:
        raise needed("files", f"the file {found.declared.file}", files)
    wanted: lessons.JudgeRequest = {
        "kind": "judge",
        "exercise": found.id,
        "digest": digest_of(found),
        "files": {name: _FILE.of(name, content) for name, content in files.items()},
        "seed": seed,
    }
    private = {judging.EXERCISE: found.to_json()}
    return accepted(queue().obtain(_plain(wanted), found.id, private, **sender()))


@ROUTES.route("GET", "/jobs/<job_id>/judgement", lessons.Judgement, fails=(404, 409))
def judgement(job_id: str) -> Response:
    """Return the verdict on an answer."""
    return Kept(job_id).packed(judging.PART)


@ROUTES.route(
    "GET", "/lessons/<lesson>/<exercise>/solution", lessons.LessonSolution, fails=(400, 404)
)
def solution(lesson: str, exercise: str) -> Response:
    """Return the solution of an exercise."""
    found = library().exercise(lesson, exercise)
    return answer(
        lessons.LessonSolution(
            version=VERSION, solution=found.solution, discussion=found.discussion
        )
    )


def _plain(request: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", request)
