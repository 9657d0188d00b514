"""`lesson`: begin a lesson, check lessons, and serve them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from compilarium.output import progress, report, reporting, table
from compiler.errors import CompileError, Where
from compiler.units import count_text, seconds_text

if TYPE_CHECKING:
    from course.checking.report import Problem, Report

_PANE = re.compile(r'data-word="pane\.(\w+)"')


@click.group()
def command() -> None:
    """Write lessons of the course: begin a new one, check it, and look at its page."""


@command.command()
@click.argument("folder", type=click.Path(path_type=Path))
@reporting
def new(folder: Path) -> None:
    """Begin a lesson in FOLDER, whose name is a number and words, such as 75-more-fusion.

    The folder has a text with one block of each important kind, and an exercise. All blocks run.
    The output lists the blocks and wrong solutions that `lesson check` still requires.
    """
    import course
    from course.catalogue import part_of
    from course.checking.check import unfinished
    from course.format.front import FOLDER
    from course.lessons import TEXT, LessonFolder

    if not FOLDER.match(folder.name):
        message = f"{folder.name!r} is not the name of a lesson"
        hint = "use a number and lower-case words: 75-more-fusion"
        raise CompileError("E-LESSON-FOLDER", message, where=Where(str(folder)), hint=hint)
    if folder.exists():
        message = f"{folder} exists already"
        raise CompileError("E-LESSON-FOLDER", message, hint="choose another name")
    number = int(folder.name.split("-")[0])
    try:
        shutil.copytree(Path(course.__file__).parent / "template", folder)
        text = (folder / TEXT).read_text("utf-8")
        text = text.replace("number = 1\n", f"number = {number}\n")
        text = text.replace("part = 2\n", f"part = {part_of(number)}\n")
        (folder / TEXT).write_text(text, "utf-8")
    except OSError as e:
        raise CompileError("E-OUTPUT-FILE", f"{folder}: {e.strerror or e}") from e
    files = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    missing = _placed(unfinished(LessonFolder(folder.resolve())), folder)
    report(
        {"ok": True, "folder": str(folder), "files": files, "missing": [str(p) for p in missing]},
        lambda c: _show_new(c, folder, files, missing),
    )


@command.command()
@click.argument("folders", nargs=-1, type=click.Path(path_type=Path))
@click.option("--seconds", default=0.2, show_default=True, type=click.FloatRange(min=0),
              help="Time for measuring in each experiment; 0 measures nothing.")  # fmt: skip
@reporting
@click.pass_context
def check(ctx: click.Context, folders: Sequence[Path], seconds: float) -> None:
    """Check the lessons in FOLDERS, by default all lessons of the map.

    All blocks run. Each solution must pass; each skeleton and each wrong solution must fail. The
    exit code is 1 if there is a problem.
    """
    from app.paths import site_folder
    from app.samples import sample_graph
    from course.catalogue import folders_of_lessons, read_catalogue
    from course.checking.check import check_lesson
    from course.lessons import LessonFolder

    if folders:
        lessons = [LessonFolder(path.resolve()) for path in folders]
    else:
        found = read_catalogue(folders_of_lessons(site_folder("lessons")))
        lessons = list(found.lessons.values())
    reports: list[Report] = []
    for lesson in lessons:
        with progress(lesson.name) as tell:
            made = check_lesson(
                lesson, load=sample_graph, panes=_panes(), seconds=seconds,
                tell=lambda what, tell=tell: tell(what, None),
            )  # fmt: skip
        made.problems = _placed(made.problems, lesson.path)
        reports.append(made)
    ok = all(r.ok for r in reports)
    report({"ok": ok, "lessons": [r.to_json() for r in reports]}, lambda c: _show(c, reports))
    if not ok:
        ctx.exit(1)


@command.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True,
              help="Port of the server; 0: any free port.")  # fmt: skip
@click.option("--data-folder", type=click.Path(file_okay=False, path_type=Path),
              help="Folder for results; default: the user's data folder.")  # fmt: skip
@click.option(
    "--unsandboxed-local",
    is_flag=True,
    default=None,
    help="Where no sandbox can be built, run the lessons and answers without one.",
)
@reporting
def serve(folder: Path, **options: Any) -> None:
    """Serve the course with the lessons in FOLDER, which is a lesson or contains lessons.

    Lessons are read anew when their files change.
    """
    from app.configuration import read_configuration
    from app.paths import site_folder
    from app.serve import serve as serve_application
    from course.catalogue import VARIABLE
    from course.lessons import TEXT

    folder = folder.resolve()
    shipped = site_folder("lessons").resolve()
    lessons = "" if folder == shipped or folder.is_relative_to(shipped) else str(folder)
    environment = {**os.environ, VARIABLE: lessons}
    settings = read_configuration(options, environment, None).settings
    name = f"/{folder.name}" if (folder / TEXT).is_file() else ""
    click.echo(f"The lessons in {folder} are at the path /learn{name}")
    serve_application(settings, say=click.echo)


def _panes() -> list[str]:
    from app.paths import site_folder

    text = (site_folder("templates") / "words" / "panes.html").read_text(encoding="utf-8")
    return list(dict.fromkeys(_PANE.findall(text)))


def _show(console: Console, reports: Sequence[Report]) -> None:
    rows = [(r.name, t.name, t.kind, seconds_text(t.seconds)) for r in reports for t in r.times]
    if rows:
        console.print(table(["lesson", "part", "kind", ">time"], rows))
    for problem in (p for r in reports for p in r.problems):
        console.print(str(problem))
    n = sum(len(r.problems) for r in reports)
    console.print(f"{count_text(len(reports), 'lesson')}, {count_text(n, 'problem')}")


def _show_new(
    console: Console, folder: Path, files: Sequence[str], missing: Sequence[Problem]
) -> None:
    console.print(f"began {folder}: {', '.join(files)}")
    console.print(f"All blocks run. `compilarium lesson check {folder}` still requires:")
    for problem in missing:
        console.print(f"  {problem}")


def _placed(problems: Sequence[Problem], lesson: Path) -> list[Problem]:
    """Return problems with paths relative to the current folder, if the files are inside it."""
    found: list[Problem] = []
    for problem in problems:
        file = lesson.resolve().parent / problem.where.source
        if problem.where.source and file.is_file():
            path = os.path.relpath(file)
            path = str(file) if path.startswith(os.pardir) else path
            problem = replace(problem, where=replace(problem.where, source=path))
        found.append(problem)
    return found
