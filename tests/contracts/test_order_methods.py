"""Tests that every order method has a description, and that its example is correct."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.memory.orders import METHODS, OrderMethod

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operator-order.md"


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda m: m.name)
def test_the_example_is_executed(method: OrderMethod):
    tasks, peak_bytes = method.example
    order = method.find(tasks)
    assert tasks.is_order(order)
    assert tasks.peak_bytes(order) == peak_bytes


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda m: m.name)
def test_the_words_are_there_and_on_the_page(method: OrderMethod):
    assert method.title
    assert len(method.words.splitlines()[0]) <= 100
    assert f"`{method.name}`" in PAGE.read_text(encoding="utf-8")
