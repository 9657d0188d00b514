"""Pipelines modelled on other compilers: their passes in order, and our corresponding passes.

For each compiler a module declares a `Manner`. The pipeline, the text on the page and the section
of docs/pipelines.md derive from this declaration.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from compiler.dataclass import dataclass
from compiler.passes.pipeline.pipeline import Line, Pipeline, Repeat


@dataclass(frozen=True, slots=True)
class Theirs:
    """Consecutive passes of another compiler, and our line for them.

    `ours` is None if we have no counterpart or need none. `words` gives the reason, or compares the
    passes of the other compiler with ours.
    """

    names: str
    ours: Line | Repeat | None
    words: str = ""


@dataclass(frozen=True, slots=True)
class Manner:
    """The pipeline of another compiler: its passes in order, and a comparison with ours.

    `source` is the file or document from which the order is taken.
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
        """Our lines in order, without consecutive duplicates, described as an imitation."""
        words = f"An imitation of {self.system}, with our own passes and kernels. {self.words}"
        return Pipeline(tuple(self._lines()), self.name, words)

    def _lines(self) -> Iterator[Line | Repeat]:
        last = ""
        for step in self.steps:
            if step.ours is not None and str(step.ours) != last:
                last = str(step.ours)
                because = step.ours.because or f"for {shortened(step.names)}"
                yield replace(step.ours, because=because)


def shortened(names: str) -> str:
    """Abbreviate a list of pass names to the first three."""
    each = names.split(", ")
    return names if len(each) <= 3 else f"{', '.join(each[:3])} and {len(each) - 3} more"
