"""The uses of each datum in each memory under a placement, and the required transfers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from compiler.dataclass import dataclass
from compiler.place.placement import Placement
from compiler.place.problem import Problem


@dataclass(frozen=True, slots=True)
class Transit:
    """A required transfer of a datum to another memory. `urgency` is the planned start, in seconds,
    of the datum's first reader."""

    datum: str
    source: str
    to: str
    urgency: float


@dataclass(frozen=True, slots=True)
class Uses:
    """The number of uses of each datum in each memory, and the required transfers.

    A use is a reader, an outgoing transfer, or a result at the end of the run. `at_first` lists the
    data in each memory at the start of a run; `transits` lists the required transfers, most urgent
    first.
    """

    counts: Mapping[tuple[str, str], int]
    at_first: tuple[tuple[str, str], ...]
    transits: tuple[Transit, ...]


def uses_of(problem: Problem, placement: Placement) -> Uses:
    """Return the memory uses of the tasks on their devices."""
    graph, platform = problem.graph, problem.platform
    home = platform.home
    memory_of = [platform.device_of[s.device].memory for s in placement.slots]
    made_at = {m: memory_of[t] for m, t in graph.maker.items()}
    readers: dict[tuple[str, str], list[int]] = defaultdict(list)
    for t, task in enumerate(graph.tasks):
        for r in dict.fromkeys(task.reads):
            readers[memory_of[t], r].append(t)
    counts = Counter({place: len(tasks) for place, tasks in readers.items()})
    kept: list[tuple[str, str]] = []
    needed: dict[tuple[str, str], float] = {}
    for (memory, datum), tasks in readers.items():
        if made_at.get(datum, home) == memory:
            continue
        if graph.datum[datum].is_weight and platform.memory_of[memory].keeps_weights:
            kept.append((memory, datum))
        else:
            needed[datum, memory] = min(placement.slots[t].start for t in tasks)
    for d in graph.data:
        if d.is_result:
            counts[home, d.name] += 1
            if made_at.get(d.name, home) != home:
                needed.setdefault((d.name, home), placement.end_seconds)
    transits = tuple(
        Transit(datum, made_at.get(datum, home), to, urgency)
        for (datum, to), urgency in sorted(needed.items(), key=lambda x: (x[1], x[0]))
    )
    counts.update((x.source, x.datum) for x in transits)
    given = [(home, d.name) for d in graph.data if d.name not in made_at and counts[home, d.name]]
    for memory, datum in (*given, *kept):
        if graph.datum[datum].is_weight and platform.memory_of[memory].keeps_weights:
            counts[memory, datum] += 1  # The datum stays in memory for the next run.
    return Uses(counts, (*given, *kept), transits)
