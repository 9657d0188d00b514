"""What the templates of the course show: the map, and the steps of a lesson with their parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from app.learn.library import Library, Shown
from app.learn.markdown import Markdown
from app.wire import VERSION
from app.wire.shapes.lessons import Course, CourseLesson
from course.blocks.results import SAMPLE
from course.catalogue import PARTS, Catalogue, Entry
from course.format.front import FOLDER
from course.format.lesson import Block, Lesson, Prose, Step
from course.lessons import EXERCISE

PANES = ("graph", "python", "schedule", "pipeline", "planner", "experiment", "view")
"""The kinds of blocks that stand beside the prose."""
WIDE = ("exercise",)
"""The kinds of blocks that take the whole width."""


@dataclass(frozen=True, slots=True)
class Item:
    """A part of a step: prose as markup, or a block with its position in the lesson.

    `covered` names the prediction that a reader makes before the results are shown, "" for none.
    """

    kind: str
    prose: Markup = field(default_factory=Markup)
    block: Block | None = None
    number: int = -1
    covered: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Row:
    """Parts that stand beside each other: text in `items`, panes in a group of their own."""

    items: list[Item | list[Item]] = field(default_factory=list)

    @property
    def n_text(self) -> int:
        """The number of parts in the column of the text."""
        return sum(not isinstance(item, list) for item in self.items)

    @property
    def has_panes(self) -> bool:
        """Whether the row has a group of panes."""
        return any(isinstance(item, list) for item in self.items)

    @property
    def is_wide(self) -> bool:
        """Whether the row is one block that takes the whole width."""
        first = self.items[0]
        return len(self.items) == 1 and not isinstance(first, list) and first.kind in WIDE


@dataclass(frozen=True, slots=True)
class StepShown:
    """A step of a lesson: its title, "" for the introduction, and its rows."""

    number: int
    title: str
    rows: Sequence[Row]
    kinds: frozenset[str]


@dataclass(frozen=True, slots=True)
class LessonPage:
    """Everything that the page of a lesson shows; `data` is what its scripts read."""

    shown: Shown
    steps: Sequence[StepShown]
    before: Sequence[Entry]
    following: Entry | None
    previous: Entry | None
    data: Mapping[str, Any]

    @property
    def lesson(self) -> Lesson:
        """The lesson."""
        return self.shown.lesson


def course_map(library: Library) -> Course:
    """Return the map of the course as data. Errors: E-LESSON-FOLDER, E-LESSON-FRONT."""
    return {
        "version": VERSION,
        "parts": {str(number): title for number, title in PARTS.items()},
        "lessons": [_row(entry) for entry in library.catalogue().entries],
    }


def _row(entry: Entry) -> CourseLesson:
    front = entry.front
    return {
        "number": entry.place.number,
        "part": entry.place.part,
        "name": entry.name,
        "title": title_of(entry),
        "minutes": front.minutes if front else 0,
        "prerequisites": list(front.prerequisites) if front else [],
        "n_exercises": n_exercises(entry),
    }


def title_of(entry: Entry) -> str:
    """Return the title of a lesson, or that of its place."""
    return entry.front.title if entry.front else entry.place.title


def n_exercises(entry: Entry) -> int:
    """Return the number of exercises in a lesson's folder."""
    if entry.lesson is None:
        return 0
    return sum(bool(EXERCISE.match(p.name)) and p.is_dir() for p in entry.lesson.path.iterdir())


def parts_of(catalogue: Catalogue) -> Iterator[tuple[int, str, list[Entry]]]:
    """Yield each part of the course: its number, its title, and its places."""
    for number, title in PARTS.items():
        yield number, title, [e for e in catalogue.entries if e.place.part == number]


def lesson_page(library: Library, name: str) -> LessonPage:
    """Return the page of a lesson. Errors: E-LESSON-*, E-EXERCISE-FORM."""
    shown, catalogue = library.lesson(name), library.catalogue()
    entries = [e for e in catalogue.entries if e.lesson is not None]
    at = next(i for i, e in enumerate(entries) if e.name == name)
    needed = [e for e in entries if e.name in shown.lesson.front.prerequisites]
    return LessonPage(
        shown,
        list(_steps(shown, catalogue)),
        needed,
        entries[at + 1] if at + 1 < len(entries) else None,
        entries[at - 1] if at else None,
        _data(shown),
    )


def _steps(shown: Shown, catalogue: Catalogue) -> Iterator[StepShown]:
    lesson = shown.lesson
    covers = _covers(lesson)
    markdown = Markdown(
        lambda target: _address(target, catalogue), lambda name: covers.get(name, "")
    )
    places = {id(b): i for i, b in enumerate(lesson.blocks)}
    of_panes = {i: covers.get(b.name, "") for i, b in enumerate(lesson.blocks)}
    of_panes |= _covers_of_views(lesson)
    for number, step in enumerate(lesson.steps):
        items = list(_items(step, shown, markdown, of_panes, places))
        kinds = frozenset(i.kind for i in items)
        yield StepShown(number, step.title, list(rows_of(items)), kinds)


def _covers(lesson: Lesson) -> dict[str, str]:
    """Map each block that answers a prediction to the first such prediction."""
    found: dict[str, str] = {}
    for block in lesson.blocks:
        if block.kind == "predict":
            for source in block.content.sources:
                found.setdefault(source, block.name)
    return found


def _covers_of_views(lesson: Lesson) -> dict[int, str]:
    """Map the positions of views to the last earlier prediction about the same graph.

    The panes of such a view contain the results of the experiment that decides.
    """
    graphs = {b.name: b.options.get("of") for b in lesson.blocks if b.kind == "experiment"}
    asked: dict[object, str] = {}
    found: dict[int, str] = {}
    for i, block in enumerate(lesson.blocks):
        if block.kind == "predict":
            sources = block.content.sources & graphs.keys()
            asked |= {graphs[source]: block.name for source in sources}
        elif block.kind == "view" and block.options.get("of") in asked:
            found[i] = asked[block.options["of"]]
    return found


def _items(
    step: Step,
    shown: Shown,
    markdown: Markdown,
    covers: Mapping[int, str],
    places: Mapping[int, int],
) -> Iterator[Item]:
    for part in step.parts:
        if isinstance(part, Prose):
            if part.text.strip():
                yield Item("prose", markdown.render(part.text))
            continue
        covered = covers[places[id(part)]] if part.kind in PANES else ""
        data = _block_data(part, shown, markdown)
        yield Item(part.kind, Markup(), part, places[id(part)], covered, data)


def _block_data(block: Block, shown: Shown, markdown: Markdown) -> Mapping[str, Any]:
    """Return what the template shows of a block, as markup."""
    content = block.content
    if block.kind == "predict":
        return {
            "ask": markdown.inline(content.ask),
            "choices": [markdown.inline(c.text) for c in content.choices],
            "feedback": [markdown.inline(c.feedback) for c in content.choices],
        }
    if block.kind == "why":
        return {
            "ask": markdown.inline(content.ask),
            "answers": [markdown.inline(a.text) for a in content.answers],
            "feedback": [markdown.inline(a.feedback) for a in content.answers],
        }
    if block.kind == "exercise":
        folder = shown.exercises.get(str(block.options["folder"]))
        if folder is None:
            return {}
        exercise = folder.exercise
        return {
            "exercise": exercise,
            "task": markdown.render(exercise.task),
            "hints": [markdown.render(h) for h in exercise.hints],
            "language": "python" if exercise.declared.reply is not None else "text",
            "kind_words": exercise.declared.title,
            "folder": str(block.options["folder"]),
        }
    return {}


def rows_of(items: Sequence[Item]) -> Iterator[Row]:
    """Yield rows: each has at most one group of panes, with the text before and after it."""
    row = Row()
    for item in items:
        if item.kind in WIDE:
            if row.items:
                yield row
            yield Row([item])
            row = Row()
        elif item.kind in PANES:
            last = row.items[-1] if row.items else None
            if isinstance(last, list):
                last.append(item)
                continue
            if row.has_panes:
                yield row
                row = Row()
            row.items.append([item])
        else:
            row.items.append(item)
    if row.items:
        yield row


def _address(target: str, catalogue: Catalogue) -> str:
    """Return the address of a link in the prose; "" if its lesson does not exist yet."""
    if target.startswith("https://"):
        return target
    name, _, anchor = target.removeprefix("../").rstrip("/").partition("#")
    if target.startswith("../") and FOLDER.match(name) and name in catalogue.lessons:
        return f"/learn/{name}" + (f"#{anchor}" if anchor else "")
    return ""


def _data(shown: Shown) -> Mapping[str, Any]:
    """Return the facts about a lesson that scripts read: questions, views and exercises."""
    lesson = shown.lesson
    blocks: list[Mapping[str, Any]] = []
    for number, block in enumerate(lesson.blocks):
        content, row = block.content, {"block": number, "kind": block.kind, "name": block.name}
        if block.kind == "predict":
            row |= {
                "within": content.within,
                "about": str(content.about).strip("{}") if content.about else "",
                "sources": sorted(content.sources),
            }
        elif block.kind == "why":
            row |= {"right": [a.right for a in content.answers]}
        elif block.kind == "exercise":
            folder = shown.exercises.get(str(block.options["folder"]))
            row |= {"folder": block.options["folder"]}
            row |= {"exercise": folder.exercise.to_json()} if folder else {}
        elif block.kind == "view":
            row |= {"view": {**_VIEW, **block.options}, "is_sample": _is_sample(block)}
        elif block.kind in ("experiment", "pipeline"):
            row |= {"draw": block.options.get("draw", "table"), "of": block.options.get("of", "")}
        blocks.append(row)
    return {"lesson": shown.name, "blocks": blocks, "n_steps": len(lesson.steps)}


_VIEW = {"pipeline": "default", "select": "", "step": 0, "words": ""}


def _is_sample(block: Block) -> bool:
    return str(block.options["of"]).startswith(SAMPLE)
