"""The blocks that only the page shows: a pane of the playground, and an exercise."""

from __future__ import annotations

from course.blocks.results import Run
from course.format.kind import block_kind


@block_kind(body="none", runs=False)
def view(
    run: Run,
    body: str,
    *,
    pane: str,
    of: str,
    pipeline: str = "default",
    select: str = "",
    step: int = 0,
    words: str = "",
) -> None:
    """Open a pane of the playground on a graph, live, with its state."""


@block_kind(body="none", runs=False)
def exercise(run: Run, body: str, *, folder: str) -> None:
    """Ask for an answer that the compiler judges; `folder` holds the exercise."""
