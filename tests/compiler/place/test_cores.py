"""Tests of cores with private caches: readers of large values run on the producing core."""

from __future__ import annotations

import pytest

from compiler.place.check import check_schedule
from compiler.place.cores import cores_with_caches
from compiler.place.place import place
from compiler.place.simulate import Conduct
from compiler.place.tasks_text import parse_tasks

FORK = """
tasks fork {{
  a: {nbytes} bytes = a(), core0 1.0 s, core1 1.0 s
  b: 8 bytes = b(a), core0 2.0 s, core1 2.0 s
  c: 8 bytes = c(a), core0 3.0 s, core1 3.0 s
}}
"""


@pytest.mark.parametrize(("nbytes", "makespan"), [(200, 1 + 0.5 + 2.0 + 2), (1000, 1 + 3 + 2)])
def test_reading_what_another_core_made_takes_its_bytes(nbytes: int, makespan: float) -> None:
    """A reader of 200 bytes on another core waits 2.5 s; 1000 bytes would take 10.5 s."""
    machine = cores_with_caches(2, handover_seconds=0.5, bytes_per_second=100.0)
    tasks = parse_tasks(FORK.format(nbytes=nbytes))
    made = place(tasks, machine, scheduler="heft", conduct=Conduct(ahead=0, contention=False))
    assert not check_schedule(tasks, machine, made, contention=False)
    assert made.makespan_seconds == makespan
    assert len({s.device for s in made.slots}) == (2 if nbytes == 200 else 1)
