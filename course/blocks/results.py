"""The shared state of running blocks: their results, and the graphs that blocks refer to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import field
from typing import Any, TypeVar

from compiler.dataclass import dataclass
from compiler.errors import CompileError, Where
from compiler.ir.graph import Graph
from course.format.lesson import Block, Lesson
from course.format.references import Reference
from course.quantities.amount import FILTERS, Amount
from course.quantities.run_times import Alone

Load = Callable[[str], Graph]
"""A function from the name of a sample to its graph."""

SAMPLE = "sample:"
"""The start of the name of a model that ships with the program."""


@dataclass(frozen=True, slots=True)
class Results:
    """The results of a block: amounts by path (`fused.bytes`), texts to show, and drawings.

    `graph` is the graph that other blocks refer to by the name of this block. `omitted` has the
    paths of amounts that exist only if the run measures.
    """

    amounts: Mapping[str, Amount] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)
    graph: Graph | None = None
    output: str = ""
    omitted: frozenset[str] = frozenset()

    def to_json(self) -> dict[str, Any]:
        """Return the results as data."""
        return {
            "amounts": {name: a.to_json() for name, a in self.amounts.items()},
            "texts": dict(self.texts),
            "data": dict(self.data),
            "output": self.output,
        }


T = TypeVar("T")


def or_error(run: Run, expect: str, what: str, make: Callable[[], T]) -> T | Results:
    """Return the result of `make`; with `expect`, return results that show the error of this code.

    Errors: those of `make`, and E-LESSON-RESULT if an expected error does not occur.
    """
    try:
        made = make()
    except CompileError as e:
        if e.code != expect:
            raise
        return Results(texts={"error": str(e)}, data={"error": e.to_json()})
    if expect:
        message = f"{what} was accepted, but the block expects {expect}"
        raise CompileError("E-LESSON-RESULT", message, where=run.where)
    return made


def no_samples(name: str) -> Graph:
    """Refuse every sample: the caller passed no function that loads models. Errors:
    E-LESSON-RESULT."""
    raise CompileError("E-LESSON-RESULT", f"the sample {name!r:.60} cannot be loaded here")


@dataclass
class Run:
    """A run of a lesson: the results so far, and the block that runs.

    `seconds` limits the timing of each experiment; with 0, timed quantities have no value. Programs
    are timed in the context `alone`.
    """

    lesson: Lesson
    load: Load = no_samples
    seconds: float = 0.2
    alone: Alone = nullcontext
    results: dict[str, Results] = field(default_factory=dict)
    block: Block | None = None

    @property
    def where(self) -> Where:
        """The position of the block that runs."""
        return self.lesson.where(self.block) if self.block else Where(self.lesson.source)

    @property
    def first_line(self) -> int:
        """The line of the file in which the body of the block begins."""
        return self.block.line + 1 if self.block else 1

    def graph(self, name: str) -> Graph:
        """Return the graph of a block, or a sample. Errors: E-LESSON-RESULT."""
        if name.startswith(SAMPLE):
            return self.load(name.removeprefix(SAMPLE))
        found = self.results.get(name)
        if found is None or found.graph is None:
            message = f"no earlier block {name!r:.60} has a graph"
            hint = f"name a graph block above this block, or {SAMPLE}NAME"
            raise CompileError("E-LESSON-RESULT", message, where=self.where, hint=hint)
        return found.graph

    def omits(self, reference: Reference) -> bool:
        """Whether a reference names an amount that this run does not measure."""
        found = self.results.get(reference.block)
        return found is not None and ".".join(reference.path) in found.omitted

    def amount(self, reference: Reference, where: Where | None = None) -> Amount:
        """Return the amount that a reference names. Errors: E-LESSON-RESULT."""
        path, found = ".".join(reference.path), self.results.get(reference.block)
        if found is None:
            message, known = f"no block {reference.block!r} has results", list(self.results)
        elif path not in found.amounts:
            message, known = f"{reference.block} has no result {path!r}", list(found.amounts)
        elif reference.filter and reference.filter not in FILTERS:
            message, known = f"no filter is named {reference.filter!r}", list(FILTERS)
        else:
            return found.amounts[path]
        notes = [f"known: {', '.join(known) or 'none'}"]
        raise CompileError("E-LESSON-RESULT", message, where=where, notes=notes)
