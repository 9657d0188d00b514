"""The map of the course: parts, places, the lessons that exist, and their prerequisites."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from compiler.dataclass import dataclass
from compiler.errors import CompileError, Where
from course.format.front import FOLDER, Front, split_front
from course.format.limits import checked
from course.judging.exercise import Exercise
from course.lessons import TEXT, LessonFolder, read_text

VARIABLE = "COMPILARIUM_LESSONS"
"""The environment variable with folders of further lessons, separated as in PATH."""

PARTS: Mapping[int, str] = {
    1: "What a graph compiler is",
    2: "Making the graph better",
    3: "Memory",
    4: "Loops and code",
    5: "Less arithmetic",
    6: "Beyond one forward pass on one core",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A place on the map: the number, the part and the subject of a lesson.

    `coming` states that its lesson comes with a later version of the program.
    """

    number: int
    part: int
    title: str
    coming: bool = False


def _places() -> Iterator[Place]:
    outline: Sequence[tuple[int, Sequence[tuple[int, str]]]] = (
        (1, (
            (10, "From model to machine code in one walk"),
            (20, "Reading a graph: operators, types, shapes, parameters"),
            (30, "Calls, traces, graphs: imperative and declarative"),
            (40, "Levels: graph, computation, loops, LLVM, instructions"),
        )),
        (2, (
            (50, "Constants: fold, and when not to"),
            (60, "Dead, common, trivial: DCE, CSE, algebra"),
            (70, "Fusion: memory is the bottleneck"),
            (80, "Vertical, horizontal, multi-output: fusion policies of five compilers"),
            (90, "Layouts"),
            (100, "Is it still right? Tolerance, checking, bisection"),
            (110, "Order of passes, equality saturation"),
        )),
        (3, (
            (120, "Lifetimes, views, in place"),
            (130, "Planning as packing"),
            (140, "Order and rematerialization"),
        )),
        (4, (
            (150, "Computation and schedule"),
            (160, "Tiles and caches"),
            (170, "Vectors, registers, instructions"),
            (180, "Convolution, four ways"),
            (190, "Softmax, norms, attention in one kernel"),
            (200, "Threads: inside and between operators"),
            (210, "Searching for schedules: cost models and measurements"),
        )),
        (5, (
            (220, "Fewer bits: quantization"),
            (230, "Fewer weights: pruning and sparsity"),
            (240, "Smaller models: distillation"),
        )),
        (6, (
            (250, "Gradients and training graphs"),
            (260, "Open shapes and control flow"),
            (270, "Several devices"),
            (280, "Other targets: Arm, GPU, WebAssembly; ahead of time and just in time"),
        )),
    )  # fmt: skip
    for part, rows in outline:
        yield from (Place(n, part, title, n in COMING) for n, title in rows)


COMING = frozenset({220, 230, 240, 250, 280})
"""Numbers of planned lessons; each needs a capability that this version does not have."""

PLACES: Mapping[int, Place] = {p.number: p for p in _places()}


def part_of(number: int) -> int:
    """Return the part of a lesson's number: that of the closest place before it, or 1."""
    return PLACES[max((n for n in PLACES if n <= number), default=min(PLACES))].part


@dataclass(frozen=True, slots=True)
class Entry:
    """A place with the lesson that exists there; a teacher's lesson may have a place of its own."""

    place: Place
    lesson: LessonFolder | None
    front: Front | None

    @property
    def name(self) -> str:
        """The name of the lesson's folder, or ""."""
        return self.lesson.name if self.lesson else ""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All places in order, with their lessons."""

    entries: tuple[Entry, ...]

    @property
    def lessons(self) -> Mapping[str, LessonFolder]:
        """The lessons by the name of their folder."""
        return {e.name: e.lesson for e in self.entries if e.lesson is not None}

    def lesson(self, name: str) -> LessonFolder:
        """Return a lesson by the name of its folder. Errors: E-LESSON-FOLDER."""
        found = self.lessons.get(name)
        if found is None:
            raise CompileError("E-LESSON-FOLDER", f"no lesson is named {name!r:.60}")
        return found

    def exercise(self, name: str) -> Exercise:
        """Return an exercise by `LESSON/EXERCISE`. Errors: E-LESSON-FOLDER."""
        lesson, _, folder = name.partition("/")
        found = self.lesson(lesson).exercises.get(folder)
        if found is None:
            message = f"the lesson {lesson} has no exercise {folder!r:.60}"
            raise CompileError("E-LESSON-FOLDER", message)
        return found.exercise


def folders_of_lessons(shipped: Path, variable: str | None = None) -> list[Path]:
    """Return the folders of lessons: the folder that ships, and those of the environment
    variable."""
    given = os.environ.get(VARIABLE, "") if variable is None else variable
    return [shipped, *(Path(p) for p in given.split(os.pathsep) if p)]


def read_catalogue(folders: Sequence[Path]) -> Catalogue:
    """Read the front matter of all lessons in some folders, and check their prerequisites.

    A folder contains lessons, or is itself the folder of a lesson.
    Errors: E-LESSON-FOLDER for two lessons with one name or number, an unknown prerequisite or a
    cycle; E-LESSON-FRONT.
    """
    found: dict[int, Entry] = {}
    for path in _lessons_in(folders):
        front = front_of(path)
        number = front.number
        if not path.name.startswith(f"{number}-"):
            raise _fail(path, f"the front matter has another number than the folder: {number}")
        other = found.get(number)
        if other is not None:
            raise _fail(path, f"the number {number} is already that of {other.name}")
        place = PLACES.get(number) or Place(number, front.part, front.title)
        if front.part not in PARTS or front.part != place.part:
            raise _fail(path, f"the part is {front.part}; the place is in part {place.part}")
        found[number] = Entry(place, LessonFolder(path), front)
    entries = [found.get(n) or Entry(p, None, None) for n, p in PLACES.items()]
    entries += [e for n, e in found.items() if n not in PLACES]
    entries.sort(key=lambda e: (e.place.part, e.place.number))
    _check_prerequisites([e for e in entries if e.front is not None])
    return Catalogue(tuple(entries))


def _lessons_in(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        if not folder.is_dir():
            raise _fail(folder, "there is no such folder of lessons")
        if FOLDER.match(folder.name) and (folder / TEXT).is_file():
            yield folder
            continue
        names = (p for p in folder.iterdir() if FOLDER.match(p.name) and p.is_dir())
        yield from sorted(names, key=lambda p: (int(p.name.split("-")[0]), p.name))


def front_of(path: Path) -> Front:
    """Read only the front matter of a lesson. Errors: E-LESSON-FRONT, E-LESSON-FOLDER."""
    source = f"{path.name}/{TEXT}"
    text = checked(read_text(path / TEXT), source)
    return split_front(text.splitlines(keepends=True), source)[0]


def _fail(path: Path, message: str) -> CompileError:
    return CompileError("E-LESSON-FOLDER", message, where=Where(str(path)))


def _check_prerequisites(entries: Sequence[Entry]) -> None:
    """Require that prerequisites exist and form no cycle."""
    needs = {e.name: e.front.prerequisites for e in entries if e.front is not None}
    planned = {p.number for p in PLACES.values()}
    for name, wanted in needs.items():
        for other in wanted:
            if other not in needs and int(other.split("-")[0]) not in planned:
                message = f"{name} needs {other}, which is not a lesson"
                raise CompileError("E-LESSON-FOLDER", message, where=Where(f"{name}/{TEXT}", 2, 1))
    done: set[str] = set()
    for name in needs:
        cycle = _cycle(name, needs, [], done)
        if cycle:
            message = f"the prerequisites form a cycle: {' needs '.join(cycle)}"
            raise CompileError("E-LESSON-FOLDER", message, where=Where(f"{name}/{TEXT}", 2, 1))


def _cycle(
    name: str, needs: Mapping[str, Sequence[str]], above: list[str], done: set[str]
) -> list[str]:
    if name in above:
        return [*above[above.index(name) :], name]
    if name in done:
        return []
    for other in needs.get(name, ()):
        found = _cycle(other, needs, [*above, name], done)
        if found:
            return found
    done.add(name)
    return []
