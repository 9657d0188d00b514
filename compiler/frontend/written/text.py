"""The result of reading a written model, and its limits, for both languages."""

from __future__ import annotations

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.frontend.tracing.tracing import TracingLimits
from compiler.ir.graph import Graph
from compiler.ir.types import Type


@dataclass(frozen=True, slots=True)
class WritingLimits:
    """The limits of a text. Units: characters and counts.

    The defaults are for trusted local files.
    """

    characters: int = 1 << 26
    iterations: int = 1_000_000
    """The maximum number of executed statements; a statement counts each time it runs."""
    calls: int = 50
    """Depth of nested calls."""
    tracing: TracingLimits = TracingLimits(n_nodes=1_000_000, n_elements=1 << 33)

    def check_text(self, text: str) -> None:
        """Check the length of a text. Errors: E-WRITE-LIMIT."""
        if len(text) > self.characters:
            found = f"the text has {len(text):,} characters"
            raise CompileError("E-WRITE-LIMIT", f"{found}; the limit is {self.characters:,}")


PAGE_LIMITS = WritingLimits(
    characters=20_000,
    iterations=20_000,
    tracing=TracingLimits(n_nodes=2_000, n_elements=1 << 26, list_elements=1 << 12),
)
"""The limits for untrusted texts on a server."""


@dataclass(frozen=True, slots=True)
class Line:
    """A value defined by a line of the text; lines count from 1."""

    line: int
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Written:
    """The result of reading a text; `graph` is present if there are no problems."""

    graph: Graph | None
    problems: tuple[CompileError, ...]
    lines: tuple[Line, ...]
    """The values that lines define, in order; for a line that runs repeatedly, its last value."""
