"""The pages of the course: the map at `/learn`, and a page for each lesson."""

from __future__ import annotations

from flask import Blueprint, Flask, Response, current_app, render_template

from app import security
from app.learn.contents import lesson_page, n_exercises, parts_of, title_of
from app.learn.explained import Lessons
from app.learn.library import Library, library
from app.wire.problems import problem
from compiler.errors import CompileError

bp = Blueprint("learn", __name__)


def register(app: Flask) -> None:
    """Serve the pages, and tell templates the lessons that explain terms and passes."""
    app.extensions["library"] = made = Library(app.config["SETTINGS"].lessons)
    app.extensions["explained"] = Lessons(made)
    app.register_blueprint(bp)
    app.add_template_global(lessons_of_terms)
    app.add_template_global(lessons_of_passes)
    app.add_template_global(first_lesson)
    app.add_template_filter(title_of)
    app.add_template_filter(n_exercises)


def lessons_of_terms() -> object:
    """Map the ids of terms to the lessons that explain them."""
    return current_app.extensions["explained"].of_terms()


def lessons_of_passes() -> object:
    """Map the names of passes to the lessons that explain them."""
    return current_app.extensions["explained"].of_passes()


def first_lesson() -> str:
    """Return the address of the first lesson; that of the map if there is none."""
    try:
        names = list(library().catalogue().lessons)
    except CompileError:
        names = []
    return f"/learn/{names[0]}" if names else "/learn"


@bp.get("/learn")
def course() -> Response:
    """Return the map of the course."""
    try:
        parts = list(parts_of(library().catalogue()))
    except CompileError as e:
        return _failed(e)
    return Response(render_template("learn.html", parts=parts))


@bp.get("/learn/<name>")
def lesson(name: str) -> Response:
    """Return the page of a lesson. Errors: E-REQUEST-UNKNOWN."""
    try:
        page = lesson_page(library(), name)
    except CompileError as e:
        if e.code == "E-REQUEST-UNKNOWN":
            raise
        return _failed(e)
    return security.show_own_frames(Response(render_template("lesson.html", page=page)))


def _failed(error: CompileError) -> Response:
    """Return the page about a lesson that cannot be read; its author sees file and line."""
    return Response(render_template("learn_problem.html", problem=problem(error)), 500)
