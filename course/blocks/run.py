"""Running the blocks of a lesson, in order, and filling its prose."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.passes.pipeline.run import PassBug
from course.blocks.all import BLOCKS
from course.blocks.results import Load, Results, Run, no_samples
from course.format.lesson import Block, Lesson, Prose
from course.format.references import filled


@dataclass(frozen=True, slots=True)
class Ran:
    """A block that ran: its results, or its error, and the seconds it took."""

    block: Block
    results: Results | None
    error: CompileError | None
    seconds: float


def run_block(run: Run, block: Block) -> Ran:
    """Run one block, and keep its results under its name."""
    fn = BLOCKS[block.kind].run
    assert fn is not None, f"{block.kind} does not run"
    run.block, start, error, results = block, perf_counter(), None, None
    try:
        results = fn(run, block.content, **block.options)
        run.results[block.name] = results
    except CompileError as e:
        error = e.at(run.where)
    except PassBug as e:
        error = CompileError("E-LESSON-RESULT", f"a pass failed: {e}", where=run.where)
    return Ran(block, results, error, perf_counter() - start)


def run_lesson(
    lesson: Lesson, load: Load = no_samples, seconds: float = 0.2
) -> tuple[Run, list[Ran]]:
    """Run all blocks of a lesson; predictions run last, when their experiments have results."""
    run = Run(lesson, load, seconds)
    return run, list(run_blocks(run))


def run_blocks(run: Run) -> Iterator[Ran]:
    """Run all blocks of a lesson one after another, and yield each as soon as it has run."""
    blocks = [b for b in run.lesson.blocks if BLOCKS[b.kind].run is not None]
    for late in (False, True):
        for block in blocks:
            if BLOCKS[block.kind].late == late:
                yield run_block(run, block)


def filled_prose(run: Run, prose: Prose) -> str:
    """Return the text of prose with the values of its references. Errors: E-LESSON-RESULT."""
    where = run.lesson.where(prose)
    return filled(prose.text, lambda r: run.amount(r, where).text(r.filter))
