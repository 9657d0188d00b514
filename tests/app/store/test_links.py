"""Tests of stored links: equal states share a link, others do not, and limits give errors."""

from __future__ import annotations

import pytest

from app.store import links
from app.store.links import LinkStore, Shared, ids
from compiler.errors import CompileError

pytestmark = pytest.mark.each_database


@pytest.fixture
def store(database):
    return LinkStore(database, 5, 1000)


def shared(fragment: str = "model=sample:a&v=1", other=None, made_with: str = "0.1.0") -> Shared:
    return Shared(fragment, other, made_with)


def test_a_link_is_eight_characters_that_lead_back(store):
    link = store.keep(shared(other={"b": 1, "a": [2]}))
    assert len(link.id) == 8
    assert len(f"/s/{link.id}") <= 12
    assert store.find(link.id) == link
    assert store.find(link.id).shared.other == {"a": [2], "b": 1}


def test_the_same_state_has_the_same_link(store):
    first = store.keep(shared(other={"a": 1, "b": 2}))
    assert store.keep(shared(other={"b": 2, "a": 1})) == first
    others = {
        store.keep(shared(made_with="0.2.0")).id,
        store.keep(shared(other={})).id,
        store.keep(shared("model=sample:b&v=1")).id,
        store.keep(shared()).id,
    }
    assert len(others | {first.id}) == 5


def test_states_whose_ids_would_be_equal_get_different_ones(store, monkeypatch):
    real = links.ids
    # Ids of one character with only two values, so collisions are certain.
    monkeypatch.setattr(links, "_ALPHABET", "ab")
    monkeypatch.setattr(links, "ids", lambda digest: real(digest, 1))
    made = [store.keep(shared(f"model=sample:{i}&v=1")) for i in range(5)]
    assert len({link.id for link in made}) == 5
    for link in made:
        assert store.find(link.id) == link
        assert store.keep(link.shared) == link


def test_ids_get_longer_when_many_are_taken():
    tried = list(ids("0" * 64, 3))
    assert {len(i) for i in tried[:16]} == {3}
    assert {len(i) for i in tried[16:32]} == {4}


def test_a_full_store_keeps_no_more_and_still_finds_the_rest(store):
    made = [store.keep(shared(f"model=sample:{i}&v=1")) for i in range(5)]
    with pytest.raises(CompileError) as e:
        store.keep(shared())
    assert e.value.code == "E-LINK-FULL"
    assert "5 of 5" in e.value.message
    assert store.keep(made[3].shared) == made[3]


def test_a_store_is_full_when_the_texts_of_its_links_are_too_long(store):
    long = store.keep(shared("v=1&model=sample:" + "x" * 500, other={"kind": "compile"}))
    with pytest.raises(CompileError) as e:
        store.keep(shared("v=1&model=sample:" + "y" * 500))
    assert e.value.code == "E-LINK-FULL"
    assert (
        f"1,000 bytes on this server; {517 + 19:,} are used, and this link needs 517 more"
        in e.value.message
    )
    assert store.keep(long.shared) == long
    assert not store.require_room(long.shared)
    assert store.require_room(shared())


@pytest.mark.parametrize("link_id", ["", "abc", "../../x", "a" * 400, "abcdefg\0", "abcdefgh"])
def test_an_unknown_link_is_no_link(store, link_id):
    with pytest.raises(CompileError) as e:
        store.find(link_id)
    assert e.value.code == "E-REQUEST-UNKNOWN"
