"""Tests of rate limits in memory: requests per client and time, independent of other clients."""

from __future__ import annotations

import pytest

from app import rate
from app.rate import Limit, Rate, TooMany


def test_a_client_waits_when_it_asks_too_often():
    limit = Rate(Limit(2, 60.0))
    limit.count("a", 0.0)
    limit.count("a", 10.0)
    with pytest.raises(TooMany) as e:
        limit.count("a", 59.0)
    assert (e.value.code, e.value.retry_after_s) == ("E-LIMIT-RATE", 1.0)
    assert "at most 2 such requests are accepted in 60 s from one client" in e.value.message
    limit.count("b", 59.0)
    limit.count("a", 60.0)
    with pytest.raises(TooMany):
        limit.count("a", 69.0)
    limit.count("a", 70.0)


def test_a_limit_of_zero_is_none():
    limit = Rate(Limit(0, 60.0))
    for _ in range(1000):
        limit.count("a", 0.0)


def test_clients_of_long_ago_are_forgotten(monkeypatch):
    monkeypatch.setattr(rate, "_MANY", 3)
    limit = Rate(Limit(1, 60.0))
    for i, name in enumerate("abcdefgh"):
        limit.count(name, 30.0 * i)
    assert len(limit._times) <= 3
