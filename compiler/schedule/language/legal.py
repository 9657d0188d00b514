"""The invariants of every nest, and the conditions for emitting a nest as code."""

from __future__ import annotations

import re

from compiler.errors import require
from compiler.ir import affine
from compiler.schedule.axes import MOST_LOOPS, Axis, Entry, Loops

_WORD = re.compile(r"[a-z_]\w*", re.ASCII)
"""Names of loops; the first letter is lower case, since tensors and open sizes are upper case."""

_MADE_LATER = re.compile(r".*(_left|_by\d+|_line)")
"""Names reserved for remainder loops and for loops over cache lines."""


MOST_SUMS = 1 << 24
"""The maximum number of partial sums that a nest stores in memory."""


def require_legal(condition: bool, message: str, hint: str = "") -> None:
    """Refuse a move with a message unless the condition is true. Errors: E-SCHEDULE-MOVE."""
    require(condition, "E-SCHEDULE-MOVE", message, hint=hint)


def require_new(nest: Loops, *names: str) -> None:
    """Refuse invalid loop names and names that are taken. Errors: E-SCHEDULE-MOVE."""
    for name in names:
        plain = _WORD.fullmatch(name) and not _MADE_LATER.fullmatch(name)
        message = f"{name!r:.60} cannot be the name of a loop"
        require_legal(bool(plain), message, "begin the name with a lower-case letter: mo, mi")
        require_legal(name not in nest.taken, f"the name {name} is taken")
    require_legal(len(set(names)) == len(names), f"two loops cannot both be named {names[0]}")


class Checked(Loops):
    """A nest that checks its invariants after every move."""

    def require_sound(self) -> None:
        """Check the invariants of a nest. Errors: E-SCHEDULE-MOVE."""
        _require_sound(self)


def _require_sound(nest: Loops) -> None:
    require_legal(len(nest.axes) <= MOST_LOOPS, f"a nest has at most {MOST_LOOPS} loops")
    _require_parts_inside(nest)
    for e in nest.entries:
        _require_entry(nest, e)
    if nest.cached or any(a.kind == "tile" for a in nest.axes):
        _require_block(nest)
    reduced: Axis | None = None
    for a in nest.axes:
        if a.kind in ("unroll", "vector", "dot", "tile"):
            known = isinstance(a.extent, int)
            require_legal(known, f"the length of {a} is known only at run time: split it first")
        if a.kind == "vector":
            _require_vector(nest, a)
        if a.kind == "parallel":
            require_legal(
                not a.is_reduction and reduced is None,
                f"{a.var} cannot run in parallel: its threads would add to the same sums",
            )
        reduced = a if a.is_reduction else reduced


def _require_entry(nest: Loops, e: Entry) -> None:
    """Check that a copy or prefetch is still legal after a move on the loops."""
    at = nest.position(e.loop)
    outside = not e.over or nest.position(e.over) < at
    require_legal(outside, f"{e.over} does not run outside {e.loop}")
    require_legal(
        nest.axes[at].kind != "vector",
        f"{e.loop} copies or prefetches {e.tensor}, so this loop cannot be vectorized",
    )
    if not e.block:
        return
    for a in nest.axes[: at + 1]:
        require_legal(
            a.kind != "parallel", f"threads of {a.var} would share the copy of {e.tensor}"
        )
    places = frozenset().union(*map(affine.symbols, e.place))
    for a in nest.axes[at + 1 :]:
        reads = any(a.var in affine.symbols(i) for i in e.index)
        require_legal(
            not reads or a.var in places,
            f"{a.var} ran outside {e.loop} when {e.tensor} was copied, so the copy has no axis "
            f"for {a.var}",
        )


def _require_block(nest: Loops) -> None:
    """Check that sums in memory have a known size, and that only plain loops add to these sums."""
    last = nest.position(nest.cached) + 1 if nest.cached else 0
    for a in nest.axes[:last]:
        message = f"{a.var} adds to sums in memory, so its iterations run in order"
        require_legal(not a.is_reduction or (a.kind == "for" and not a.lanes), message)
    first = next((i for i, a in enumerate(nest.axes) if a.is_reduction), len(nest.axes))
    n_points = 1
    for b in nest.axes[first:]:
        if not b.is_reduction:
            require_legal(isinstance(b.extent, int), f"the length of {b} is known only at run time")
            n_points *= b.size
    require_legal(n_points <= MOST_SUMS, f"{n_points:,} sums in memory, the limit is {MOST_SUMS:,}")


def _require_parts_inside(nest: Loops) -> None:
    places = {a.var: i for i, a in enumerate(nest.axes)}
    for s in nest.splits.values():
        if nest.is_uneven(s):
            outer = max(places[v] for v in nest.parts(s.outer))
            inner = min(places[v] for v in nest.parts(s.inner))
            require_legal(
                outer < inner,
                f"{s.inner} must run inside {s.outer}: the last part of {s.outer} is shorter",
            )


def _require_vector(nest: Loops, a: Axis) -> None:
    inside = [b.var for b in nest.axes[nest.axes.index(a) + 1 :] if b.kind != "dot"]
    require_legal(
        not inside, f"a vector loop must be innermost: {', '.join(inside)} runs inside {a.var}"
    )
    require_legal(
        not a.is_reduction or a.lanes,
        f"all lanes of {a.var} would add to one element",
        f"rfactor({a.var}) gives each lane its own sum",
    )
    lanes = [b.var for b in nest.axes if b.lanes]
    require_legal(
        a.is_reduction or not lanes,
        f"lanes run over results or over the reduction, not over both: {a.var}, {', '.join(lanes)}",
    )


def require_finished(nest: Loops) -> None:
    """Check the conditions for emitting a nest as Loop IR. Errors: E-SCHEDULE-MOVE."""
    require_legal(
        not nest.owed,
        f"a loop runs past the end of {', '.join(sorted(nest.owed))}",
        "pack each of these constants: packing pads a constant with zeros",
    )
    for a in nest.axes[:-1]:
        require_legal(
            a.kind != "dot",
            f"{a.var} is one dot step and must be innermost: {nest.axes[-1].var} is inside",
        )
    tiles = [a for a in nest.axes if a.kind == "tile"]
    if tiles:
        _require_tile(nest, tiles[0])
        return
    begin = nest.position(nest.cached) + 1 if nest.cached else 0
    inside = [i for i, a in enumerate(nest.axes) if a.is_reduction and i >= begin]
    first = inside[0] if inside else len(nest.axes)
    lanes = next((a.var for a in nest.axes[:first] if inside and a.kind == "vector"), "")
    require_legal(
        not lanes,
        f"lanes of {lanes} would share one sum, since the whole reduction runs inside",
        f"split {nest.axes[first].var if inside else ''} first, and run its outer part outside "
        f"{lanes}",
    )
    for a in nest.axes[first:]:
        if a.is_reduction and not a.lanes:
            continue
        require_legal(
            a.kind in ("unroll", "vector"),
            f"{a.var} runs inside the reduction, so each of its {a.extent} iterations needs a "
            "register, and registers cannot be indexed at run time",
            f"unroll({a.var}), reorder it outside {nest.axes[first].var}, or keep the sums in "
            f"memory: cache_write({nest.axes[first].var})",
        )


def _require_tile(nest: Loops, rows: Axis) -> None:
    """Check that the loops inside a tile's rows are reduction steps, lanes and a dot step."""
    inside = nest.axes[nest.axes.index(rows) + 1 :]
    steps = [a for a in inside if a.kind == "for" and a.is_reduction and not a.lanes]
    kinds = [a.kind for a in inside if a not in steps[:1]]
    order = [*steps[:1], *(a for a in inside if a not in steps[:1])]
    require_legal(
        kinds == ["vector", "dot"] and order == list(inside),
        f"{rows.var} runs over the rows of a tile: the loops inside must be reduction steps, lanes "
        f"and a dot step, but are {', '.join(map(str, inside)) or 'missing'}",
    )
