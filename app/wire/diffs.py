"""Line diffs of two texts, for the page."""

from __future__ import annotations

from app.textdiff import diff_rows, folded
from app.wire.shapes.stages import CutText, DiffRow, TextDiff
from app.wire.texts import LINES_KEPT

CONTEXT, MAX_CONTEXT = 3, 1000
"""Default and maximum number of equal lines around each change."""


def diff_of(old: CutText, new: CutText, context: int) -> TextDiff:
    """Return the diff of two texts: rows [mark, old line, new line, text], and counts of rows."""
    old_lines, new_lines = old["text"].split("\n"), new["text"].split("\n")
    rows = diff_rows(old_lines, new_lines)
    shown: list[DiffRow] = []
    for mark, i, j in folded(rows, context):
        at, lines = (i, old_lines) if mark == "-" else (j, new_lines)
        shown.append((mark, i, j, "" if at is None else lines[at]))
    return {
        "n_added": sum(r[0] == "+" for r in rows),
        "n_removed": sum(r[0] == "-" for r in rows),
        "cut": max(old["cut"], new["cut"]),
        "rows": shown[:LINES_KEPT],
    }
