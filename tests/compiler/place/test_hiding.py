"""Tests of prefetching operands: time saved and memory used, computed by hand."""

from __future__ import annotations

import pytest

from compiler.place.hiding import hiding
from compiler.place.place import place
from compiler.place.simulate import Conduct
from compiler.place.tasks_text import parse_tasks
from tests.compiler.place.toy import toy

CHAIN = """
tasks chain {
  given x: 100 bytes
  weight u: 200 bytes
  weight v: 300 bytes
  weight w: 400 bytes
  h: 100 bytes = a(x, u) as conv, cpu 1000.0 s, npu 6.0 s
  i: 100 bytes = b(h, v) as conv, cpu 1000.0 s, npu 1.0 s
  j: 100 bytes = c(i, w) as conv, cpu 1000.0 s, npu 7.0 s
  return j
}
"""


def test_each_way_has_its_time_and_its_peak() -> None:
    tasks, machine = parse_tasks(CHAIN), toy(10_000)
    made = place(tasks, machine, conduct=Conduct())
    demand, double, early = hiding(tasks, machine, made)
    assert [h.words for h in (demand, double, early)] == [
        "on demand", "double-buffered", "as early as memory permits",
    ]  # fmt: skip
    # 1 s for the input, 2 + 3 + 4 for weights, 6 + 1 + 7 of computing, 1 for the result.
    assert demand.makespan_seconds == 1 + 9 + 14 + 1
    assert double.makespan_seconds == 1 + 2 + 6 + 4 + 7 + 1  # b hides 1 s of c's weights
    # The bus transfers x until 1 s, u 3, v 6, w 10; a runs from 3 to 9, b to 10, c to 17; then j.
    assert early.makespan_seconds == 18
    # In memory while c runs: i, w, j. With two in flight, while b runs: h, v, i, and w in transit.
    assert demand.peak_bytes["sram"] == 100 + 400 + 100
    assert double.peak_bytes["sram"] == 100 + 300 + 100 + 400
    assert early.peak_bytes["sram"] == 100 + 200 + 100 + 300 + 400


@pytest.mark.parametrize(("room", "fits"), [(900, True), (899, False)])
def test_two_buffers_need_room_for_both(room: int, fits: bool) -> None:
    tasks, machine = parse_tasks(CHAIN), toy(room)
    made = place(tasks, machine, conduct=Conduct(0))
    demand, double, early = hiding(tasks, machine, made)
    assert demand.makespan_seconds == 25
    assert (double.makespan_seconds == 21) == fits
    assert early.makespan_seconds is not None
    assert early.makespan_seconds <= 25
    assert all(h.peak_bytes.get("sram", 0) <= room for h in (demand, double, early))


def test_without_transfers_all_ways_are_one() -> None:
    tasks = parse_tasks(CHAIN.replace("cpu 1000.0", "cpu 0.01"))
    machine = toy(10_000)
    made = place(tasks, machine, conduct=Conduct())
    assert not made.moves
    assert len({h.makespan_seconds for h in hiding(tasks, machine, made)}) == 1
