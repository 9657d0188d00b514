"""An exercise as data, for the page and for the judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from compiler.dataclass import dataclass
from compiler.errors import CompileError, Where
from course.format.toml import Table

CODE = "E-EXERCISE-FORM"


@dataclass(frozen=True, slots=True)
class Given:
    """A text that an exercise gives, such as a graph, with the goals for it in words.

    `language` selects the highlighting: "written" for graphs, "computation", "loops", "" for words.
    """

    title: str
    text: str
    language: str = "written"
    goals: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the text as data."""
        return {"title": self.title, "text": self.text, "language": self.language,
                "goals": list(self.goals)}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class ExerciseKind:
    """A kind of exercise.

    `file` is the name of the answer's file. `read` turns the settings of an exercise into a typed
    value. `gives` returns the texts that the page shows with the task. `judge` adds tests and
    scores to a judgement. `reply` answers a question in the process that runs the student's code;
    it is None for answers without code.
    """

    name: str
    words: str
    file: str
    read: Callable[[Table], Any]
    gives: Callable[[Any], Sequence[Given]]
    judge: Callable[[Any, Any, str], None]
    reply: Callable[[Any, Any, Mapping[str, Any]], Any] | None

    @property
    def title(self) -> str:
        """The first line of the description."""
        return self.words.split("\n", 1)[0]


KINDS: dict[str, ExerciseKind] = {}
"""All kinds by name; importing `course.exercises` fills the table."""


@dataclass(frozen=True, slots=True)
class Exercise:
    """An exercise: its kind, its settings, and its words. Solutions are not part of it."""

    id: str
    kind: str
    title: str
    task: str
    hints: tuple[str, ...]
    settings: Mapping[str, Any]
    skeleton: str = ""
    source: str = "exercise.toml"

    @property
    def declared(self) -> ExerciseKind:
        """The declaration of the kind."""
        return KINDS[self.kind]

    def typed_settings(self) -> Any:
        """Return the settings as the kind reads them. Errors: E-EXERCISE-FORM."""
        return self.declared.read(Table(self.settings, Where(self.source, 1, 1), CODE, "settings"))

    def to_json(self) -> dict[str, Any]:
        """Return the exercise as data."""
        return {
            "id": self.id,
            "kind": self.kind,
            "title": self.title,
            "task": self.task,
            "hints": list(self.hints),
            "settings": dict(self.settings),
            "given": [each.to_json() for each in self.declared.gives(self.typed_settings())],
            "skeleton": self.skeleton,
            "file": self.declared.file,
        }


def exercise_of(data: object, source: str = "exercise") -> Exercise:
    """Read an exercise from data, and check its settings. Errors: E-EXERCISE-FORM."""
    if not isinstance(data, Mapping):
        raise CompileError(CODE, "an exercise is a table", where=Where(source))
    t = Table(data, Where(source, 1, 1), CODE)
    kind = t.text("kind")
    if kind not in KINDS:
        raise t.fail(f"no kind of exercise is named {kind!r:.40}; kinds: {', '.join(KINDS)}")
    made = Exercise(
        t.text("id"),
        kind,
        t.text("title", ""),
        t.text("task", ""),
        t.texts("hints", ()),
        t.table("settings", {}).values,
        t.text("skeleton", ""),
        source,
    )
    made.typed_settings()
    return made
