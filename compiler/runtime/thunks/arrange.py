"""The place of each value of a program: arena, packed constants, or the caller's arrays.

Results are written directly into the arrays that `run` returns; inputs are read from the caller's
arrays. All other values of known size are in the arena; values of unknown size are stored by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Literal

from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.graph import Graph, Result
from compiler.ir.types import TensorType
from compiler.memory.buffer import Plan
from compiler.memory.check import check_plan, check_steps
from compiler.memory.in_place import overwritable
from compiler.memory.lifetimes import NOT_SIDE_BY_SIDE, Step, join_lifetimes
from compiler.memory.plan import plan_memory
from compiler.memory.views import Views
from compiler.runtime.frame import in_memory
from compiler.runtime.thunks.regions import RegionPlan, plan_region
from compiler.runtime.thunks.select import (
    CutThunk,
    JoinThunk,
    NativeThunk,
    RegionThunk,
    Thunk,
    Unlaunched,
    ViewThunk,
)

Space = Literal["arena", "input", "output"]


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a value: a byte offset in the arena, or the number of an input or output."""

    space: Space
    offset: int


@dataclass(frozen=True)
class Arrangement:
    """The places of a program's values, and the arena's plan.

    `copied` lists the results that `run` copies at the end (position, value). `scratch` has the
    arena offsets of temporaries, by launch number and parameter. `regions` has the memory layout of
    each launch with regions. Such a launch has a temporary named REGION, which contains all its
    memory.
    """

    places: Mapping[str, Place]
    views: Views
    plan: Plan
    copied: tuple[tuple[int, Result], ...]
    scratch: Mapping[tuple[int, str], int] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    regions: Mapping[int, RegionPlan] = field(default_factory=dict)


REGION = "region"
"""The name of the temporary that contains all memory of a launch with regions."""


Overwritable = Mapping[str, tuple[str, ...]]
"""For each output of a kernel, the inputs that it may overwrite."""


@dataclass(frozen=True)
class Needs:
    """The arena requirements of a program's launches, in order, before planning.

    `steps` has one step per launch, with the launch's values in the arena. `late` has the values
    copied at the end of a run. `outside` has the places outside the arena: inputs, and results
    written to the caller's arrays.
    """

    steps: tuple[Step, ...]
    sizes: Mapping[str, int]
    views: Views
    late: tuple[str, ...]
    outside: Mapping[str, Place]
    copied: tuple[tuple[int, Result], ...]
    regions: Mapping[int, RegionPlan]

    def in_order(self, order: Sequence[int]) -> Needs:
        """Return the requirements for the launches in another order."""
        steps = tuple(_numbered(self.steps[old], new) for new, old in enumerate(order))
        regions = {new: self.regions[old] for new, old in enumerate(order) if old in self.regions}
        return replace(self, steps=steps, regions=regions)


def _numbered(step: Step, number: int) -> Step:
    """Return a step with temporaries renamed for another step number."""
    scratch = {f"{number}:{name.partition(':')[2]}": n for name, n in step.scratch.items()}
    return replace(step, scratch=scratch)


def needed(
    graph: Graph, thunks: Sequence[Thunk], overwritten: dict[int, Overwritable] | None = None
) -> Needs:
    """Return the arena requirements of launches.

    `overwritten` is a cache of the overwritable operands of kernels, by identity of the kernel.
    """
    views = views_of(thunks)
    launches = [w for w in thunks if not isinstance(w, Unlaunched)]
    outside = {v.name: Place("input", i) for i, v in enumerate(graph.inputs) if in_memory(v.type)}
    hosted, copied = _results(graph, launches, views)
    outside.update(hosted)
    known = {} if overwritten is None else overwritten
    regions = {
        number: plan_region(w, graph, lambda body: arrange(body.graph, body.thunks, known))
        for number, w in enumerate(launches)
        if isinstance(w, RegionThunk)
    }
    steps = [_step(number, w, views, known, regions) for number, w in enumerate(launches)]
    sizes = {
        v.name: v.type.nbytes
        for w in launches
        for v in w.node.values()
        if v.name not in outside and isinstance(v.type, TensorType) and in_memory(v.type)
    }
    late = dict.fromkeys(r.value for _, r in copied if views.below(r.value) in sizes)
    steps = tuple(_without(step, sizes, views) for step in steps)
    return Needs(steps, sizes, views, tuple(late), outside, tuple(copied), regions)


def views_of(thunks: Sequence[Thunk]) -> Views:
    """Return the values that no launch writes and that use the memory of other values."""
    return Views(
        {w.node.output: w.source for w in thunks if isinstance(w, ViewThunk)},
        {name: span for w in thunks if isinstance(w, CutThunk) for name, span in w.cuts.items()},
        {w.node.output: w.parts for w in thunks if isinstance(w, JoinThunk)},
    )


def arrange(
    graph: Graph, thunks: Sequence[Thunk], overwritten: dict[int, Overwritable] | None = None
) -> Arrangement:
    """Place each value for launches that run sequentially, in the listed order."""
    return placed(needed(graph, thunks, overwritten))


def placed(needs: Needs, until: Mapping[int, int] = NOT_SIDE_BY_SIDE) -> Arrangement:
    """Place each value. An independent checker verifies the plan.

    For a launch n, `until[n]` is the last launch that may start before launch n ends. Only launches
    that run concurrently with later launches have an entry.
    """
    sizes, views = needs.sizes, needs.views
    steps = [*needs.steps, Step(reads=needs.late)]
    lifetimes = join_lifetimes(steps, sizes, views, until=until)
    plan = plan_memory(lifetimes.buffers)
    places = {
        v: Place("arena", plan.offset_of(home) + lifetimes.starts.get(v, 0))
        for v, home in lifetimes.homes.items()
    }
    by_value = {v: (place.offset, views.size_in(v, sizes)) for v, place in places.items()}
    places.update(needs.outside)
    places.update({v: places[r] for v in views.shown if (r := views.below(v)) in places})
    scratch = {
        (number, name.partition(":")[2]): plan.offset_of(name)
        for number, step in enumerate(steps)
        for name in step.scratch
    }
    _check(plan, steps, by_value, views)
    return Arrangement(places, views, plan, needs.copied, scratch, tuple(steps), needs.regions)


def _results(
    graph: Graph, launches: Sequence[Thunk], views: Views
) -> tuple[dict[str, Place], list[tuple[int, Result]]]:
    """Return places of values written directly to output arrays, and results copied at the end."""
    made = {v.name: v.type for w in launches for v in w.node.values()}
    hosted: dict[str, Place] = {}
    copied: list[tuple[int, Result]] = []
    for position, result in enumerate(graph.results):
        root = views.below(result.value)
        t = made.get(root)
        direct = isinstance(t, TensorType) and in_memory(t) and t.layout.is_plain
        if direct and root not in hosted:
            hosted[root] = Place("output", position)
        else:
            copied.append((position, result))
    return hosted, copied


def _step(
    number: int,
    thunk: Thunk,
    views: Views,
    known: dict[int, Overwritable],
    regions: Mapping[int, RegionPlan],
) -> Step:
    node = thunk.node
    if isinstance(thunk, RegionThunk):
        written = tuple(filter(None, node.outputs))
        return Step(thunk.operands, written, {f"{number}:{REGION}": regions[number].nbytes})
    if not isinstance(thunk, NativeThunk):
        return Step(reads=node.reads, writes=tuple(filter(None, node.outputs)))
    kernel = thunk.scheduled.kernel
    values = {**thunk.lowered.operands, **thunk.lowered.results}
    read = [p.name for p in kernel.params if p.role == "input"]
    scratch = {
        f"{number}:{p.name}": int(affine.substitute(p.nbytes, thunk.sizes))
        for p in kernel.params
        if p.role == "temporary"
    }
    if id(kernel) not in known:
        known[id(kernel)] = overwritable(kernel)
    over = {
        values[y]: tuple(
            values[x]
            for x in safe
            # If another parameter of the kernel uses the same memory, the memory must be preserved.
            if not views.meets(values[x], (values[other] for other in read if other not in safe))
        )
        for y, safe in known[id(kernel)].items()
    }
    writes = tuple(values[p.name] for p in kernel.params if p.role == "output")
    return Step(tuple(values[x] for x in read), writes, scratch, over)


def _without(step: Step, sizes: Mapping[str, int], views: Views) -> Step:
    """Return the step restricted to values in the arena."""
    reads = tuple(
        dict.fromkeys(r for r in step.reads if not sizes.keys().isdisjoint(views.roots(r)))
    )
    return Step(
        reads, tuple(w for w in step.writes if w in sizes), step.scratch, step.may_overwrite
    )


def _check(
    plan: Plan, steps: Sequence[Step], by_value: dict[str, tuple[int, int]], views: Views
) -> None:
    for step in steps:
        by_value.update((s, (plan.offset_of(s), n)) for s, n in step.scratch.items())
    faults = [*check_plan(plan), *check_steps(steps, by_value, views)]
    assert not faults, "the memory plan is wrong: " + "; ".join(map(str, faults[:5]))
