"""The node order with the fewest crossings between generated code and the reference.

Each change from generated code to the reference ends a native call and passes values as arrays.
Independent nodes may run in any order, so all ready native nodes run before the next fallback, and
all ready fallbacks run together.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from compiler.runtime.works.select import FallbackWork, ViewWork, Work


def grouped(works: Sequence[Work]) -> list[Work]:
    """Order nodes with the fewest crossings; keep the given order if its crossings are as few.

    The two sides are generated code and the reference. For a given first side, running all ready
    nodes of one side before a change is optimal, since this never delays a node. Both first sides
    are tried.
    """
    orders = [list(works), *(_in_turns(works, first) for first in (False, True))]
    return min(orders, key=n_crossings)


def n_crossings(works: Sequence[Work]) -> int:
    """Return the number of changes between native code and the reference, ignoring views."""
    sides = [isinstance(w, FallbackWork) for w in works if not isinstance(w, ViewWork)]
    return sum(a != b for a, b in pairwise(sides))


def _in_turns(works: Sequence[Work], falls_back: bool) -> list[Work]:
    """Alternate between all ready nodes of one side and of the other; the order is stable."""
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
