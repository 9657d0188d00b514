"""Tests of the database: automatic migration, and agreement of migrations and tables."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import NullPool, create_engine, inspect, select
from sqlalchemy.exc import IntegrityError

from app.store.database import Database, downgrade, upgrade
from app.store.jobs.queueing import Limits, Wanted, submit
from app.store.jobs.reading import events_after
from app.store.jobs.supervisors import Machine, n_at_work, report
from app.store.models import Base, LinkRow

pytestmark = pytest.mark.each_database


def row(name: str) -> LinkRow:
    return LinkRow(
        id=name,
        digest=name,
        fragment="v=1",
        other="",
        made_with="0.1.0",
        created_s=1.5,
        n_bytes=3,
    )


def test_a_new_database_is_empty_and_a_file_appears_at_the_first_use(database, backend, tmp_path):
    assert not (tmp_path / "data").exists()
    with database.session() as session:
        assert session.scalars(select(LinkRow)).all() == []
    assert (tmp_path / "data" / "compilarium.db").is_file() is (backend == "sqlite")


def test_the_steps_make_the_tables_that_the_models_describe(database):
    with database.engine.connect() as connection:
        found = compare_metadata(MigrationContext.configure(connection), Base.metadata)
    assert found == []


def test_rows_outlive_the_one_who_wrote_them(database):
    with database.session() as session:
        session.add(row("a"))
    database.close()
    with database.session() as session:
        assert session.get(LinkRow, "a").created_s == 1.5


def test_a_block_that_raises_writes_nothing(database):
    with pytest.raises(IntegrityError), database.session() as session:
        session.add_all([row("a"), row("a")])
    with database.session() as session:
        assert session.get(LinkRow, "a") is None


def test_many_threads_may_open_it_at_once(database):
    def write(name: str) -> None:
        with database.session() as session:
            session.add(row(name))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, "abcdefghijklmnop"))
    with database.session() as session:
        assert len(session.scalars(select(LinkRow)).all()) == 16


def rows_after_writing(url: str, name: str) -> int:
    made = Database(url)
    try:
        with made.session() as session:
            session.add(row(name))
        with made.session() as session:
            return len(session.scalars(select(LinkRow)).all())
    finally:
        made.close()


def test_several_servers_may_use_it_for_the_first_time_at_once(new_database_urls):
    with ProcessPoolExecutor(3, get_context("spawn")) as pool:
        for turn in range(2):  # the first starts the processes, the second runs concurrently
            url = new_database_urls(f"first{turn}")
            found = list(pool.map(rows_after_writing, [url] * 3, "abc"))
            assert max(found) == 3
            assert min(found) >= 1


def test_another_database_is_taken_by_its_url(tmp_path):
    made = Database(f"sqlite:///{tmp_path / 'elsewhere' / 'x.db'}")
    with made.session() as session:
        session.add(row("a"))
    made.close()
    assert (tmp_path / "elsewhere" / "x.db").is_file()


def test_the_tables_of_jobs_can_be_taken_back_and_made_again_beside_other_data(
    new_database_urls,
):
    engine = create_engine(new_database_urls("jobs"), poolclass=NullPool)
    with engine.begin() as connection:
        upgrade(connection, "0003")
        for insert in (
            "INSERT INTO links VALUES ('a', 'a', 'v=1', '', '0.1.0', 1.5, 3)",
            "INSERT INTO counts VALUES ('jobs', 'a', 7, 3, 1.5)",
            "INSERT INTO answers VALUES ('a', 'a', 201, '', '{}', 1.5)",
        ):
            connection.exec_driver_sql(insert)
        for _ in range(2):
            upgrade(connection)
            wanted = Wanted({"kind": "compile"}, "a model", "form", {})
            job_id = submit(connection, wanted, Limits(9, 9, lambda *_: [None]))
            (event,) = events_after(connection, job_id, 0)
            assert (event.name, event.data) == ("queued", {"position": 1, "wait_s": None})
            report(connection, "host/1/a", Machine("host", "a kind", {"cores": 2}))
            assert n_at_work(connection, 15.0) == 1
            downgrade(connection, "0003")
            left = set(inspect(connection).get_table_names())
            assert left == {"links", "counts", "answers", "alembic_version"}
            kept = "SELECT links.id, n, status FROM links, counts, answers"
            assert connection.exec_driver_sql(kept).one() == ("a", 3, 201)


def test_the_steps_can_be_taken_back(new_database_urls):
    engine = create_engine(new_database_urls("steps"), poolclass=NullPool)
    with engine.begin() as connection:
        upgrade(connection)
        assert "links" in inspect(connection).get_table_names()
        downgrade(connection, "0001")
        insert = "INSERT INTO links VALUES ('a', 'a', 'v=1&model=x', '{}', '0.1.0', 1.5)"
        connection.exec_driver_sql(insert)
        upgrade(connection)
        found = connection.exec_driver_sql("SELECT n_bytes FROM links").scalar()
        assert found == len("v=1&model=x{}")
        downgrade(connection, "base")
        assert "links" not in inspect(connection).get_table_names()
