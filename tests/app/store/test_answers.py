"""Tests of the stored answers to requests with an Idempotency-Key."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select

from app.store.answers import KEPT_S, Answer, AnswerStore
from app.store.models import AnswerRow
from compiler.errors import CompileError

ANSWER = Answer(202, "/api/v1/jobs/x", '{"id":"x"}')

pytestmark = pytest.mark.each_database


@pytest.fixture
def store(database) -> AnswerStore:
    return AnswerStore(database)


def test_an_equal_request_has_the_same_answer_also_from_another_server(store, database):
    assert store.begin("k", "request", 0.0) is None
    store.finish("k", ANSWER)
    assert AnswerStore(database).begin("k", "request", 10.0) == ANSWER
    assert store.begin("other", "request", 10.0) is None


def test_another_request_with_the_key_is_refused_even_before_the_answer(store):
    store.begin("k", "request", 0.0)
    for _ in range(2):
        with pytest.raises(CompileError) as e:
            store.begin("k", "another", 1.0)
        assert e.value.code == "E-REQUEST-KEY"
        store.finish("k", ANSWER)


def test_a_request_in_progress_is_not_begun_twice_unless_its_server_is_lost(store):
    store.begin("k", "request", 0.0)
    with pytest.raises(CompileError) as e:
        store.begin("k", "request", 59.0)
    assert e.value.code == "E-REQUEST-BUSY"
    assert store.begin("k", "request", 61.0) is None
    with pytest.raises(CompileError):
        store.begin("k", "request", 62.0)


def test_a_failed_request_frees_its_key_and_an_answered_one_does_not(store):
    store.begin("k", "request", 0.0)
    store.forget("k")
    assert store.begin("k", "another", 1.0) is None
    store.finish("k", ANSWER)
    store.forget("k")
    assert store.begin("k", "another", 2.0) == ANSWER


def test_answers_expire_after_a_day(store, database):
    store.begin("k", "request", 0.0)
    store.finish("k", ANSWER)
    assert store.begin("k", "request", KEPT_S - 1) == ANSWER
    assert store.begin("k", "another", KEPT_S + 1) is None
    store.begin("m", "request", 3 * KEPT_S)
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(AnswerRow)) == 1


def test_one_of_many_simultaneous_requests_begins(store):
    def one(_: int) -> str:
        try:
            return str(store.begin("k", "request"))
        except CompileError as e:
            return e.code

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(one, range(16)))
    assert sorted(found) == sorted(["None", *["E-REQUEST-BUSY"] * 15])
