"""Tests of rate limits: requests per address and time, independent of other addresses."""

from __future__ import annotations

import pytest

from app import rate
from app.rate import Rate
from compiler.errors import CompileError


def test_an_address_waits_when_it_asks_too_often():
    limit = Rate(2, 60.0)
    limit.count("a", 0.0)
    limit.count("a", 10.0)
    with pytest.raises(CompileError) as e:
        limit.count("a", 59.0)
    assert e.value.code == "E-LIMIT-RATE"
    limit.count("b", 59.0)
    limit.count("a", 60.0)
    with pytest.raises(CompileError):
        limit.count("a", 69.0)
    limit.count("a", 70.0)


def test_an_address_has_so_many_bytes_and_is_told_how_many_it_has_sent():
    limit = Rate(1000, 60.0, "bytes of links")
    limit.count("a", 0.0, 600)
    limit.count("a", 1.0, 400)
    with pytest.raises(CompileError, match=r"1,000 bytes of links .* has sent 1,000; .* has 1\n"):
        limit.count("a", 2.0, 1)
    limit.count("b", 2.0, 1000)
    limit.count("a", 60.0, 600)


def test_addresses_of_long_ago_are_forgotten(monkeypatch):
    monkeypatch.setattr(rate, "_MANY", 3)
    limit = Rate(1, 60.0)
    for i, name in enumerate("abcdefgh"):
        limit.count(name, 30.0 * i)
    assert len(limit._times) <= 3
