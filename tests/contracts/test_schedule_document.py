"""Tests of docs/schedules.md: its table is up to date, and its schedules are correct."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import compiler
from compiler.schedule.language import replay
from compiler.schedule.language.move import moves_table

assert replay.__doc__, "all moves are declared once it is imported"

PAGE = Path(__file__).resolve().parents[2] / "docs" / "schedules.md"


def blocks(path: Path, language: str) -> list[str]:
    text = path.read_text(encoding="utf-8")
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```", text)


def test_the_table_of_moves_is_that_of_the_declarations() -> None:
    assert moves_table() in PAGE.read_text(encoding="utf-8"), "run `make tables` to update it"


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


def test_the_first_lines_of_a_softmax_are_as_the_document_says() -> None:
    graph = compiler.parse("graph g(x: f32[37,512]) { y: f32[37,512] = softmax(x) return y }")
    (kernel,) = compiler.compile(graph, "none", target="x86-64-v4").kernels
    (wanted,) = blocks(PAGE, "moves")
    assert kernel.moves[:4] == tuple(wanted.strip().split("\n"))
