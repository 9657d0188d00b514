"""Tests of simulated runs: transfers, shared links, prefetched operands, full memories."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from compiler.errors import CompileError
from compiler.place import place as placing
from compiler.place.check import check_schedule
from compiler.place.gantt import gantt_svg, gantt_text
from compiler.place.heft import heft
from compiler.place.place import place
from compiler.place.placement import Placement
from compiler.place.platform import Platform
from compiler.place.platform_text import load_platform, parse_platform, shipped
from compiler.place.problem import Problem
from compiler.place.schedule import Schedule, critical_path
from compiler.place.simulate import Conduct
from compiler.place.tasks import TaskGraph
from compiler.place.tasks_text import parse_tasks
from tests.compiler.place.toy import MACHINE, toy
from tests.task_graphs import FAMILIES, random_tasks

CHAIN = """
tasks chain {
  given x: 100 bytes
  weight u: 200 bytes
  weight v: 300 bytes
  weight w: 400 bytes
  a: 100 bytes = a(x, u) as conv, npu 5.0 s, cpu 50.0 s
  b: 100 bytes = b(a, v) as conv, npu 6.0 s, cpu 50.0 s
  c: 100 bytes = c(b, w) as conv, npu 7.0 s, cpu 50.0 s
  return c
}
"""


def makespan(tasks: TaskGraph, machine: Platform, ahead: int | None) -> float:
    made = place(tasks, machine, conduct=Conduct(ahead))
    assert not check_schedule(tasks, machine, made)
    return made.makespan_seconds


def test_operands_are_brought_while_others_compute() -> None:
    tasks = parse_tasks(CHAIN)
    # 1 s for the input, 2 + 3 + 4 s for weights, 5 + 6 + 7 s of computing, 1 s for the result.
    assert makespan(tasks, toy(10_000), 0) == 1 + 9 + 18 + 1
    assert makespan(tasks, toy(10_000), 1) == 1 + 2 + 18 + 1
    assert makespan(tasks, toy(10_000), None) == 1 + 2 + 18 + 1


def test_two_buffers_hide_less_than_all_where_transfers_are_uneven() -> None:
    tasks = parse_tasks(CHAIN.replace("npu 6.0", "npu 1.0"))
    assert makespan(tasks, toy(10_000), 0) == 1 + 9 + 13 + 1
    # The transfer of c's weights begins with b: 4 s, of which b hides 1 s.
    assert makespan(tasks, toy(10_000), 1) == 1 + 2 + 5 + 4 + 7 + 1
    assert makespan(tasks, toy(10_000), None) == 1 + 2 + 5 + 2 + 7 + 1


def test_a_small_memory_makes_operands_come_later() -> None:
    tasks = parse_tasks(CHAIN)
    made = place(tasks, toy(700), conduct=Conduct())
    assert not check_schedule(tasks, toy(700), made)
    assert made.peak_bytes["sram"] <= 700
    assert made.makespan_seconds > makespan(tasks, toy(10_000), None)


def test_what_has_no_room_goes_elsewhere() -> None:
    tasks = parse_tasks(CHAIN)
    made = place(tasks, toy(550))
    assert not check_schedule(tasks, toy(550), made)
    assert {s.task: s.device for s in made.slots} == {"a": "npu", "b": "npu", "c": "cpu"}


HOLDING = """
tasks holding {
  given x: 10 bytes
  p: 400 bytes = p(x) as conv, npu 1.0 s, cpu 90.0 s
  q: 400 bytes = q(x) as conv, npu 1.0 s, cpu 90.0 s
  r: 400 bytes = r(x) as conv, npu 5.0 s, cpu 90.0 s
  s: 400 bytes = s(p, q) as conv, npu 1.0 s, cpu 90.0 s
  t: 10 bytes = t(r, s) as conv, npu 1.0 s, cpu 90.0 s
  return t
}
"""


def test_a_task_that_waits_for_room_for_ever_is_sent_away() -> None:
    tasks = parse_tasks(HOLDING)
    made = place(tasks, toy(1500))
    assert not check_schedule(tasks, toy(1500), made)
    assert any("memory is full" in note for note in made.notes)
    assert all("memory is full" not in n for n in place(tasks, toy(2000)).notes)


@pytest.mark.parametrize("scheduler", ["heft", "cp_sat", "best"])
def test_what_is_proven_when_tasks_were_sent_away_holds_for_all_devices(scheduler: str) -> None:
    """p, q, s, r, t fit on the accelerator in this order: 9 s, and 0.2 s to transfer x and t."""
    made = place(parse_tasks(HOLDING), toy(1500), scheduler=scheduler, time_limit_s=2.0)
    assert made.bound_seconds <= 9.2


def test_further_decisions_have_as_much_time_as_the_first_one_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits: list[float] = []

    def decide(problem: Problem, limit_s: float) -> Placement:
        limits.append(limit_s)
        return heft.decide(problem, limit_s)

    monkeypatch.setattr(placing, "SCHEDULERS", {"heft": replace(heft, decide=decide)})
    made = place(parse_tasks(HOLDING), toy(1500), scheduler="heft", time_limit_s=8.0)
    assert len(limits) > 1
    assert len(limits) == 1 + sum("memory is full" in note for note in made.notes)
    assert limits[0] == 8.0
    assert sum(limits[1:]) <= 8.0


def test_what_passes_through_a_memory_takes_no_room_there() -> None:
    """Small intermediate memories, with and without a device that also reads some of the values."""
    relay = MACHINE.format(room=500_000) + FAR
    for text in (relay, relay.replace('operators = ["conv"]', 'operators = ["none"]')):
        machine = parse_platform(text)
        for seed, family in enumerate(FAMILIES):
            tasks = random_tasks(family, 14, seed)
            made = place(tasks, machine, scheduler="peft")
            assert not check_schedule(tasks, machine, made)
            assert any(m.source == "sram" and m.to == "vram" for m in made.moves)


FAR = """
[[memory]]
name = "vram"

[[device]]
name = "gpu"
memory = "vram"
flops_per_second = 1e6
bytes_per_second = 1e6

[[link]]
name = "bus"
joins = ["sram", "vram"]
bytes_per_second = 1e9
"""


def test_links_carry_one_thing_after_the_other() -> None:
    text = """
    tasks two {
      given x: 1000 bytes
      given y: 1000 bytes
      a: 1 bytes = a(x) as conv, npu 1.0 s, cpu 90.0 s
      b: 1 bytes = b(y) as conv, npu 1.0 s, cpu 90.0 s
    }
    """
    tasks, machine = parse_tasks(text), toy(10_000)
    free = place(tasks, machine, conduct=Conduct(contention=False))
    shared = place(tasks, machine)
    assert free.makespan_seconds == 12
    assert shared.makespan_seconds == 21
    assert not check_schedule(tasks, machine, free, contention=False)
    assert any("at once" in f.problem for f in check_schedule(tasks, machine, free))


@pytest.mark.parametrize("platform", shipped())
@pytest.mark.parametrize("conduct", [Conduct(), Conduct(0), Conduct(1), Conduct(2, False)])
def test_all_runs_pass_the_check(platform: str, conduct: Conduct) -> None:
    machine = load_platform(platform)
    for seed, family in enumerate(FAMILIES):
        tasks = random_tasks(family, 30, seed)
        made = place(tasks, machine, conduct=conduct)
        assert not check_schedule(tasks, machine, made, contention=conduct.contention)


@pytest.mark.parametrize("room", [1_600_000, 2_500_000, 4_000_000])
def test_small_memories_are_kept_to(room: int) -> None:
    board = load_platform("npu")
    small = tuple(replace(m, nbytes=room) if m.nbytes else m for m in board.memories)
    machine = replace(board, memories=small)
    for family in FAMILIES:
        for seed in range(3):
            tasks = random_tasks(family, 40, seed)
            made = place(tasks, machine, scheduler="peft")
            assert not check_schedule(tasks, machine, made)
            assert made.peak_bytes["sram"] <= room


def test_the_critical_path_is_as_long_as_the_run() -> None:
    for platform in ("two-cores", "gpu", "npu", "board"):
        for seed, family in enumerate(FAMILIES):
            tasks = random_tasks(family, 25, seed)
            for conduct in (Conduct(), Conduct(0), Conduct(1)):
                made = place(tasks, load_platform(platform), conduct=conduct)
                path = critical_path(tasks, made)
                assert path[-1].end == made.makespan_seconds
                waits = sum(b.start - a.end for a, b in pairwise(path))
                # A handover within a memory is not a separate activity.
                assert path[0].start <= 1e-9
                assert 0 <= waits <= 1e-6 * len(path)


def test_the_wire_shape_reads_back() -> None:
    tasks, machine = random_tasks("layered", 20, 1), load_platform("board")
    made = place(tasks, machine, conduct=Conduct(1))
    data = made.to_json(tasks)
    assert data["version"] == 1
    assert any(t["is_critical"] for t in data["tasks"])
    assert Schedule.from_json(json.loads(json.dumps(data))) == made
    slot, moved = data["tasks"][0], data["moves"][0]
    wrong: tuple[Any, ...] = (
        {},
        [],
        {**data, "version": 2},
        {**data, "platform": 3},
        {**data, "tasks": [{}]},
        {**data, "tasks": [{**slot, "start": "0.0"}]},
        {**data, "tasks": [{**slot, "end": math.nan}]},
        {**data, "tasks": [{**slot, "device": None}]},
        {**data, "moves": [{**moved, "link": 1}]},
        {**data, "moves": [{**moved, "end": True}]},
        {**data, "moves": 7},
        {**data, "peak_bytes": {"ram": 1.5}},
        {**data, "peak_bytes": []},
        {**data, "ahead": -1},
        {**data, "bound_seconds": -1.0},
        {**data, "notes": [1]},
        {**data, "held_bytes": {"ram": [[0.0, "many"]]}},
        {**data, "held_bytes": {"ram": [[0.0]]}},
    )
    for bad in wrong:
        with pytest.raises(CompileError, match="not a schedule"):
            Schedule.from_json(bad)


def test_the_pictures_show_every_task_and_transfer() -> None:
    tasks, machine = parse_tasks(CHAIN), toy(10_000)
    made = place(tasks, machine, conduct=Conduct(0))
    svg = gantt_svg(tasks, machine, made)
    assert svg.count("<rect") == len(made.slots) + len(made.moves)
    assert svg.count(", critical</title>") == len(critical_path(tasks, made))
    assert ">npu</text>" in svg
    assert [f">{n} s</text>" in svg for n in (5, 10, 15, 20, 25, 29)] == [True] * 5 + [False]
    assert ">29 s in total</text>" in svg
    rows = gantt_text(tasks, machine, made, columns=29).splitlines()
    # A column is a second: transfers and tasks alternate on the critical path.
    assert rows[0] == "cpu " + "." * 29
    assert rows[1] == "npu ...#####...######....#######."
    assert rows[2] == "dma ###.....###......####.......#"
    nothing = TaskGraph("nothing", (), ())
    assert "<svg" in gantt_svg(nothing, machine, place(nothing, machine))
