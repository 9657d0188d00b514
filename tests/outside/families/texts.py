"""Operators on strings."""

from __future__ import annotations

import numpy as np

from tests.outside.draft import Draft
from tests.outside.families.elementwise import two
from tests.outside.family import family


@family("StringConcat", weight=0.5)
def _(d: Draft, op: str) -> None:
    d.one(op, two(d, ("str",)))


@family("StringSplit", weight=0.4)
def _(d: Draft, op: str) -> None:
    """Non-empty strings only: an empty string has one substring here and none in ONNX Runtime."""
    x = d.given(np.asarray(d.chance.sample(("17", "a", "The cat", "to at t"), 3), object))
    most = d.chance.choice((None, 0, 1))
    d.node(op, [x], 2, delimiter=d.chance.choice((None, " ", "t")), maxsplit=most)


@family("StringNormalizer", weight=0.4)
def _(d: Draft, op: str) -> None:
    x = d.given(np.asarray(d.chance.sample(("Ab", "the", "X y", "zz"), 3), object))
    stop = d.chance.choice((None, ["the"]))
    case = d.chance.choice((None, "LOWER", "UPPER"))
    d.one(op, [x], case_change_action=case, stopwords=stop, is_case_sensitive=1)


@family("RegexFullMatch", weight=0.4)
def _(d: Draft, op: str) -> None:
    d.one(op, [d.tensor(("str",))], pattern=d.chance.choice(("[a-z]*", r"\d+|the", ".*b")))


@family("TfIdfVectorizer", weight=0.4)
def _(d: Draft, op: str) -> None:
    x = d.given(np.asarray([d.chance.randint(0, 4) for _ in range(12)], np.int64))
    d.one(
        op,
        [x],
        mode=d.chance.choice(("TF", "IDF", "TFIDF")),
        min_gram_length=1,
        max_gram_length=2,
        max_skip_count=d.chance.choice((0, 1, 3)),
        ngram_counts=[0, 3],
        ngram_indexes=[0, 1, 2, 3, 4],
        pool_int64s=[1, 2, 3, 1, 2, 2, 3],
        weights=[0.5, 1.0, 2.0, 1.5, 0.25] if d.maybe() else None,
    )
