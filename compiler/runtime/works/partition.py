"""The order of a program's works in which data cross to the reference and back as seldom as can be.

Every change from generated code to the reference ends a native call and hands values over as
arrays. Works that do not wait for each other may run in any order, so all that can run natively
runs before the next fallback, and all fallbacks that can run do so together.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from compiler.runtime.works.select import FallbackWork, ViewWork, Work


def grouped(works: Sequence[Work]) -> list[Work]:
    """The works in an order with the fewest changes of side; the given one where that is as good.

    Running everything that is ready on one side before changing is optimal for each side to begin
    with, since it never delays a work; both are tried.
    """
    orders = [list(works), *(_in_turns(works, first) for first in (False, True))]
    return min(orders, key=n_crossings)


def n_crossings(works: Sequence[Work]) -> int:
    """How often an order changes between generated code and the reference; views are neither."""
    sides = [isinstance(w, FallbackWork) for w in works if not isinstance(w, ViewWork)]
    return sum(a != b for a, b in pairwise(sides))


def _in_turns(works: Sequence[Work], falls_back: bool) -> list[Work]:
    """All works that are ready on one side, then on the other, and so on; stable within."""
    made_here = {o for w in works for o in w.node.outputs if o}
    done: set[str] = set()
    left, ordered = list(works), list[Work]()
    while left:
        waiting: list[Work] = []
        for w in left:
            fits = isinstance(w, ViewWork) or isinstance(w, FallbackWork) == falls_back
            if fits and all(r in done for r in w.node.reads if r in made_here):
                ordered.append(w)
                done.update(o for o in w.node.outputs if o)
            else:
                waiting.append(w)
        left, falls_back = waiting, not falls_back
    return ordered
