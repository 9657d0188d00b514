"""Planning problems and solutions as CSV: columns id, lower, upper, size, and offset.

Optional columns are alignment, pinned and shares; an empty cell means the default.
Source: the file format of google/minimalloc.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from compiler.errors import CompileError, Where
from compiler.memory.buffer import Buffer, Plan
from compiler.memory.problem import buffer_fault, check_problem

COLUMNS = ("id", "lower", "upper", "size")
EXTRA_COLUMNS = ("alignment", "pinned", "shares")


LONGEST_LINE = 1_000_000
"""Maximum length of a line in bytes; usual lines have a few dozen bytes."""


def read_csv(text: str, source: str = "") -> list[Buffer]:
    """Read the buffers of a problem or a solution; columns may be in any order.

    Errors: E-PLAN-INPUT with the line for a missing column or an inconsistent row.
    """
    return _read(io.StringIO(text.removeprefix("\ufeff")), source)


def read_csv_file(file: BinaryIO, source: str = "") -> list[Buffer]:
    """Read buffers from a file line by line, using memory for the buffers only.

    Errors: those of `read_csv`, and E-PLAN-INPUT for text that is not UTF-8 or has overlong lines.
    """
    return _read(_lines(file, source), source)


def _lines(file: BinaryIO, source: str) -> Iterator[str]:
    number = 0
    while raw := file.readline(LONGEST_LINE + 1):
        number += 1
        if len(raw) > LONGEST_LINE:
            words = f"the line has more than {LONGEST_LINE:,} bytes"
            where, hint = Where(source, number, 1), "write one buffer per line"
            raise CompileError("E-PLAN-INPUT", words, where=where, hint=hint)
        try:
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as e:
            words = f"not UTF-8: byte 0x{e.object[e.start]:02x}"
            where, hint = Where(source, number, e.start + 1), "save the table as CSV in UTF-8"
            raise CompileError("E-PLAN-INPUT", words, where=where, hint=hint) from e
        # Files of some systems end lines with a carriage return alone, so `raw` may contain many
        # lines.
        yield from io.StringIO(text, newline=None) if "\r" in text else (text,)


def _read(text: Iterable[str], source: str) -> list[Buffer]:
    rows = csv.reader(text, strict=True)
    header: list[str] = []
    buffers: list[Buffer] = []
    lines: dict[str, int] = {}
    try:
        for cells in rows:
            if not any(map(str.strip, cells)):
                continue
            if not header:
                header = _header(cells, Where(source, rows.line_num, 1))
                continue
            b = _row(header, cells)
            if b.name in lines:
                raise ValueError(f"the id {b.name!r} is already used in line {lines[b.name]}")
            lines[b.name] = rows.line_num
            buffers.append(b)
    except (csv.Error, ValueError) as e:
        where = Where(source, rows.line_num, 1)
        words = f"not a CSV file: {e}" if isinstance(e, csv.Error) else str(e)
        raise CompileError("E-PLAN-INPUT", words, where=where) from e
    if not header:
        _header([], Where(source, 1, 1))
    check_problem(buffers, where=lambda name: Where(source, lines[name], 1))
    return buffers


def _header(cells: list[str], where: Where) -> list[str]:
    header = [c.strip().lower() for c in cells]
    missing = [c for c in COLUMNS if c not in header]
    twice = [c for c in (*COLUMNS, "offset", *EXTRA_COLUMNS) if header.count(c) > 1]
    problem = ""
    if missing:
        among = ", ".join(header)[:80] or "none"
        problem = f"expected the columns {', '.join(COLUMNS)}; got {among}, "
        problem += f"without {', '.join(missing)}"
    elif twice:
        problem = f"the column {twice[0]} occurs twice"
    if problem:
        hint = "the first line of the file names the columns"
        raise CompileError("E-PLAN-INPUT", problem, where=where, hint=hint)
    return header


def _row(header: list[str], cells: list[str]) -> Buffer:
    """Parse a row. Errors: ValueError for an inconsistent row."""
    if len(cells) != len(header):
        raise ValueError(f"expected {len(header)} cells, got {len(cells)}")
    row = dict(zip(header, map(str.strip, cells), strict=True))
    start, end, size = (_number(row[c], c) for c in COLUMNS[1:])
    buffer = Buffer(
        row["id"],
        size,
        start,
        end,
        _optional(row, "offset", -1),
        alignment_bytes=_optional(row, "alignment", 1),
        pinned=_optional(row, "pinned", -1),
        shares=row.get("shares", ""),
    )
    problem = buffer_fault(buffer) if buffer.name else "expected an id"
    if problem:
        raise ValueError(f"buffer {buffer.name!r}: {problem}")
    return buffer


def _optional(row: dict[str, str], column: str, default: int) -> int:
    text = row.get(column)
    return _number(text, column) if text else default


_is_whole = re.compile(r"[+-]?[0-9]{1,30}\Z").match


def _number(text: str, column: str) -> int:
    if not _is_whole(text):
        raise ValueError(f"expected a whole number as {column}, got {text[:40]!r}")
    return int(text)


def write_csv(plan: Plan) -> str:
    """Write the plan as CSV, with offsets, in the order of the problem.

    Optional columns are written if any buffer uses them.
    """
    cells = {
        "alignment": [b.alignment_bytes if b.alignment_bytes > 1 else "" for b in plan.buffers],
        "pinned": [b.pinned if b.pinned >= 0 else "" for b in plan.buffers],
        "shares": [b.shares for b in plan.buffers],
    }
    extra = [c for c in EXTRA_COLUMNS if any(cell != "" for cell in cells[c])]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow((*COLUMNS, "offset", *extra))
    for i, b in enumerate(plan.buffers):
        writer.writerow((b.name, b.start, b.end, b.size, b.offset, *(cells[c][i] for c in extra)))
    return out.getvalue()
