"""Ahead-of-time compilation of all planner loops: `python -m compiler.memory.planners.ahead`.

Without this command, planning of the first hard problem on a machine waits for the compilation. The
machine code is written to the cache that native.py reads.
"""

from __future__ import annotations

import itertools
import random

from compiler.memory.buffer import Buffer
from compiler.memory.planners.halves import place_by_halves
from compiler.memory.planners.keys import by, by_size
from compiler.memory.planners.native import now
from compiler.memory.planners.research.joining import apart
from compiler.memory.problem import Problem

N_BUFFERS = 600
"""Number of buffers in the example problem: enough for `halves.py` to halve the steps."""


def make_all() -> None:
    """Call each compiled loop once, with arguments of the usual types."""
    # These modules are imported here because their import takes long.
    from compiler.memory.planners.exact.inner import run
    from compiler.memory.planners.exact.preorders import PREORDERS, measure, preorder
    from compiler.memory.planners.exact.sections import sections_of
    from compiler.memory.planners.exact.state import begin
    from compiler.memory.planners.research.annealed.forest import Annealing
    from compiler.memory.planners.research.ejection.search import Search
    from compiler.memory.planners.research.repair.reduction import Reduction
    from compiler.memory.planners.research.repair.search import Search as Repair
    from compiler.memory.planners.research.skyline.search import WEIGHTS, Skylines

    blocks = _problem().blocks
    few = blocks[:20]
    total = sum(b.size for b in blocks)
    place_by_halves(blocks, by(by_size, blocks), "best")
    sections = sections_of(few)
    order = preorder(PREORDERS[0], measure(few, sections))
    run(begin(sections, sections.size, total, order), 1)
    stacked = [0, *itertools.accumulate(b.size for b in few[:-1])]
    packings = Search(few, seed=0).packings(stacked, 0, now() + 9.0)
    assert len([*itertools.islice(packings, 2)]) == 2, "the search must improve the stacked blocks"
    reduction = Reduction(blocks)
    repair = Repair(reduction.blocks, reduction.reduced([0] * len(blocks)), seed=0)
    # At most four plans come from first fit, so the fifth comes from repair.
    assert [*itertools.islice(repair.plans(0, now() + 9.0), 5)]
    next(Annealing(few, seed=0).coolings(now() + 9.0))
    Skylines(apart(few)).packed(2, WEIGHTS[0], total + 1, now() + 9.0, seed=0)


def _problem() -> Problem:
    chance = random.Random(0)
    return Problem(
        tuple(
            Buffer(f"b{i}", chance.randint(1, 99), start, start + chance.randint(1, 9))
            for i, start in enumerate(chance.choices(range(90), k=N_BUFFERS))
        )
    )


if __name__ == "__main__":
    make_all()
