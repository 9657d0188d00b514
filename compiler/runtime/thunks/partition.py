"""The node order with the fewest crossings between generated code and fallbacks.

Each change from generated code to the reference implementation ends a native call and passes values
as arrays. Independent nodes may run in any order, so all ready native nodes run before the next
fallback, and all ready fallbacks run together.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from compiler.runtime.thunks.select import FallbackThunk, Thunk, ViewThunk


def grouped(thunks: Sequence[Thunk]) -> list[Thunk]:
    """Order nodes with the fewest crossings; on a tie, keep the given order.

    The two sides are generated code and fallbacks, which the reference implementation runs. For a
    given first side, it is optimal to run all ready nodes of one side before a change, since this
    never delays a node. Both orders, native nodes first and fallbacks first, are tried.
    """
    orders = [list(thunks), *(_in_turns(thunks, first) for first in (False, True))]
    return min(orders, key=n_crossings)


def n_crossings(thunks: Sequence[Thunk]) -> int:
    """Return the number of changes between native code and fallbacks, ignoring views."""
    sides = [isinstance(w, FallbackThunk) for w in thunks if not isinstance(w, ViewThunk)]
    return sum(a != b for a, b in pairwise(sides))


def _in_turns(thunks: Sequence[Thunk], falls_back: bool) -> list[Thunk]:
    """Alternately run all ready native nodes and all ready fallbacks; the order is stable."""
    made_here = {o for w in thunks for o in w.node.outputs if o}
    done: set[str] = set()
    left, ordered = list(thunks), list[Thunk]()
    while left:
        waiting: list[Thunk] = []
        for w in left:
            fits = isinstance(w, ViewThunk) or isinstance(w, FallbackThunk) == falls_back
            if fits and all(r in done for r in w.node.reads if r in made_here):
                ordered.append(w)
                done.update(o for o in w.node.outputs if o)
            else:
                waiting.append(w)
        left, falls_back = waiting, not falls_back
    return ordered
