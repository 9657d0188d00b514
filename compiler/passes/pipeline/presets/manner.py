"""Pipelines in the manner of other compilers: what each runs, in its order, and ours for it.

One file per system declares a `Manner`. Its pipeline, its words on the page and its section of
docs/pipelines.md all come from that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from compiler.dataclass import dataclass
from compiler.passes.pipeline.pipeline import Line, Pipeline, Repeat


@dataclass(frozen=True, slots=True)
class Theirs:
    """A pass of another compiler, or several that follow each other, and our line for it.

    `ours` is None where we have nothing of the kind, or need nothing; `words` say why, or what is
    alike and what is not.
    """

    names: str
    ours: Line | Repeat | None
    words: str = ""


@dataclass(frozen=True, slots=True)
class Manner:
    """Another compiler's pipeline: its passes in order, and what is alike and what is not.

    `source` says where the order was read.
    """

    name: str
    system: str
    words: str
    source: str
    steps: tuple[Theirs, ...]
    alike: str
    unlike: str

    @property
    def pipeline(self) -> Pipeline:
        """Our lines in their order; the same line is not repeated right behind itself."""
        return Pipeline(tuple(self._lines()), self.name, self.words)

    def _lines(self) -> Iterator[Line | Repeat]:
        last = ""
        for step in self.steps:
            if step.ours is not None and str(step.ours) != last:
                last = str(step.ours)
                because = step.ours.because or f"for {shortened(step.names)}"
                yield replace(step.ours, because=because)


def shortened(names: str) -> str:
    """Their passes, the first three by name."""
    each = names.split(", ")
    return names if len(each) <= 3 else f"{', '.join(each[:3])} and {len(each) - 3} more"
