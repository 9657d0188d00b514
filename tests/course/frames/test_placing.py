"""Tests of the frames of plans: they are the plan, and their relations hold byte by byte."""

from __future__ import annotations

from typing import Any

import pytest

from tests.course.lessons import ran, results

PROBLEM = """plan 0 bytes, alignment 1 {
  a: 90 bytes, live 0..3
  b: 52 bytes, live 2..5
  c: 38 bytes, live 2..5
  d: 110 bytes, live 3..4
  e: 82 bytes, live 4..7
  f: 118 bytes, live 5..7
}"""
PLANNERS = ("naive", "first_fit", "best_fit", "greedy_by_size", "greedy", "exact")


def placed(by: str, problem: str = PROBLEM) -> tuple[dict[str, Any], list[dict[str, Any]], float]:
    """Return the picture of a plan, its buffers and its peak."""
    run = ran(f"```planner {{name=p by={by} moving=true}}\n{problem}\n```")
    found = results(run, "p")
    return found.data["motion"], found.data["buffers"], found.amounts["peak_bytes"].value


def range_of(buffer: dict[str, Any], start: str, end: str) -> set[int]:
    first = buffer[start]
    return set(range(first, first + buffer["size"] if end == "size" else buffer[end]))


@pytest.mark.parametrize("by", PLANNERS)
def test_the_frames_of_a_plan_are_the_plan(by: str) -> None:
    picture, buffers, peak = placed(by)
    frames = picture["frames"]
    assert sorted(f["buffer"] for f in frames) == [*range(len(buffers))]
    top = 0
    for frame in frames:
        buffer = buffers[frame["buffer"]]
        top = max(top, buffer["offset"] + buffer["size"])
        assert frame["peak_bytes"] == top
    assert top == peak


@pytest.mark.parametrize("by", PLANNERS)
def test_buffers_share_bytes_only_at_other_steps_and_stand_on_live_ones(by: str) -> None:
    picture, buffers, _ = placed(by)
    named = {b["name"]: b for b in buffers}
    earlier: list[str] = []
    for frame in picture["frames"]:
        b = buffers[frame["buffer"]]
        own, live = range_of(b, "offset", "size"), range_of(b, "start", "end")
        common = {n for n in earlier if range_of(named[n], "offset", "size") & own}
        assert all(not range_of(named[n], "start", "end") & live for n in common)
        if picture["order"] == "run":
            assert set(frame["shares"]) <= common
            assert bool(frame["shares"]) == bool(common)
        else:
            assert set(frame["shares"]) == common
        for name in frame["on"]:
            other = named[name]
            assert other["offset"] + other["size"] == b["offset"]
            assert range_of(other, "start", "end") & live
        earlier.append(b["name"])


def test_the_order_is_that_of_the_planner_or_of_the_run() -> None:
    picture, buffers, _ = placed("greedy_by_size")
    sizes = [buffers[f["buffer"]]["size"] for f in picture["frames"]]
    assert (picture["order"], sizes) == ("size", sorted(sizes, reverse=True))
    picture, buffers, _ = placed("exact")
    starts = [buffers[f["buffer"]]["start"] for f in picture["frames"]]
    assert (picture["order"], starts) == ("run", sorted(starts))


def test_many_buffers_are_left_out_with_the_reason() -> None:
    rows = "\n".join(f"  b{i}: 8 bytes, live {i}..{i + 2}" for i in range(61))
    picture, buffers, _ = placed("greedy", f"plan 0 bytes, alignment 1 {{\n{rows}\n}}")
    assert len(buffers) == 61
    assert picture["frames"] == []
    assert "61 buffers" in picture["omitted"]
