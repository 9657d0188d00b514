"""Tests of every move: its example gives the stated loops, its near miss is refused."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

from compiler.compute.computation import Computation
from compiler.compute.evaluate import evaluate
from compiler.compute.text import parse_computation
from compiler.errors import CompileError
from compiler.loops.interpret import interpret
from compiler.loops.nodes import statement_lines
from compiler.loops.verify import verify_kernel
from compiler.schedule.assemble import Scheduled
from compiler.schedule.language.move import MOVES, Move
from compiler.schedule.language.replay import replay
from compiler.targets.options import CodeOptions
from compiler.targets.target import by_name
from tests.physical_arrays import memory_for, picked_up

OPTIONS = CodeOptions(by_name("x86-64-v3"))


def constants_of(computation: Computation) -> frozenset[str]:
    return frozenset(computation.inputs) & {"B"}


def parts(text: str) -> list[str]:
    return [textwrap.dedent(part).strip() for part in text.split("=>")]


def loops_of(made: Scheduled) -> str:
    return "\n".join(line for s in made.kernel.body for line in statement_lines(s))


def filled(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    if dtype.kind == "f":
        return rng.normal(size=shape).astype(dtype)
    return rng.integers(0, 100, shape).astype(dtype)


def assert_right(computation: Computation, made: Scheduled) -> None:
    """Check that the interpreter of loops and the oracle of computations agree."""
    verify_kernel(made.kernel)
    rng = np.random.default_rng(3)
    arrays = {
        n: filled(rng, t.static_shape, t.dtype.numpy)
        for n, t in computation.tensors.items()
        if n in computation.inputs
    }
    memory = memory_for(made, computation.tensors, arrays)
    interpret(made.kernel, memory)
    for name, wanted in evaluate(computation, arrays).items():
        if name in computation.outputs:
            got = picked_up(memory[name], computation.tensors[name])
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_the_example_of_a_move_holds_in_text_and_in_numbers(move: Move) -> None:
    text, schedule, loops = parts(move.example)
    computation = parse_computation(text)
    assert f" {move.name}(" in schedule
    made = replay(schedule, computation, constants_of(computation), OPTIONS)
    assert loops_of(made) == loops, f"the loops are\n{loops_of(made)}"
    assert made.text == f"{schedule}\n"
    assert_right(computation, made)


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_the_near_miss_of_a_move_is_refused_with_its_reason(move: Move) -> None:
    text, schedule, reason = parts(move.near_miss)
    computation = parse_computation(text)
    *before, last = schedule.split("\n")
    assert f" {move.name}(" in last
    constants = constants_of(computation)
    replay("\n".join(before), computation, constants, OPTIONS)
    with pytest.raises(CompileError, match=reason) as caught:
        replay(schedule, computation, constants, OPTIONS)
    assert caught.value.code == "E-SCHEDULE-MOVE"
    assert caught.value.where.line == len(before) + 1


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_a_move_has_words_for_the_page(move: Move) -> None:
    assert move.title.endswith(".")
    assert move.signature.startswith(f"{move.name}(")
