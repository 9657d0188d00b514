"""Tests of judging candidates: right, refused, wrong, and crashing."""

import os
import time

import numpy as np
import pytest

import compiler
from compiler.schedule.policy import schedule
from compiler.targets.options import CodeOptions
from compiler.tuning import judge as judging
from compiler.tuning.judge import Judge, agrees
from tests.compiler.schedule.tiled.test_forms import CASES, computation_of

GRAPH = compiler.parse(
    "graph g(x: f32[5,30], w: f32[30,50]) {\n  y: f32[5,50] = matmul(x, w)\n  return y\n}"
)
(KERNEL,) = compiler.compile(GRAPH, tuned=False).kernels
POLICY = "".join(f"{m}\n" for m in KERNEL.moves)


@pytest.fixture(scope="module")
def judge() -> Judge:
    assert KERNEL.computation is not None
    return Judge(KERNEL.computation, KERNEL.constants, CodeOptions())


def test_the_policys_schedule_is_right_and_timed(judge: Judge) -> None:
    (found,) = judge.verdicts([POLICY], 0.01)
    assert found.outcome == "right"
    assert 0 < found.seconds < 1
    assert 0.1 < found.ratio < 10


def test_a_move_that_is_not_legal_is_refused(judge: Judge) -> None:
    texts = ["Y: split(nowhere, 4)\n", "Y: vectorize(k)\n", "no schedule"]
    found = judge.verdicts(texts, 0.0)
    assert [v.outcome for v in found] == ["refused"] * 3
    assert all(v.words.startswith("E-SCHEDULE") and v.ratio == float("inf") for v in found)


def test_a_slow_candidate_is_right_and_has_a_ratio_above_one(judge: Judge) -> None:
    (found,) = judge.verdicts([""], 0.01)
    assert found.outcome == "right"
    assert found.ratio > 1


def test_a_candidate_with_other_numbers_is_wrong(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "expected", {k: v + 1 for k, v in judge.expected.items()})
    assert judge.verdicts([POLICY], 0.0)[0].outcome == "wrong"


def test_a_candidate_that_crashes_costs_only_itself(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = judging.replay

    def crashing(text: str, *rest: object) -> object:
        if text.startswith("// crash"):
            os.abort()
        return real(text, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(judging, "replay", crashing)
    found = judge.verdicts([POLICY, "// crash\n" + POLICY, POLICY], 0.0)
    assert [v.outcome for v in found] == ["right", "failed", "right"]
    assert "SIGABRT" in found[1].words


def test_a_candidate_that_never_ends_is_ended(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "replay", lambda *_: time.sleep(600))
    (found,) = judge.verdicts([POLICY], 0.0, limit=0.5)
    assert found.outcome == "failed"
    assert "0.5 seconds" in found.words


def test_a_candidate_that_eats_memory_is_ended(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judging, "MEMORY_MEGABYTES", 64)
    monkeypatch.setattr(judging, "replay", lambda *_: np.ones(1 << 28))
    assert judge.verdicts([POLICY], 0.0)[0].outcome == "failed"


@pytest.mark.parametrize(
    ("value", "expected", "same"),
    [
        (np.float32([1, 2.00001]), np.float32([1, 2]), True),
        (np.float32([1, 2.001]), np.float32([1, 2]), False),
        (np.float32([np.nan, 2]), np.float32([np.nan, 2]), True),
        (np.float32([np.inf, 2]), np.float32([1, 2]), False),
        (np.int32([1, 2]), np.int32([1, 2]), True),
        (np.int32([1, 3]), np.int32([1, 2]), False),
        (np.float16([1, 2.002]), np.float16([1, 2]), True),
        (np.float32([]), np.float32([]), True),
    ],
)
def test_numbers_agree_up_to_another_order_of_additions(
    value: np.ndarray, expected: np.ndarray, same: bool
) -> None:
    assert agrees(value, expected) is same


def test_operands_lie_as_their_layouts_promise() -> None:
    """The plain loops test bounds at borders; loops over tiles read the zeros of the halo."""
    computation, operands = computation_of(CASES["even"].graph("winograd2"))
    constants = frozenset(t for t, value in operands.items() if value in "wb")
    judge = Judge(computation, constants, CodeOptions())
    moves = schedule(computation, constants, CodeOptions()).moves
    assert "P: pack(W)" in moves
    unpacked = "\n".join(m for m in moves if ": pack(" not in m)
    plain, unfinished = judge.verdicts(["", unpacked], 0.0)
    assert plain.outcome == "right"
    assert "weights must be packed" in unfinished.words
