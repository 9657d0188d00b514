"""Tests of the schedule checker: it rejects exactly the schedules that cannot run."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from compiler.place.check import check_schedule
from compiler.place.place import place
from compiler.place.placement import Slot
from compiler.place.platform import Platform
from compiler.place.platform_text import load_platform, parse_platform
from compiler.place.problem import seconds_on
from compiler.place.schedule import Move, Schedule
from compiler.place.simulate import Conduct
from compiler.place.tasks import TaskGraph
from compiler.place.tasks_text import parse_tasks
from tests.task_graphs import FAMILIES, random_tasks

NARROW = """
name = "narrow"
home = "pad"

[[memory]]
name = "pad"
nbytes = 4000000

[[memory]]
name = "ram"

[[device]]
name = "dsp"
memory = "pad"
flops_per_second = 4e11
bytes_per_second = 1e11
operators = ["conv", "matmul"]

[[device]]
name = "cpu"
memory = "ram"
flops_per_second = 1e11
bytes_per_second = 1e10

[[link]]
name = "lane"
joins = ["pad", "ram"]
latency_seconds = 1e-6
bytes_per_second = 2e10
"""
"""A platform whose home has little memory."""


def machines() -> list[Platform]:
    """Platforms of every kind, one of them with a memory that is nearly full."""
    npu = load_platform("npu")
    small = tuple(replace(m, nbytes=m.nbytes and 3_000_000) for m in npu.memories)
    shipped = [load_platform(n) for n in ("gpu", "npu", "board", "two-cores", "two-sockets")]
    return [*shipped, replace(npu, memories=small), parse_platform(NARROW)]


Chance = random.Random
Change = Callable[[Schedule, TaskGraph, Platform, Chance], Schedule]


def with_slot(made: Schedule, i: int, slot: Slot) -> Schedule:
    return replace(made, slots=(*made.slots[:i], slot, *made.slots[i + 1 :]))


def with_move(made: Schedule, i: int, move: Move) -> Schedule:
    return replace(made, moves=(*made.moves[:i], move, *made.moves[i + 1 :]))


def at_another_time(made: Schedule, tasks: TaskGraph, machine: Platform, by: Chance) -> Schedule:
    i = by.randrange(len(made.slots))
    s, whole = made.slots[i], made.makespan_seconds
    shift = by.choice((-s.start, -0.5 * s.start, by.uniform(-1, 1) * whole, 1e-3 * whole, whole))
    return with_slot(made, i, replace(s, start=s.start + shift, end=s.end + shift))


def for_longer(made: Schedule, tasks: TaskGraph, machine: Platform, by: Chance) -> Schedule:
    i = by.randrange(len(made.slots))
    s = made.slots[i]
    end = by.choice((s.end + 0.01 * made.makespan_seconds, s.start, s.start - 1.0))
    return with_slot(made, i, replace(s, end=end))


def on_another_device(made: Schedule, tasks: TaskGraph, machine: Platform, by: Chance) -> Schedule:
    i = by.randrange(len(made.slots))
    s = made.slots[i]
    name = by.choice(["nobody", *(d.name for d in machine.devices if d.name != s.device)])
    end = s.end
    if name != "nobody" and by.random() < 0.5:
        end = s.start + seconds_on(tasks.tasks[i], machine.device_of[name])
    return with_slot(made, i, replace(s, device=name, end=end))


def in_turn_with_another(
    made: Schedule, tasks: TaskGraph, machine: Platform, by: Chance
) -> Schedule:
    i, j = by.sample(range(len(made.slots)), 2)
    a, b = made.slots[i], made.slots[j]
    late = replace(a, device=b.device, start=b.start, end=b.start + a.end - a.start)
    soon = replace(b, device=a.device, start=a.start, end=a.start + b.end - b.start)
    return with_slot(with_slot(made, i, late), j, soon)


def not_once(made: Schedule, tasks: TaskGraph, machine: Platform, by: Chance) -> Schedule:
    i = by.randrange(len(made.slots))
    s = made.slots[i]
    more = ((), (s, s), (replace(s, task="nothing"), s))[by.randrange(3)]
    return replace(made, slots=(*made.slots[:i], *more, *made.slots[i + 1 :]))


def at_no_time(made: Schedule, tasks: TaskGraph, machine: Platform, by: Chance) -> Schedule:
    """Return times that are not numbers, or so large that all others vanish in comparison."""
    bad = by.choice((math.nan, math.inf, -math.inf, 1e300))
    i = by.randrange(len(made.slots))
    s = made.slots[i]
    changes = ({"start": bad}, {"end": bad}, {"start": bad, "end": bad})[by.randrange(3)]
    if not made.moves or by.random() < 0.5:
        made = with_slot(made, i, replace(s, **changes))
    else:
        j = by.randrange(len(made.moves))
        made = with_move(made, j, replace(made.moves[j], **changes))
    if by.random() < 0.5:
        # In addition, an error of another kind.
        return at_another_time(made, tasks, machine, by)
    return made


def lost_on_its_way(made: Schedule, tasks: TaskGraph, machine: Platform, by: Chance) -> Schedule:
    i = by.randrange(len(made.moves))
    return replace(made, moves=(*made.moves[:i], *made.moves[i + 1 :]))


def moved_otherwise(made: Schedule, tasks: TaskGraph, machine: Platform, by: Chance) -> Schedule:
    i = by.randrange(len(made.moves))
    m, whole = made.moves[i], made.makespan_seconds
    memory = by.choice(machine.memories).name
    shift = by.uniform(-0.3, 0.3) * whole
    changed = (
        replace(m, end=m.start + (m.end - m.start) * by.choice((0.3, 2.0))),
        replace(m, start=m.start + shift, end=m.end + shift),
        replace(m, source=memory),
        replace(m, to=memory),
        replace(m, source=m.to, to=m.source),
        replace(m, link=by.choice(["none", *(x.name for x in machine.links)])),
        replace(m, datum=by.choice(["none", *tasks.datum])),
    )
    return with_move(made, i, by.choice(changed))


def moved_once_more(made: Schedule, tasks: TaskGraph, machine: Platform, by: Chance) -> Schedule:
    """Add a transfer of another value, which is harmless if there is enough memory."""
    link, datum = by.choice(machine.links), by.choice(tasks.data)
    source, to = by.sample(link.joins, 2)
    start = by.choice((0.0, by.uniform(0, 1) * made.makespan_seconds))
    move = Move(datum.name, link.name, source, to, start, start + link.seconds(datum.nbytes))
    return replace(made, moves=(*made.moves, move))


def with_other_claims(made: Schedule, tasks: TaskGraph, machine: Platform, by: Chance) -> Schedule:
    memory = by.choice(machine.memories).name
    changed = (
        replace(made, platform="another"),
        replace(made, bound_seconds=1.01 * made.makespan_seconds),
        replace(made, bound_seconds=math.nan),
        replace(made, peak_bytes={**made.peak_bytes, memory: made.peak_bytes[memory] // 2 - 1}),
    )
    return by.choice(changed)


CHANGES: Sequence[Change] = (
    at_another_time, for_longer, on_another_device, in_turn_with_another, not_once, at_no_time,
    with_other_claims,
)  # fmt: skip
OF_MOVES: Sequence[Change] = (lost_on_its_way, moved_otherwise, moved_once_more)


def test_the_checker_rejects_what_is_corrupted_and_nothing_else() -> None:
    by = random.Random(7)
    rejected = 0
    platforms = machines()
    for seed in range(6):
        for family in FAMILIES:
            tasks = random_tasks(family, 12, seed, weights=seed % 2 == 0)
            machine = platforms[(seed + len(family)) % len(platforms)]
            made = place(tasks, machine, conduct=Conduct(by.choice((None, 0, 1))))
            assert not check_schedule(tasks, machine, made)
            assert is_possible(tasks, machine, made)
            for _ in range(320):
                change = by.choice(
                    (*CHANGES, *(OF_MOVES if made.moves else ()), *(OF_MOVES if made.moves else ()))
                )
                bad = change(made, tasks, machine, by)
                # A task that only waited for its device may start earlier, so times decide.
                still_right = is_possible(tasks, machine, bad)
                faults = check_schedule(tasks, machine, bad)
                assert bool(faults) != still_right, (change.__name__, machine.name, faults)
                rejected += not still_right
    assert rejected >= 10_000


def is_possible(tasks: TaskGraph, machine: Platform, made: Schedule) -> bool:
    """Return whether a schedule can run, by direct reasoning on its times, pair by pair."""
    by_name = {s.task: s for s in made.slots}
    if made.platform != machine.name:
        return False
    if sorted(s.task for s in made.slots) != sorted(t.name for t in tasks.tasks):
        return False
    if not all(math.isfinite(x.start + x.end) for x in (*made.slots, *made.moves)):
        return False
    if any(s.device not in machine.device_of for s in made.slots):
        return False
    links = {x.name: x for x in machine.links}
    if any(m.link not in links or m.datum not in tasks.datum for m in made.moves):
        return False
    if any({m.source, m.to} - {*links[m.link].joins} or m.source == m.to for m in made.moves):
        return False
    work = sum(seconds_on(t, machine.device_of[by_name[t.name].device]) for t in tasks.tasks)
    work += sum(links[m.link].seconds(tasks.datum[m.datum].nbytes) for m in made.moves)
    eps = 1e-9 * min(made.makespan_seconds, work)
    if not 0 <= made.bound_seconds <= made.makespan_seconds + eps:
        return False
    return (
        are_as_long_as_needed(tasks, machine, made, eps)
        and are_one_at_a_time(machine, made, eps)
        and are_there_in_time(tasks, machine, made, eps)
        and fit(tasks, machine, made, eps)
    )


def are_as_long_as_needed(tasks: TaskGraph, machine: Platform, made: Schedule, eps: float) -> bool:
    named = {t.name: t for t in tasks.tasks}
    links = {x.name: x for x in machine.links}
    for s in made.slots:
        device = machine.device_of[s.device]
        needed = seconds_on(named[s.task], device)
        if s.start < 0 or not device.has(named[s.task].operators):
            return False
        if abs(s.end - s.start - needed) > 2 * eps:
            return False
    moved = [(m, links[m.link].seconds(tasks.datum[m.datum].nbytes)) for m in made.moves]
    return all(m.start >= 0 and abs(m.end - m.start - needed) <= 2 * eps for m, needed in moved)


def are_one_at_a_time(machine: Platform, made: Schedule, eps: float) -> bool:
    for s in made.slots:
        for o in made.slots:
            if o is not s and o.device == s.device and (
                s.start < o.end - eps and o.start < s.end - eps
            ):  # fmt: skip
                return False
    for link in machine.links:
        moves = [m for m in made.moves if m.link == link.name]
        for t in (m.start for m in moves):
            if sum(m.start <= t < m.end - eps for m in moves) > link.channels:
                return False
    return True


def are_there_in_time(tasks: TaskGraph, machine: Platform, made: Schedule, eps: float) -> bool:
    by_name = {s.task: s for s in made.slots}

    def is_there(datum: str, memory: str, when: float, device: str | None) -> bool:
        maker = tasks.maker.get(datum)
        if any(m.datum == datum and m.to == memory and m.end <= when + eps for m in made.moves):
            return True
        if maker is None:
            keeps = tasks.datum[datum].is_weight and machine.memory_of[memory].keeps_weights
            return memory == machine.home or keeps
        slot = by_name[tasks.tasks[maker].name]
        if machine.device_of[slot.device].memory != memory:
            return False
        other = device is not None and slot.device != device
        late = machine.memory_of[memory].handover_seconds if other else 0.0
        return slot.end + late <= when + eps

    home = machine.home
    return (
        all(is_there(m.datum, m.source, m.start, None) for m in made.moves)
        and all(
            is_there(r, machine.device_of[by_name[t.name].device].memory, by_name[t.name].start,
                     by_name[t.name].device)
            for t in tasks.tasks for r in t.reads
        )
        and all(is_there(d.name, home, math.inf, None) for d in tasks.data if d.is_result)
    )  # fmt: skip


def fit(tasks: TaskGraph, machine: Platform, made: Schedule, eps: float) -> bool:
    """Return whether the required values always fit each memory and its stated peak."""
    by_name = {s.task: s for s in made.slots}
    moments = sorted({x.start for x in (*made.slots, *made.moves)} | {0.0})
    for memory in machine.memories:
        spans = {d.name: span(d.name, memory.name, tasks, machine, made, by_name, eps)
                 for d in tasks.data}  # fmt: skip
        for t in moments:
            now = t + 2 * eps
            held = sum(tasks.datum[d].nbytes for d, (a, b) in spans.items() if a < now < b)
            if held > made.peak_bytes[memory.name]:
                return False
        if memory.nbytes is not None and made.peak_bytes[memory.name] > memory.nbytes:
            return False
    return True


def span(
    name: str,
    memory: str,
    tasks: TaskGraph,
    machine: Platform,
    made: Schedule,
    by_name: Mapping[str, Slot],
    eps: float,
) -> tuple[float, float]:
    """Return the interval in which a value must be in a memory; None for never."""
    d = tasks.datum[name]
    maker = tasks.maker.get(name)
    slot = by_name[tasks.tasks[maker].name] if maker is not None else None
    origin = machine.device_of[slot.device].memory if slot else machine.home
    here = [s for s in made.slots if name in tasks.tasks[number(tasks, s.task)].reads
            and machine.device_of[s.device].memory == memory]  # fmt: skip
    needed = [s.end for s in here]
    if d.is_result and memory == machine.home:
        needed.append(made.makespan_seconds)
    if origin == memory:
        needed += [m.end for m in made.moves if m.datum == name and m.source == memory]
        needed += [slot.end] if slot else []
    if not needed:
        return 0.0, 0.0
    stays = d.is_weight and machine.memory_of[memory].keeps_weights
    if origin == memory or stays:
        return (slot.start if slot else 0.0), made.makespan_seconds if stays else max(needed)
    first = min((s.start for s in here), default=math.inf)
    brought = [m for m in made.moves if m.datum == name and m.to == memory]
    in_time = [m.start for m in brought if m.end <= first + eps]
    return (max(in_time), max(needed)) if in_time else (0.0, 0.0)


def number(tasks: TaskGraph, name: str) -> int:
    return next(i for i, t in enumerate(tasks.tasks) if t.name == name)


def test_results_that_are_home_take_room_there_until_the_end() -> None:
    text = """
    tasks three {
      given x: 100 bytes
      a: 1500000 bytes = a(x) as conv, dsp 1.0 s, cpu 1.0 s
      b: 1500000 bytes = b(x) as relu, cpu 3.0 s
      c: 1500000 bytes = c(x) as relu, cpu 3.0 s
      return a, b, c
    }
    """
    tasks, machine = parse_tasks(text), parse_platform(NARROW)

    def bring(name: str, start: float) -> Move:
        return Move(name, "lane", "ram", "pad", start, start + 1e-6 + 1500000 / 2e10)

    slots = (Slot("a", "dsp", 0.0, 1.0), Slot("b", "cpu", 1.0, 4.0), Slot("c", "cpu", 4.0, 7.0))
    given = Move("x", "lane", "pad", "ram", 0.0, 1e-6 + 100 / 2e10)
    moves = (given, bring("b", 5.0), bring("c", 8.0))
    faults = check_schedule(tasks, machine, Schedule("narrow", slots, moves))
    assert [str(f) for f in faults] == ["pad: holds 4500000 bytes, but its capacity is 4000000"]
    wide = parse_platform(NARROW.replace("4000000", "4500000"))
    assert not check_schedule(tasks, wide, Schedule("narrow", slots, moves))
    away = Schedule("narrow", slots, moves[:-1])
    assert [str(f) for f in check_schedule(tasks, wide, away)] == ["c: never returns to pad"]


def test_what_goes_in_a_circle_comes_from_nowhere() -> None:
    """Without transfer times, two transfers can be in time for each other without any source."""
    text = NARROW.replace("latency_seconds = 1e-6", "latency_seconds = 0.0")
    tasks = parse_tasks("""
    tasks circle {
      given x: 0 bytes
      a: 0 bytes = a(x) as conv, dsp 1.0 s, cpu 1.0 s
      b: 8 bytes = b(a) as conv, dsp 1.0 s, cpu 1.0 s
    }
    """)
    machine = parse_platform(text + FAR)
    assert all(link.seconds(0) == 0.0 for link in machine.links)
    there = Move("a", "wire", "ram", "far", 0.0, 0.0)
    back = Move("a", "wire", "far", "ram", 0.0, 0.0)
    slots = (Slot("a", "dsp", 2.0, 3.0), Slot("b", "cpu", 0.0, 1.0))
    assert check_schedule(tasks, machine, Schedule("narrow", slots, (there, back)))


FAR = """
[[memory]]
name = "far"

[[link]]
name = "wire"
joins = ["ram", "far"]
bytes_per_second = 1e9
"""


@pytest.mark.parametrize("end", [math.inf, 1e300])
def test_a_late_end_excuses_nothing(end: float) -> None:
    tasks, machine = random_tasks("layered", 12, 1), load_platform("gpu")
    made = place(tasks, machine)
    idle = replace(made.moves[0], start=end / 2, end=end)
    first = tuple(replace(s, start=0.0, end=s.end - s.start) for s in made.slots)
    assert check_schedule(tasks, machine, replace(made, slots=first, moves=(*made.moves, idle)))
