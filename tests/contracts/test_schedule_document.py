"""docs/schedules.md: its table is that of the declarations, its schedules compile and are right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import compiler
import compiler.schedule.nest
from compiler.schedule.language.move import moves_table
from tests.contracts.test_documents import blocks

assert compiler.schedule.nest.__doc__

PAGE = Path(__file__).resolve().parents[2] / "docs" / "schedules.md"


def test_the_table_of_moves_is_that_of_the_declarations() -> None:
    assert moves_table() in PAGE.read_text(encoding="utf-8"), moves_table()


@pytest.mark.parametrize("number", range(5))
def test_a_schedule_of_the_document_computes_the_product(number: int) -> None:
    (text,) = blocks(PAGE, "graph")
    schedule = blocks(PAGE, "schedule")[number]
    program = compiler.compile(compiler.parse(text), "none", schedules=schedule)
    x = np.random.default_rng(number).normal(size=(256, 256)).astype(np.float32)
    wanted = x @ np.full((256, 256), 0.5, np.float32)
    np.testing.assert_allclose(program.run({"x": x})["y"], wanted, rtol=1e-3, atol=1e-3)
    assert str(program.emit("schedules")).split() == schedule.split()


def test_all_schedules_of_the_document_are_tried() -> None:
    assert len(blocks(PAGE, "schedule")) == 5
