"""Tests of tier 0: code that is available sooner, with equal results, until it is replaced."""

import threading

import numpy as np
import pytest

import compiler
from compiler.errors import CompileError
from compiler.runtime.built import Built

GRAPH = compiler.parse(
    "graph g(x: f32[37,19], w: f32[19,53]) {\n"
    "  p: f32[37,53] = matmul(x, w)\n"
    "  y: f32[37,53] = exp(p)\n"
    "  return y\n}"
)


def inputs() -> dict[str, np.ndarray]:
    chance = np.random.default_rng(3)
    return {
        "x": chance.standard_normal((37, 19)).astype(np.float32) / 4,
        "w": chance.standard_normal((19, 53)).astype(np.float32) / 4,
    }


def test_code_of_the_first_tier_is_smaller_and_right() -> None:
    quick = compiler.compile(GRAPH, tier=0)
    whole = compiler.compile(GRAPH)
    expected = compiler.reference(GRAPH, inputs())["y"]
    assert np.allclose(quick.run(inputs())["y"], expected, rtol=1e-5)
    assert quick.settle()
    assert not quick.is_improving
    assert quick.emit("llvm") == whole.emit("llvm")
    assert np.array_equal(quick.run(inputs())["y"], whole.run(inputs())["y"])


def test_the_first_program_runs_while_better_code_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    from compiler.runtime.program import Program

    may_go_on, made = threading.Event(), []
    improve = Program.improve

    def held(self: Program, make: object) -> None:
        def later() -> Built:
            assert may_go_on.wait(60)
            made.append(make())  # type: ignore[operator]
            return made[-1]

        improve(self, later)

    monkeypatch.setattr(Program, "improve", held)
    program = compiler.compile(GRAPH, tier=0)
    assert program.is_improving
    assert not program.settle(timeout_seconds=0)
    first = program.emit("llvm")
    expected = compiler.reference(GRAPH, inputs())["y"]
    assert np.allclose(program.run(inputs())["y"], expected, rtol=1e-5)
    may_go_on.set()
    assert program.settle()
    assert len(made) == 1
    assert len(first) < len(program.emit("llvm"))
    assert np.allclose(program.run(inputs())["y"], expected, rtol=1e-5)


def test_the_first_code_goes_on_when_no_better_one_can_be_made() -> None:
    program = compiler.compile(GRAPH)

    def fails() -> Built:
        raise MemoryError("no room")

    program.improve(fails)
    assert program.settle()
    assert any("no room" in note for note in program.notes)
    assert program.run(inputs())["y"].shape == (37, 53)


def test_programs_of_the_last_tier_are_settled_at_once() -> None:
    program = compiler.compile(GRAPH)
    assert program.settle()
    assert not program.is_improving


@pytest.mark.parametrize("tier", [2, -1, True, "0", None, 0.5])
def test_other_tiers_are_refused(tier: object) -> None:
    with pytest.raises(CompileError) as caught:
        compiler.compile(GRAPH, tier=tier)  # type: ignore[arg-type]
    assert caught.value.code == "E-OPTION-VALUE"
    assert "tier" in caught.value.message
