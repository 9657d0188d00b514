"""What a placement needs in which memory: uses of each datum there, and what has to be brought."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from compiler.dataclass import dataclass
from compiler.place.placement import Placement
from compiler.place.problem import Problem


@dataclass(frozen=True, slots=True)
class Transit:
    """A datum that is needed in another memory than it is in; at `urgency` its first reader was to
    start, in seconds."""

    datum: str
    source: str
    to: str
    urgency: float


@dataclass(frozen=True, slots=True)
class Uses:
    """By memory and datum how often that is used there: by readers, by transfers that leave, and
    by what needs it when the run is over.

    `at_first` has the data and memories where they lie when a run begins, `transits` what is to be
    brought, the most urgent first.
    """

    counts: Mapping[tuple[str, str], int]
    at_first: tuple[tuple[str, str], ...]
    transits: tuple[Transit, ...]


def uses_of(problem: Problem, placement: Placement) -> Uses:
    """What the tasks of a placement use where they are placed."""
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
            counts[memory, datum] += 1  # it stays for the next run
    return Uses(counts, (*given, *kept), transits)
