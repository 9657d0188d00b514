"""Copies all rows of a database into another one, such as from SQLite to PostgreSQL."""

from __future__ import annotations

from sqlalchemy import Connection, Table, insert, select

from app.store.database import Database
from app.store.models import Base
from compiler.errors import CompileError

_N_ROWS = 500
"""Rows of a statement: the texts of many jobs must not fill the memory."""


def copy_rows(source: Database, target: Database) -> dict[str, int]:
    """Copy the rows of all tables in one transaction, and return their numbers by table.

    Both databases get the tables of this program first. The servers of both must be stopped: jobs
    that they accept meanwhile are not copied. Errors: E-OPTION-VALUE if both are the same database,
    if the target has rows, or if a database cannot be used.
    """
    if source.url == target.url:
        raise CompileError("E-OPTION-VALUE", "source and target are the same database")
    source.prepare()
    target.prepare()
    tables = Base.metadata.sorted_tables
    with source.looking() as reading, target.changing() as writing:
        _require_empty(writing, tables)
        return {table.name: _copy(reading, writing, table) for table in tables}


def _require_empty(connection: Connection, tables: list[Table]) -> None:
    for table in tables:
        if connection.execute(select(table).limit(1)).first() is not None:
            message = f"the table {table.name} of the target is not empty"
            hint = "name a database without rows, such as a new one"
            raise CompileError("E-OPTION-VALUE", message, hint=hint)


def _copy(reading: Connection, writing: Connection, table: Table) -> int:
    n = 0
    streamed = reading.execution_options(stream_results=True)
    with streamed.execute(select(table)) as found:
        for rows in found.mappings().partitions(_N_ROWS):
            writing.execute(insert(table), [dict(row) for row in rows])
            n += len(rows)
    return n
