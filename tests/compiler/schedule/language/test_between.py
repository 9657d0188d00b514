"""Tests of moves on stages: by users, refused with reasons, and by the policy."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
from compiler.compute.lower import lower_node
from compiler.compute.text import parse_computation
from compiler.errors import CompileError
from compiler.schedule.language.replay import replay
from compiler.schedule.language.steps import steps
from compiler.schedule.language.text import parse_schedule
from compiler.schedule.policy import schedule
from compiler.targets.options import CodeOptions
from compiler.targets.target import by_name
from tests.compiler.schedule.language.test_moves import assert_right
from tests.compiler.schedule.language.test_random_moves import COMPUTATIONS
from tests.compiler.schedule.stages.test_sharing import ALL

OPTIONS = CodeOptions(by_name("x86-64-v3"))
ATTENTION = parse_computation(COMPUTATIONS["attention"])
NORM = parse_computation(COMPUTATIONS["norm with two results"])
CHAIN = parse_computation(COMPUTATIONS["chain"])


def shapes(text: str) -> dict[str, tuple[object, ...]]:
    made = replay(text, ATTENTION, frozenset(), OPTIONS)
    assert_right(ATTENTION, made)
    return {n: made.kernel.buffers[n].shape for n in "STEUP" if n in made.kernel.buffers}


def test_a_stage_without_lines_is_computed_whole() -> None:
    assert shapes("") == {"S": (2, 5, 7), "T": (2, 5), "U": (2, 5), "P": (2, 5, 4)}  # E is inside S


def test_stages_move_one_by_one_the_last_one_first() -> None:
    assert shapes("U: compute_at(P, m)\nE: compute_at(P, m)")["E"] == (2, 1, 7)
    assert shapes("P: compute_at(Y, d)")["P"] == (2, 5, 1)


def test_loops_stand_inside_each_other_and_take_several_places() -> None:
    text = "".join(f"{s}: compute_at(Y, h)\n" for s in "PUETS")
    text += "".join(f"{s}: compute_at(Y, m, 2)\n" for s in "PUET")
    assert shapes(text) == {
        "S": (1, 5, 7), "T": (1, 2), "E": (1, 2, 7), "U": (1, 2), "P": (1, 2, 4)
    }  # fmt: skip
    found = steps(parse_schedule(text), ATTENTION, frozenset(), OPTIONS)
    assert found[8].outline.split("\n")[:4] == [
        "for h in 0..2 {",
        f"  {ATTENTION.stages[0]}",
        "  for m in 0..5 by 2 {",
        f"    {ATTENTION.stages[1]}",
    ]


def test_what_is_read_elsewhere_is_kept_whole() -> None:
    text = "".join(f"{s}: compute_at(Y, i)\n" for s in "VDM")
    made = replay(text, NORM, frozenset(), OPTIONS)
    assert made.kernel.buffers["M"].shape == (6,)
    assert made.kernel.buffers["D"].shape == (1, 11)
    assert_right(NORM, made)


def test_a_stage_read_in_another_order_runs_in_the_loop_that_goes_with_it() -> None:
    made = replay("F: compute_at(Y, j)\nE: compute_at(Y, j)", CHAIN, frozenset(), OPTIONS)
    assert made.kernel.buffers["F"].shape == (4, 1, 5)
    assert_right(CHAIN, made)


def test_inlined_stages_are_gone() -> None:
    made = replay("E: inline()\nF: inline()", CHAIN, frozenset(), OPTIONS)
    assert [b.name for b in made.kernel.params] == ["A", "C", "Y"]
    assert_right(CHAIN, made)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Q: inline()", "there is no stage 'Q'"),
        ("S: inline()", "S is a reduction"),
        ("Y: inline()", "Y is a result of the kernel"),
        ("P: compute_at(Y, d)\nE: inline()", "already run inside loops of other stages"),
        ("P: compute_at(Y, x)", "Y has no loop 'x' over its points: h, m, d"),
        ("P: compute_at(P, m)", "P cannot run inside its own loop"),
        ("Y: compute_at(P, m)", "Y runs after P"),
        ("P: compute_at(Y, m, 5)", "m of Y has 5 positions: with 5 per iteration, no loop remains"),
        ("P: compute_at(Y, m, 2)\nU: compute_at(Y, m)", "computes 2 positions per iteration"),
        ("E: compute_at(P, m)", "U reads E before the loop over m begins"),
        ("U: compute_at(Y, d)", "no axis of U matches the loop over d of Y"),
        ("E: compute_at(P, d)", "U reads E before"),
        ("P: compute_at(Y, h)\nU: compute_at(P, m)", "P runs inside a loop over h of Y, but U"),
        ("P: compute_at(Y, h)\nU: compute_at(Y, m)", "Y runs inside a loop over h of Y, but U"),
        ("P: compute_at(Y, h)\nP: compute_at(Y, h)", "P runs inside a loop over h of Y, but Y"),
        ("P: unroll(d)\nU: compute_at(Y, m)", "follows a move on loops"),
    ],
)  # fmt: skip
def test_what_is_not_legal_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(CompileError) as caught:
        replay(text, ATTENTION, frozenset(), OPTIONS)
    assert caught.value.code == "E-SCHEDULE-MOVE"
    assert reason in caught.value.message
    assert caught.value.where.line == text.count("\n") + 1


@pytest.mark.parametrize("name", ALL)
def test_the_text_of_an_automatic_schedule_makes_it_again(name: str) -> None:
    g = ALL[name]
    lowered = lower_node(g.nodes[0], g)
    assert lowered is not None
    made = schedule(lowered.computation, frozenset(), OPTIONS)
    has_moves = any(line.call.move == "compute_at" for line in made.lines)
    assert has_moves == (name != "one_head_of_keys")
    again = replay(made.text, lowered.computation, frozenset(), OPTIONS)
    assert again.kernel == made.kernel
    assert again.lines == made.lines


def test_an_automatic_schedule_can_be_taken_apart_by_hand() -> None:
    g = ALL["softmax"]
    (kernel,) = compiler.compile(g, "none").kernels
    text = "\n".join(kernel.moves)
    plain = "\n".join(line for line in text.split("\n") if "compute_at" not in line)
    x = np.random.default_rng(1).normal(size=(2, 3, 45)).astype(np.float32)
    wanted = compiler.reference(g, {"x": x})["y"]
    for lines in (plain, f"E: inline()\n{_without(plain, 'E')}"):
        program = compiler.compile(g, "none", schedules={"y": lines})
        np.testing.assert_allclose(program.run({"x": x})["y"], wanted, rtol=2e-5, atol=2e-6)


def _without(text: str, nest: str) -> str:
    return "\n".join(line for line in text.split("\n") if not line.startswith(f"{nest}:"))
