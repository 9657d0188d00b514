"""What reading a written model gives, whichever language it is in."""

from __future__ import annotations

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.frontend.tracing.tracing import TracingLimits
from compiler.ir.graph import Graph
from compiler.ir.types import Type


@dataclass(frozen=True, slots=True)
class WritingLimits:
    """How much a text may ask for. Units: characters and counts.

    The defaults are for one's own files on one's own machine.
    """

    characters: int = 1 << 26
    iterations: int = 1_000_000
    """Statements that are run, those inside loops and functions each time."""
    calls: int = 50
    """Functions inside each other."""
    tracing: TracingLimits = TracingLimits(n_nodes=1_000_000, n_elements=1 << 33)

    def check_text(self, text: str) -> None:
        """Errors: E-WRITE-LIMIT."""
        if len(text) > self.characters:
            found = f"the text has {len(text):,} characters"
            raise CompileError("E-WRITE-LIMIT", f"{found}; at most {self.characters:,} are read")


PAGE_LIMITS = WritingLimits(
    characters=20_000,
    iterations=20_000,
    tracing=TracingLimits(n_nodes=2_000, n_elements=1 << 26, list_elements=1 << 12),
)
"""For texts that strangers give a server."""


@dataclass(frozen=True, slots=True)
class Line:
    """A value that a line of the text defines; lines count from 1."""

    line: int
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Written:
    """A text as far as it could be read: `graph` is there when there are no problems."""

    graph: Graph | None
    problems: tuple[CompileError, ...]
    lines: tuple[Line, ...]
    """The values that lines define, in order; of a line that runs again, the last time."""
