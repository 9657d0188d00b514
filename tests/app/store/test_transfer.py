"""Tests of copies of all rows from one kind of database to another."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import insert, select

from app.store.database import Database
from app.store.jobs.queueing import Limits, Wanted, submit
from app.store.jobs.supervisors import Machine, report
from app.store.models import Base, LinkRow
from app.store.transfer import copy_rows
from compiler.errors import CompileError
from tests.databases import Databases

pytestmark = pytest.mark.each_database

N_LINKS = 1_203
"""More rows than one statement copies."""


@pytest.fixture
def pair(
    new_database_urls: Callable[[str], str], databases: Databases, backend: str, tmp_path: Any
) -> Iterator[tuple[Database, Database]]:
    """A database of the kind, and one of the other kind."""
    other = f"sqlite:///{tmp_path / 'other.db'}" if backend == "postgresql" else None
    made = Database(new_database_urls("source")), Database(other or databases.new("target"))
    yield made
    for each in made:
        each.close()


def link(n: int) -> dict[str, Any]:
    fragment, other = f"v=1&model=ü{n}", json.dumps({"n": n, "text": "a\nb 'c' \\ %s"})
    return {
        "id": f"l{n}",
        "digest": f"d{n}",
        "fragment": fragment,
        "other": other,
        "made_with": "0.1.0",
        "created_s": 1_764_000_000.123456 + n,
        "n_bytes": len(fragment) + len(other),
    }


def fill(database: Database) -> None:
    with database.changing() as connection:
        connection.execute(insert(LinkRow), [link(n) for n in range(N_LINKS)])
        for seed in range(3):
            wanted = Wanted({"kind": "compile", "seed": seed}, "a model", "form", {})
            submit(connection, wanted, Limits(9, 9, lambda *_: [None, 2.5, 7.25]))
        report(connection, "host/1/a", Machine("host", "a kind", {"cores": 2}))


def rows(database: Database) -> dict[str, list[Any]]:
    with database.looking() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(select(table))), key=repr)
            for table in Base.metadata.sorted_tables
        }


def test_all_rows_arrive_in_a_database_of_another_kind(pair: tuple[Database, Database]) -> None:
    source, target = pair
    fill(source)
    copied = copy_rows(source, target)
    before = rows(source)
    assert (copied["links"], copied["jobs"], copied["supervisors"]) == (N_LINKS, 3, 1)
    assert copied == {name: len(each) for name, each in before.items()}
    assert rows(target) == before


def test_a_database_with_rows_is_not_a_target(pair: tuple[Database, Database]) -> None:
    source, target = pair
    fill(source)
    with target.changing() as connection:
        connection.execute(insert(LinkRow), [link(7)])
    with pytest.raises(CompileError, match="the table links of the target is not empty"):
        copy_rows(source, target)
    assert len(rows(target)["links"]) == 1


def test_a_copy_that_fails_leaves_the_target_without_rows(
    pair: tuple[Database, Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = pair
    fill(source)
    monkeypatch.setattr("app.store.transfer._N_ROWS", 1_000)
    pages = []

    def broken(table: Any) -> Any:
        pages.append(table)
        if len(pages) == 2:
            raise OSError("the connection was lost")
        return insert(table)

    monkeypatch.setattr("app.store.transfer.insert", broken)
    with pytest.raises(OSError, match="lost"):
        copy_rows(source, target)
    assert not any(rows(target).values())


def test_a_database_is_not_copied_into_itself(pair: tuple[Database, Database]) -> None:
    source, _ = pair
    with pytest.raises(CompileError, match="the same database"):
        copy_rows(source, Database(source.url.render_as_string(hide_password=False)))
