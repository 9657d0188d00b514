"""Tests of the counters that all servers of a database share."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import func, select

from app.rate import Limit, TooMany
from app.store.counts import Counts, Share
from app.store.models import CountRow

TWO = Limit(2, 60.0)
BYTES = Limit(1000, 60.0, "bytes of links")

pytestmark = pytest.mark.each_database


@pytest.fixture
def counts(database) -> Counts:
    return Counts(database)


def share(client: str, limit: Limit = TWO) -> list[Share]:
    return [Share(client, "client", limit)]


def test_a_client_waits_when_it_asks_too_often(counts, database):
    counts.add("jobs", share("a"), now_s=600.0)
    counts.add("jobs", share("a"), now_s=610.0)
    for other in (counts, Counts(database)):  # also at another server
        with pytest.raises(TooMany) as e:
            other.add("jobs", share("a"), now_s=620.0)
        assert e.value.code == "E-LIMIT-RATE"
    counts.add("jobs", share("b"), now_s=620.0)
    counts.add("links", share("a"), now_s=620.0)


@pytest.mark.parametrize("refused_s", [620.0, 659.0, 661.0, 689.0])
def test_the_named_time_is_the_right_one(counts, refused_s):
    counts.add("jobs", share("a"), now_s=600.0)
    counts.add("jobs", share("a"), now_s=610.0)
    with pytest.raises(TooMany) as e:
        counts.add("jobs", share("a"), now_s=refused_s)
    free_s = refused_s + e.value.retry_after_s
    assert free_s == pytest.approx(690.0)  # half of the window before 660 is out of sight
    with pytest.raises(TooMany):
        counts.add("jobs", share("a"), now_s=free_s - 0.5)
    counts.add("jobs", share("a"), now_s=free_s + 0.001)


def test_a_refused_request_counts_nowhere(counts, database):
    shares = [Share("a", "client", Limit(5, 60.0)), Share("all", "address", TWO)]
    for _ in range(2):
        counts.add("jobs", shares, now_s=600.0)
    with pytest.raises(TooMany, match="from one address"):
        counts.add("jobs", shares, now_s=600.0)
    with database.reading() as session:
        found = session.execute(select(CountRow.client, CountRow.n))
        assert dict(map(tuple, found)) == {"a": 2, "all": 2}


def test_a_client_has_so_many_bytes_and_is_told_how_many_it_has_sent(counts):
    counts.add("b", share("a", BYTES), 600, now_s=600.0)
    counts.add("b", share("a", BYTES), 400, now_s=601.0)
    with pytest.raises(TooMany, match=r"1,000 bytes of links .* has sent 1,000; .* has 1\n"):
        counts.add("b", share("a", BYTES), 1, now_s=602.0)
    with pytest.raises(TooMany) as e:
        counts.add("b", share("c", BYTES), 1001, now_s=602.0)
    assert e.value.retry_after_s == 60.0


def test_a_limit_of_zero_is_none_and_needs_no_database(counts, tmp_path):
    counts.add("jobs", share("a", Limit(0, 60.0)), 10**9)
    assert not (tmp_path / "data").exists()


def test_rows_without_effect_are_removed(counts, database):
    for i in range(50):
        counts.add("jobs", share(str(i)), now_s=600.0 + 60 * i)
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(CountRow)) <= 4


def test_simultaneous_requests_never_exceed_the_limit(counts):
    def one(_: int) -> bool:
        try:
            counts.add("jobs", share("a", Limit(5, 1e6)), now_s=10.0)
        except TooMany:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(one, range(24))) == 5
