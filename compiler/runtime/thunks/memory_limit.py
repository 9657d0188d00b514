"""Reduction of a program's memory to a limit, by another order or else by recomputing kernels.

The graph gets additional nodes, which are copies of existing nodes with other value names. Later
steps of the compilation therefore need no changes. Results are bitwise identical, since equal
kernels share one function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from time import perf_counter

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.graph import Graph, Node
from compiler.machine.keep import machine_of
from compiler.machine.roofline import predicted
from compiler.memory.orders import Tasks
from compiler.memory.remat import Repeated, cheapest, least, recompute, squeezed
from compiler.runtime.thunks.arrange import Needs, needed
from compiler.runtime.thunks.kernels import kernel_infos
from compiler.runtime.thunks.launch_order import LaunchOrder, launch_tasks, ordered_launches
from compiler.runtime.thunks.native import Launchable
from compiler.runtime.thunks.select import NativeThunk, Thunk, Unlaunched, inner_thunks
from compiler.runtime.thunks.shared import sharing
from compiler.targets.target import Target
from compiler.trace import Event

MARGINS = (1.0, 0.97, 0.9)
"""Targets for the live bytes, as fractions of the limit: gaps between offsets need space too."""

Select = Callable[[Graph], list[Thunk]]
"""Function that selects the implementation of each node of a graph."""


@dataclass(frozen=True, slots=True)
class Limited:
    """A graph whose program is within a memory limit, and the event for the trace."""

    graph: Graph
    thunks: list[Thunk]
    event: Event


def within_limit(
    graph: Graph, thunks: list[Thunk], limit_bytes: int, target: Target, order: str, select: Select
) -> Limited:
    """Add copies of nodes until the arena is within the limit.

    Errors: E-LIMIT-ARENA, which states the smallest arena found: a feasible limit.
    """
    start = perf_counter()
    fitting = _fitting(graph, thunks, limit_bytes, order)
    given = fitting.peak_bytes
    if given <= limit_bytes:
        words = f"{given} bytes are within the limit of {limit_bytes}: nothing is recomputed"
        return Limited(graph, fitting.thunks, Event("memory limit", graph, graph, 0.0, words=words))
    first = _ordered(graph, thunks, order)
    program = _Program.of(graph, list(first.thunks), target)
    search = _Search(program, order, select)
    made = search.within(limit_bytes) or search.smallest(given)
    if made is None or made.peak_bytes > limit_bytes:
        smallest = given if made is None else made.peak_bytes
        raise CompileError(
            "E-LIMIT-ARENA",
            f"the limit is {limit_bytes} bytes, but the smallest arena found has {smallest} bytes",
            notes=(f"without recomputed kernels, the arena has {given} bytes",),
        )
    words = program.words(made.found, given, made.peak_bytes, limit_bytes)
    event = Event("memory limit", graph, made.graph, perf_counter() - start, words=words)
    return Limited(made.graph, made.thunks, event)


@dataclass(frozen=True, slots=True)
class _Made:
    """A sequence of task runs, its graph with copies of nodes, implementations, and arena size."""

    found: Repeated
    graph: Graph
    thunks: list[Thunk]
    peak_bytes: int


@dataclass(frozen=True, slots=True)
class _Search:
    """A search for task runs within a memory limit; results do not depend on earlier searches."""

    program: _Program
    order: str
    select: Select

    def within(self, limit_bytes: int) -> _Made | None:
        """Return task runs with an arena within a limit, or None if the search finds none."""
        for found in self.program.ways(limit_bytes):
            made = self._made(found, limit_bytes)
            if made.peak_bytes <= limit_bytes:
                return made
        return None

    def smallest(self, given: int) -> _Made | None:
        """Return the runs with the smallest arena found; None if no arena is smaller than `given`.

        A search within a high limit can find a smaller arena than a search within a low limit.
        """
        lowest = [self._made(found, 0) for found in self.program.lowest[-2:]]
        smallest = min(lowest, key=lambda made: made.peak_bytes, default=None)
        if smallest is not None and smallest.peak_bytes >= given:
            smallest = None
        while True:
            least = given if smallest is None else smallest.peak_bytes
            lower = self.within(least - 1)
            if lower is None:
                return smallest
            smallest = lower

    def _made(self, found: Repeated, limit_bytes: int) -> _Made:
        again = self.program.with_again(found)
        fitting = _fitting(again, self.select(again), limit_bytes, self.order)
        return _Made(found, again, fitting.thunks, fitting.peak_bytes)


@dataclass(frozen=True, slots=True)
class _Fitting:
    """Implementations, and the size in bytes of their arena in the best order."""

    thunks: list[Thunk]
    peak_bytes: int


def _fitting(graph: Graph, thunks: list[Thunk], limit_bytes: int, order: str) -> _Fitting:
    """Return implementations without copies for concats, or with copies to fit the limit.

    If both variants exceed the limit, the variant with the smaller arena is returned.
    """
    found: list[_Fitting] = []
    for made in (sharing(graph, thunks, order), thunks):
        found.append(_Fitting(made, _ordered(graph, made, order).arrangement.plan.peak_bytes))
        if found[-1].peak_bytes <= limit_bytes:
            return found[-1]
    return min(found, key=lambda f: f.peak_bytes)


def _ordered(graph: Graph, thunks: Sequence[Thunk], order: str) -> LaunchOrder:
    return ordered_launches(thunks, needed(graph, thunks), (), order)


@dataclass(frozen=True)
class _Program:
    """Implementations in order, with the cost of recomputing each launch.

    `allowed` has the launches that may be recomputed. These launches run generated code. All their
    results are in the arena, and none is a result of the program. Units: seconds.
    """

    graph: Graph
    thunks: list[Thunk]
    needs: Needs
    tasks: Tasks
    seconds: list[float]
    allowed: frozenset[int]

    @staticmethod
    def of(graph: Graph, thunks: list[Thunk], target: Target) -> _Program:
        needs = needed(graph, thunks)
        launches = [w for w in thunks if not isinstance(w, Unlaunched)]
        tasks = launch_tasks(launches, [(n,) for n in range(len(launches))], needs)
        names = list(needs.sizes)
        again = needs.sizes.keys() - {names[v] for v in tasks.kept}
        allowed = frozenset(
            number
            for number, w in enumerate(launches)
            if isinstance(w, NativeThunk) and again.issuperset(filter(None, w.node.outputs))
        )
        seconds = _seconds(launches, graph, target)
        return _Program(graph, thunks, needs, tasks, seconds, allowed)

    @property
    def _costs(self) -> tuple[Tasks, list[float]]:
        return self.tasks, self.seconds

    @property
    def launches(self) -> list[Launchable]:
        return [w for w in self.thunks if not isinstance(w, Unlaunched)]

    def ways(self, limit_bytes: int) -> Iterator[Repeated]:
        """Yield task runs whose live bytes are within the limit, the fastest first."""
        for margin in MARGINS:
            wanted = int(margin * limit_bytes)
            exact = cheapest(*self._costs, wanted, self.allowed)
            if exact is not None:
                yield exact
            found = recompute(*self._costs, wanted, self.allowed)
            if found.peak_bytes <= wanted:
                yield found
        yield from (low for low in self.lowest if low.peak_bytes <= limit_bytes)

    @cached_property
    def lowest(self) -> tuple[Repeated, ...]:
        """Return task runs with decreasing peaks of live bytes, independent of the limit."""
        exact = least(*self._costs, self.allowed)
        return (*squeezed(*self._costs, self.allowed), *([] if exact is None else [exact]))

    def words(self, found: Repeated, given: int, peak: int, limit_bytes: int) -> str:
        """Describe the recomputed kernels, the bytes saved, and the extra time."""
        again = [found.origins[place] for place in found.again]
        launches = self.launches
        names = ", ".join(launches[n].node.output for n in again)
        seconds = sum(self.seconds[n] for n in again)
        kernels = "1 kernel is" if len(again) == 1 else f"{len(again)} kernels are"
        what = f"{kernels} recomputed ({names})" if again else "nothing is recomputed"
        return (
            f"{what}: an arena of {peak} bytes instead of {given} ({given - peak} bytes less), "
            f"within the limit of {limit_bytes}; predicted extra time {seconds * 1e3:.3g} ms"
        )

    def with_again(self, found: Repeated) -> Graph:
        """Return the graph with a node for each repeated run."""
        return replace(self.graph, nodes=tuple(_Nodes(self, found).listed()))


def _seconds(launches: Sequence[Launchable], graph: Graph, target: Target) -> list[float]:
    """Return lower bounds of the times of launches, if all operands are in main memory."""
    nameless = {id(w.scheduled.kernel): "" for w in inner_thunks(launches)}
    machine = machine_of(target)
    infos = kernel_infos(launches, graph, {}, {}, nameless)[: len(launches)]
    return [
        predicted(
            k.flops, {"DRAM": k.bytes_read + k.bytes_written}, machine, machine.launch_seconds
        ).seconds
        for k in infos
    ]


class _Nodes:
    """Generates the nodes of a program in which some launches are repeated."""

    def __init__(self, program: _Program, found: Repeated) -> None:
        self.program, self.found = program, found
        self.views = program.needs.views
        sizes = list(program.needs.sizes)
        self.number = {name: v for v, name in enumerate(sizes)}
        taken = set(program.graph.types)
        self.names = list(sizes)
        for v in range(len(sizes), len(found.values)):
            self.names.append(_free(sizes[found.values[v]], taken))
        self.taken = taken
        self.producers = program.graph.producers
        self.shown: dict[tuple[str, int], str] = {}
        """Views of recomputed values."""

    def listed(self) -> Iterator[Node]:
        """Yield all nodes in order: launches, repeated runs, and views after their sources."""
        launches = self.program.launches
        behind = _views_behind(self.program.thunks)
        yield from behind[-1]
        seen: set[int] = set()
        for place, origin in enumerate(self.found.origins):
            node = launches[origin].node
            rename: dict[str, str] = {}
            for name in dict.fromkeys(node.reads):
                yield from self._read(name, place, rename)
            node = node.with_inputs(rename) if rename else node
            if origin in seen:
                yield self._again(node, place)
                continue
            seen.add(origin)
            yield node
            yield from behind[origin]

    def _again(self, node: Node, place: int) -> Node:
        tasks = self.found.tasks
        made = {self.found.values[v]: self.names[v] for v in tasks.writes[place]}
        outputs = tuple(o and made[self.number[o]] for o in node.outputs)
        return replace(node, outputs=outputs)

    def _read(self, name: str, place: int, rename: dict[str, str]) -> Iterator[Node]:
        """Yield the views through which a task reads a recomputed value; add names to `rename`."""
        given = self.number.get(self.views.below(name))
        if given is None:
            return
        tasks, values = self.found.tasks, self.found.values
        value = next(v for v in tasks.reads[place] if values[v] == given)
        if value != given:
            yield from self._show(name, value)
            rename[name] = self.shown.get((name, value), self.names[value])

    def _show(self, name: str, value: int) -> Iterator[Node]:
        if name not in self.views.shown or (name, value) in self.shown:
            return
        source = self.views.shown[name]
        yield from self._show(source, value)
        node = self.producers[name]
        new = self.shown[name, value] = _free(name, self.taken)
        rename = {source: self.shown.get((source, value), self.names[value])}
        yield replace(node.with_inputs(rename), outputs=(new,))


def _views_behind(thunks: Sequence[Thunk]) -> dict[int, list[Node]]:
    """Return the views after each launch, by launch number; -1 is before all launches."""
    found: dict[int, list[Node]] = {-1: []}
    number = -1
    for w in thunks:
        if isinstance(w, Unlaunched):
            found[number].append(w.node)
        else:
            number += 1
            found[number] = []
    return found


def _free(name: str, taken: set[str]) -> str:
    number = 1
    while f"{name}.again{number}" in taken:
        number += 1
    taken.add(made := f"{name}.again{number}")
    return made
