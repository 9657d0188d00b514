"""Tests that functions compiled from index expressions compute these expressions."""

import itertools

import numpy as np
import pytest

from compiler.compute.calculations import OF_NUMBERS, calculation
from compiler.ir.affine import parse, symbol

TEXTS = (
    "7",
    "i",
    "3*i - 2*j + 5",
    "(2*i - 9)//4 + j%3",
    "min(i, 2*j) - max(i*j, 4)",
    "(i*j)%(j+1)",
)
INDEX = tuple(parse(text) for text in TEXTS)
PLACES = list(itertools.product(range(6), range(4)))


def by_hand(i: int, j: int) -> tuple[int, ...]:
    return tuple(eval(text, {"i": i, "j": j, "min": min, "max": max}) for text in TEXTS)


def test_a_function_follows_its_symbols() -> None:
    env: dict[str, int] = {}
    calculate = calculation(INDEX, env, OF_NUMBERS)
    for env["i"], env["j"] in PLACES:
        assert calculate() == by_hand(env["i"], env["j"])


def test_lanes_are_calculated_together() -> None:
    env = {"i": np.array([i for i, _ in PLACES]), "j": np.array([j for _, j in PLACES])}
    found = [np.broadcast_to(value, len(PLACES)) for value in calculation(INDEX, env)()]
    assert [tuple(row) for row in np.stack(found, 1).tolist()] == [by_hand(*p) for p in PLACES]


def test_names_are_no_text_to_run() -> None:
    odd = "__import__('os').abort()"
    assert calculation((2 * symbol(odd),), {odd: 21})() == (42,)
    with pytest.raises(KeyError):
        calculation((symbol(odd),), {})()
