"""Tests of random schedules: each is correct or refused with a reason.

The interpreter runs the loops of each schedule, and machine code those of some; both are compared
with the oracle of computations. A schedule raises no exception other than CompileError, and takes
little time.
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

from compiler.compute.computation import Computation, Stage
from compiler.compute.evaluate import evaluate
from compiler.compute.text import parse_computation
from compiler.errors import CompileError
from compiler.loops.interpret import interpret
from compiler.loops.verify import verify_kernel
from compiler.schedule.assemble import Scheduled, assemble
from compiler.schedule.language.between import Stages
from compiler.schedule.language.call import Call, Line, text_of
from compiler.schedule.language.move import MOVES, Move
from compiler.schedule.language.replay import apply_between, apply_line, replay_lines
from compiler.schedule.language.text import parse_schedule
from compiler.schedule.nest import Nest
from compiler.schedule.stages.tree import named
from compiler.targets.options import CodeOptions
from compiler.targets.target import host
from tests.compiler.schedule.language.test_moves import filled
from tests.kernel_runs import run_native
from tests.physical_arrays import memory_for, picked_up

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
    "attention": """
    computation attention(Q: f32[2,5,3], K: f32[2,7,3], V: f32[2,7,4]) -> Y: f32[2,5,4] {
      temporary S: f32[2,5,7]
      temporary T: f32[2,5]
      temporary E: f32[2,5,7]
      temporary U: f32[2,5]
      temporary P: f32[2,5,4]
      S[h, m, n] = mul(reduce_add([k], mul(Q[h, m, k], K[h, n, k])), f32(0.5))
        for h<2, m<5, n<7, k<3
      T[h, m] = reduce_max([n], S[h, m, n])  for h<2, m<5, n<7
      E[h, m, n] = exp(sub(S[h, m, n], T[h, m]))  for h<2, m<5, n<7
      U[h, m] = reduce_add([n], E[h, m, n])  for h<2, m<5, n<7
      P[h, m, d] = reduce_add([n], mul(E[h, m, n], V[h, n, d]))  for h<2, m<5, d<4, n<7
      Y[h, m, d] = div(P[h, m, d], U[h, m])  for h<2, m<5, d<4
    }""",
    "norm with two results": """
    computation norm(A: f32[6,11], C: f32[11]) -> Y: f32[6,11], M: f32[6] {
      temporary D: f32[6,11]
      temporary V: f32[6]
      M[i] = mul(reduce_add([j], A[i, j]), f32(0.1))  for i<6, j<11
      D[i, j] = sub(A[i, j], M[i])  for i<6, j<11
      V[i] = sqrt(add(reduce_add([j], mul(D[i, j], D[i, j])), f32(0.5)))  for i<6, j<11
      Y[i, j] = mul(div(D[i, j], V[i]), C[j])  for i<6, j<11
    }""",
    "chain": """
    computation chain(A: f32[4,6,5], C: f32[5]) -> Y: f32[6,4,5] {
      temporary E: f32[4,6,5]
      temporary F: f32[4,6,5]
      E[i, j, k] = exp(mul(A[i, j, k], f32(0.25)))  for i<4, j<6, k<5
      F[i, j, k] = add(E[i, j, k], E[i, j, 0])  for i<4, j<6, k<5
      Y[j, i, k] = mul(F[i, j, k], add(E[i, j, k], C[k]))  for j<6, i<4, k<5
    }""",
    "gather": """
    computation pick(A: f32[9,5], I: i64[7]) -> Y: f32[7,5] {
      temporary T: f32[7,5]
      temporary S: f32[7]
      T[i, j] = exp(fetch(A, I[i], index_i64(j)))  for i<7, j<5
      S[i] = reduce_add([j], T[i, j])  for i<7, j<5
      Y[i, j] = sub(T[i, j], S[i])  for i<7, j<5
    }""",
    "turned": """
    computation iteration(A: f32[6,7,10]) -> Y: f32[10,6,7] {
      Y[k, i, j] = mul(A[i, j, k], A[i, j, k])  for k<10, i<6, j<7
    }""",
    "lanes of bytes": """
    computation bytes(A: u8[3,4], B: i8[4,9]) -> Y: i32[3,9] {
      Y[m, n] = reduce_add([k], mul(to_i32(A[m, k]), to_i32(B[k, n])))  for m<3, n<9, k<4
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
CONSTANTS = {
    "product": "BC",
    "blocked convolution": "B",
    "bytes": "B",
    "lanes of bytes": "B",
    "padded lanes": "C",
}


@dataclass(frozen=True)
class Case:
    """A computation with its inputs and expected results."""

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
    memory = memory_for(made, tensors, case.arrays)
    if native:
        run_native(made.kernel, memory)
    else:
        interpret(made.kernel, memory)
    for name in case.computation.outputs:
        got = picked_up(memory[name], tensors[name])
        np.testing.assert_allclose(got, case.wanted[name], rtol=1e-4, atol=1e-5)


def nests(case: Case, between: list[Line]) -> list[tuple[str, Nest]]:
    """Return the nests by their names in schedules, also those inside shared loops."""
    found: list[tuple[str, Nest]] = []

    def arrange(stages: Stages) -> Stages:
        for line in between:
            stages = apply_between(stages, line)
        return stages

    def shape(name: str, nest: Nest) -> Nest:
        found.append((name, nest))
        return nest

    assemble(case.computation, case.constants, OPTIONS, arrange, shape)
    return found


BETWEEN = [m for m in MOVES.values() if m.level == "stages"]
INSIDE = [
    *(m for m in MOVES.values() if m.level == "nest"),
    *(MOVES[often] for often in ("split", "reorder", "unroll")),
]


def random_call(
    chance: random.Random, move: Move, loops: list[str], names: list[str], number: int
) -> Call:
    """Return a move with arguments of the right kinds, most of which exist."""
    arguments: list[str | int] = []
    for p in move.parameters:
        match p.kind.name:
            case "loop" if p.is_rest:
                arguments += chance.sample(loops, chance.randint(1, len(loops)) if loops else 0)
            case "loop":
                arguments.append(chance.choice([*loops, "nowhere"]))
            case "new loop":
                arguments.append(f"{chance.choice('abc')}{number}{chance.randint(0, 9)}")
            case "number":
                arguments.append(chance.choice([1, 2, 2, 3, 4, 4, 5, 8, 16, 100]))
            case "step":
                arguments.append("dot")
            case _:
                arguments.append(chance.choice(names or ["A"]))
    return Call(move.name, tuple(arguments))


def random_between(chance: random.Random, case: Case) -> list[Line]:
    """Return legal moves on the stages of a computation."""
    lines: list[Line] = []

    def arrange(stages: Stages) -> Stages:
        for number in range(chance.choice([0, 4, 12, 24])):
            found = named(stages.members)
            loops = sorted({a for part in found.values() for a in part[0].axes})
            call = random_call(chance, chance.choice(BETWEEN), loops, [*found], number)
            line = Line(chance.choice([*found, "Q"]), call)
            with refused() as codes:
                stages = apply_between(stages, line)
            assert codes in ([], ["E-SCHEDULE-MOVE"])
            if not codes:
                lines.append(line)
        return stages

    assemble(case.computation, case.constants, OPTIONS, arrange, lambda _, nest: nest)
    return lines


def random_schedule(chance: random.Random, case: Case) -> list[Line]:
    """Return lines that are legal in sequence."""
    lines = random_between(chance, case)
    for name, nest in nests(case, lines):
        for number in range(chance.randint(0, 12)):
            loops, names = [a.var for a in nest.axes], [r.tensor for r in nest.reads()]
            line = Line(name, random_call(chance, chance.choice(INSIDE), loops, names, number))
            with refused() as codes:
                nest = apply_line(nest, line)
            assert codes in ([], ["E-SCHEDULE-MOVE"])
            if not codes:
                lines.append(line)
    return lines


@contextmanager
def refused() -> Generator[list[str]]:
    """Yield a list that receives the code of a CompileError raised in the block."""
    codes: list[str] = []
    try:
        yield codes
    except CompileError as e:
        codes.append(e.code)


def try_schedule(name: str, seed: int, *, native: bool) -> str:
    """Run a random schedule; return the code of the error if the entire schedule is refused."""
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


def anything(chance: random.Random, case: Case) -> list[str]:
    """Return lines in any order, each of which may be illegal."""
    nests = [s.target for s in case.computation.stages if isinstance(s, Stage)]
    loops = sorted({a for s in case.computation.stages if isinstance(s, Stage) for a in s.extents})
    names = [*case.computation.tensors, "Y#2", "nobody"]
    lines = random_schedule(chance, case)
    for number in range(chance.randint(1, 3)):
        call = random_call(chance, chance.choice([*MOVES.values()]), loops, names, number)
        lines.insert(chance.randint(0, len(lines)), Line(chance.choice([*nests, "nobody"]), call))
    if chance.random() < 0.3:
        chance.shuffle(lines)
    return [str(line) for line in lines]


@pytest.mark.parametrize("name", CASES)
@given(seed=st.integers(0, 10**9))
@quick
def test_a_text_of_anything_is_right_or_refused(name: str, seed: int) -> None:
    case = CASES[name]
    text = "\n".join(anything(random.Random(seed), case))
    with refused() as codes:
        made = replay_lines(parse_schedule(text), case.computation, case.constants, OPTIONS)
        assert_right(case, made, native=False)
    assert codes in ([], ["E-SCHEDULE-TEXT"], ["E-SCHEDULE-MOVE"], ["E-LIMIT-CODE"])
