"""Random schedules: what is legal computes the same, what is not is refused with words.

The interpreter of loops runs each schedule, and machine code a part of them, beside the oracle of
computations. Nothing else than a CompileError ever comes out, and nothing takes long.
"""

from __future__ import annotations

import random
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.compute.computation import Computation
from compiler.compute.evaluate import evaluate
from compiler.compute.text import parse_computation
from compiler.errors import CompileError
from compiler.loops.interpret import interpret
from compiler.loops.verify import verify_kernel
from compiler.schedule.assemble import Scheduled, assemble
from compiler.schedule.language.call import Call, Line, text_of
from compiler.schedule.language.move import MOVES
from compiler.schedule.language.replay import apply_line, replay_lines
from compiler.schedule.language.text import parse_schedule
from compiler.schedule.nest import Nest
from compiler.targets.options import CodeOptions
from compiler.targets.target import host
from tests.compiler.schedule.language.test_moves import filled
from tests.compiler.schedule.test_policy import laid_out, picked_up
from tests.kernel_runs import run_native

OPTIONS = CodeOptions(host())

COMPUTATIONS = {
    "product": """
    computation dense(A: f32[5,13], B: f32[13,22], C: f32[22]) -> Y: f32[5,22] {
      Y[m, n] = max(add(reduce_add([k], mul(A[m, k], B[k, n])), C[n]), f32(0.0))
        for m<5, n<22, k<13
    }""",
    "convolution": """
    computation conv(A: f32[1,3,3,7], B: f32[4,3,3,2]) -> Y: f32[1,4,3,7] {
      Y[n, o, y, x] = reduce_add([i, u, v], mul(
        inside([(y+u-1, 3), (x+v-1, 7)], A[n, i, y+u-1, x+v-1], f32(0.0)), B[o, i, u, v]))
        for n<1, o<4, y<3, x<7, i<3, u<3, v<2
    }""",
    "blocked convolution": """
    computation conv(A: f32[1,5,2,5]{c4,halo=1x1}, B: f32[6,5,3,2]) -> Y: f32[1,6,2,5]{c4} {
      Y[n, o, y, x] = reduce_add([i, u, v], mul(
        inside([(y+u-1, 2), (x+v-1, 5)], A[n, i, y+u-1, x+v-1], f32(0.0)), B[o, i, u, v]))
        for n<1, o<6, y<2, x<5, i<5, u<3, v<2
    }""",
    "softmax": """
    computation softmax(A: f32[7,19]) -> Y: f32[7,19] {
      temporary T: f32[7]
      temporary S: f32[7]
      T[i] = reduce_max([j], A[i, j])  for i<7, j<19
      S[i] = reduce_add([j], exp(sub(A[i, j], T[i])))  for i<7, j<19
      Y[i, j] = div(exp(sub(A[i, j], T[i])), S[i])  for i<7, j<19
    }""",
    "turned": """
    computation turn(A: f32[6,7,10]) -> Y: f32[10,6,7] {
      Y[k, i, j] = mul(A[i, j, k], A[i, j, k])  for k<10, i<6, j<7
    }""",
    "bytes": """
    computation bytes(A: u8[3,10], B: i8[10,9]) -> Y: i32[3,9] {
      Y[m, n] = reduce_add([k], mul(to_i32(A[m, k]), to_i32(B[k, n])))  for m<3, n<9, k<10
    }""",
    "two parts": """
    computation concat(A: f32[2,3,5], B: f32[2,4,5]) -> Y: f32[2,7,5] {
      Y[i, j, k] = A[i, j, k]  for i<2, j<3, k<5
      Y[i, j+3, k] = B[i, j, k]  for i<2, j<4, k<5
    }""",
    "padded lanes": """
    computation sum(A: f32[2,6,3,5]{c4}, C: f32[6]) -> Y: f32[2,6,3,5]{c4,halo=1x1} {
      Y[n, c, y, x] = add(A[n, c, y, x], C[c])  for n<2, c<6, y<3, x<5
    }""",
}
CONSTANTS = {"product": "BC", "blocked convolution": "B", "bytes": "B", "padded lanes": "C"}


@dataclass(frozen=True)
class Case:
    """A computation with its inputs and what it is to give."""

    computation: Computation
    constants: frozenset[str]
    arrays: dict[str, np.ndarray]
    wanted: dict[str, np.ndarray]


def case_of(name: str) -> Case:
    computation = parse_computation(COMPUTATIONS[name])
    rng = np.random.default_rng(len(name))
    arrays = {
        n: filled(rng, computation.tensors[n].static_shape, computation.tensors[n].dtype.numpy)
        for n in computation.inputs
    }
    constants = frozenset(CONSTANTS.get(name, ""))
    return Case(computation, constants, arrays, evaluate(computation, arrays))


CASES = {name: case_of(name) for name in COMPUTATIONS}


def assert_right(case: Case, made: Scheduled, *, native: bool) -> None:
    tensors = case.computation.tensors
    memory: dict[str, np.ndarray] = {}
    for b in made.kernel.params:
        if b.name in made.packings:
            memory[b.name] = made.packings[b.name].apply(case.arrays[b.name])
        elif b.name in case.arrays:
            memory[b.name] = laid_out(case.arrays[b.name], tensors[b.name])
        else:
            memory[b.name] = np.full(b.shape, np.nan if b.dtype.is_float else 77, b.dtype.numpy)
    if native:
        run_native(made.kernel, memory)
    else:
        interpret(made.kernel, memory)
    for name in case.computation.outputs:
        got = picked_up(memory[name], tensors[name])
        np.testing.assert_allclose(got, case.wanted[name], rtol=1e-4, atol=1e-5)


def nests(case: Case) -> list[tuple[str, Nest]]:
    """The nests by the names that a schedule gives them, inside loops that they may share."""
    found: list[tuple[str, Nest]] = []

    def shape(name: str, nest: Nest) -> Nest:
        found.append((name, nest))
        return nest

    assemble(case.computation, case.constants, OPTIONS, shape)
    return found


def random_line(chance: random.Random, name: str, nest: Nest) -> Line:
    """A move with arguments of the right kinds, mostly ones that exist."""
    move = chance.choice([*MOVES.values(), MOVES["split"], MOVES["reorder"], MOVES["unroll"]])
    loops = [a.var for a in nest.axes]
    arguments: list[str | int] = []
    for p in move.parameters:
        match p.kind.name:
            case "loop" if p.is_rest:
                arguments += chance.sample(loops, chance.randint(1, len(loops)) if loops else 0)
            case "loop":
                arguments.append(chance.choice([*loops, "nowhere"]))
            case "new loop":
                arguments.append(f"{chance.choice('abc')}{len(nest.moves)}{chance.randint(0, 9)}")
            case "number":
                arguments.append(chance.choice([1, 2, 2, 3, 4, 4, 5, 8, 16, 100]))
            case "step":
                arguments.append("dot")
            case _:
                arguments.append(chance.choice([r.tensor for r in nest.reads()] or ["A"]))
    return Line(name, Call(move.name, tuple(arguments)))


def random_schedule(chance: random.Random, case: Case) -> list[Line]:
    """Lines that are legal one behind the other."""
    lines: list[Line] = []
    for name, nest in nests(case):
        for _ in range(chance.randint(0, 12)):
            line = random_line(chance, name, nest)
            with refused() as codes:
                nest = apply_line(nest, line)
            assert codes in ([], ["E-SCHEDULE-MOVE"])
            if not codes:
                lines.append(line)
    return lines


@contextmanager
def refused() -> Generator[list[str]]:
    """The code of an error inside, if there is one."""
    codes: list[str] = []
    try:
        yield codes
    except CompileError as e:
        codes.append(e.code)


def try_schedule(name: str, seed: int, *, native: bool) -> str:
    """Run a random schedule; the code of the error when it is refused as a whole."""
    case, chance = CASES[name], random.Random(seed)
    text = text_of(tuple(random_schedule(chance, case)))
    lines = parse_schedule(text)
    assert text_of(lines) == text
    with refused() as codes:
        made = replay_lines(lines, case.computation, case.constants, OPTIONS)
        verify_kernel(made.kernel)
        assert_right(case, made, native=native)
    assert codes in ([], ["E-SCHEDULE-MOVE"], ["E-LIMIT-CODE"])
    return "".join(codes)


quick = settings(
    max_examples=25,
    derandomize=True,
    deadline=None,
    database=None,
)


@pytest.mark.parametrize("name", CASES)
@given(seed=st.integers(0, 10**9))
@quick
def test_random_schedules_compute_what_the_computation_says(name: str, seed: int) -> None:
    try_schedule(name, seed, native=False)


@pytest.mark.parametrize("name", CASES)
@given(seed=st.integers(0, 10**9))
@settings(quick, max_examples=8)
def test_machine_code_of_random_schedules_is_right_too(name: str, seed: int) -> None:
    try_schedule(name, seed, native=True)


@pytest.mark.parametrize("name", CASES)
def test_many_random_schedules_are_legal(name: str) -> None:
    outcomes = [try_schedule(name, seed, native=False) for seed in range(10)]
    assert outcomes.count("") >= 2, outcomes
