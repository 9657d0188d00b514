"""The selection of test parameters: `make test` runs a few, and `make sweep` the rest."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest


def few(values: Sequence[Any], n: int) -> list[Any]:
    """Return parameters of which every k-th is quick, `n` in all, and the rest slow."""
    quick = {len(values) * i // n for i in range(n)}
    slow = pytest.mark.slow
    return [pytest.param(v, marks=[] if i in quick else slow) for i, v in enumerate(values)]


def few_of_all(n: int, *choices: Sequence[Any]) -> list[Any]:
    """Return all combinations: `n` are quick, or as many as needed for each choice to occur."""
    combinations = list(product(*choices))
    shuffled = random.Random(n).sample(range(len(combinations)), len(combinations))
    seen: set[tuple[int, Any]] = set()
    covering: list[int] = []
    for i in shuffled:
        if not seen.issuperset(enumerate(combinations[i])):
            seen.update(enumerate(combinations[i]))
            covering.append(i)
    others = [i for i in shuffled if i not in covering]
    quick = {*covering, *others[: max(0, n - len(covering))]}
    marks = ([] if i in quick else [pytest.mark.slow] for i in range(len(combinations)))
    return [pytest.param(*c, marks=m) for c, m in zip(combinations, marks, strict=True)]
