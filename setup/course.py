"""The table of lessons in docs/course.md."""

from __future__ import annotations

from pathlib import Path

from course.catalogue import read_catalogue

LESSONS = Path(__file__).resolve().parents[1] / "lessons"
_WIDTHS = {"wide": (480, "desktop"), "phone": (140, "phone")}


def lessons_table() -> str:
    """Return a Markdown table of all lessons: title, goal, minutes, exercises and pictures."""
    lines = ["| lesson | goal | minutes | exercises | pictures |", "|---|---|---|---|---|"]
    for name, lesson in read_catalogue([LESSONS]).lessons.items():
        front = lesson.lesson.front
        title = f"[{front.number}. {front.title}](../lessons/{name}/lesson.md)"
        kinds = ", ".join(sorted({f"`{e.exercise.kind}`" for e in lesson.exercises.values()}))
        pictures = " ".join(_picture(name, size) for size in _WIDTHS)
        lines.append(f"| {title} | {front.goal} | {front.minutes} | {kinds} | {pictures} |")
    return "\n".join(lines) + "\n"


def _picture(name: str, size: str) -> str:
    width, words = _WIDTHS[size]
    alt = f"A step of {name} at {words} width"
    return f'<img src="images/lessons/{name}-{size}.png" width="{width}" alt="{alt}">'
