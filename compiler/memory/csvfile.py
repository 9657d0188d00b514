"""Planning problems and solutions as CSV: columns id, lower, upper, size and, when placed, offset.

Source: the file format of google/minimalloc.
"""

from __future__ import annotations

import csv
import io

from compiler.errors import CompileError, Where
from compiler.memory.buffer import Buffer, Plan, check_problem

COLUMNS = ("id", "lower", "upper", "size")


def read_csv(text: str, source: str = "") -> list[Buffer]:
    """The buffers of a problem or solution; columns may stand in any order.

    Errors: E-PLAN-INPUT with the line for a missing column or a row that makes no sense.
    """
    rows = csv.reader(io.StringIO(text.removeprefix("\ufeff")))
    header: list[str] = []
    buffers: list[Buffer] = []
    try:
        for cells in rows:
            where = Where(source, rows.line_num, 1)
            if not any(c.strip() for c in cells):
                continue
            if not header:
                header = _header(cells, where)
                continue
            buffers.append(_row(header, cells, where))
    except csv.Error as e:
        raise CompileError("E-PLAN-INPUT", f"not a CSV file: {e}", where=Where(source)) from e
    if not header:
        _header([], Where(source, 1, 1))
    check_problem(buffers)
    return buffers


def _header(cells: list[str], where: Where) -> list[str]:
    header = [c.strip().lower() for c in cells]
    missing = [c for c in COLUMNS if c not in header]
    if missing:
        raise CompileError(
            "E-PLAN-INPUT",
            f"needed the columns {', '.join(COLUMNS)}; {', '.join(missing)} not among "
            f"{', '.join(header)[:80] or 'none'}",
            where=where,
            hint="the first line of the file names the columns",
        )
    return header


def _row(header: list[str], cells: list[str], where: Where) -> Buffer:
    if len(cells) != len(header):
        raise CompileError(
            "E-PLAN-INPUT", f"needed {len(header)} cells, got {len(cells)}", where=where
        )
    row = {column: cell.strip() for column, cell in zip(header, cells, strict=True)}
    start, end, size = (_number(row[c], c, where) for c in COLUMNS[1:])
    offset = _number(row["offset"], "offset", where) if row.get("offset") else -1
    buffer = Buffer(row["id"], size, start, end, offset)
    try:
        check_problem([buffer])
    except CompileError as e:
        raise CompileError(e.code, e.message, where=where) from None
    return buffer


def _number(text: str, column: str, where: Where) -> int:
    try:
        return int(text)
    except ValueError:
        raise CompileError(
            "E-PLAN-INPUT", f"needed a whole number as {column}, got {text[:40]!r}", where=where
        ) from None


def write_csv(plan: Plan) -> str:
    """The plan as CSV, with offsets, in the order of the problem."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow((*COLUMNS, "offset"))
    writer.writerows((b.name, b.start, b.end, b.size, b.offset) for b in plan.buffers)
    return out.getvalue()
