"""Two texts line by line, as the page draws them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.textdiff import diff_rows, folded
from app.wire.texts import LINES_KEPT

CONTEXT, MAX_CONTEXT = 3, 1000
"""How many equal lines are shown around each change, unless asked otherwise and at most."""


def diff_payload(old: Mapping[str, Any], new: Mapping[str, Any], context: int) -> dict[str, Any]:
    """Rows `[mark, old line, new line, text]` of two texts (`text`, `cut`), and their counts."""
    old_lines, new_lines = old["text"].split("\n"), new["text"].split("\n")
    rows = diff_rows(old_lines, new_lines)
    texts = {"-": old_lines, "+": new_lines}
    shown = [
        [mark, i, j, "" if mark == "…" else texts.get(mark, new_lines)[i if mark == "-" else j]]
        for mark, i, j in folded(rows, context)
    ]
    return {
        "n_added": sum(r[0] == "+" for r in rows),
        "n_removed": sum(r[0] == "-" for r in rows),
        "cut": max(old["cut"], new["cut"]),
        "rows": shown[:LINES_KEPT],
    }
