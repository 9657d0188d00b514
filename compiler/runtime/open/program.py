"""One program for all sizes: its compiled form, and the sizes of a run.

Machine code is generated once. A run reads the sizes from its inputs and plans the arena for them;
plans are cached. The code receives a table of offsets and sizes. If a size depends on data, the
program has several parts. The reference implementation runs the node that determines the size; the
next part then starts with this size.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from threading import Lock
from time import perf_counter
from typing import Any

import numpy as np

from compiler.codegen.jit import Library
from compiler.codegen.module import Launch
from compiler.dataclass import dataclass
from compiler.ir.graph import Graph
from compiler.ir.types import TensorType
from compiler.limits import check
from compiler.memory.buffer import Plan
from compiler.runtime.built import Built
from compiler.runtime.executable import Executable, own
from compiler.runtime.open.between import HostStep, host_step
from compiler.runtime.open.cut import HostNode
from compiler.runtime.open.infos import host_info, joined_infos, joined_plans, part_infos
from compiler.runtime.open.part import OpenEntry, OpenPart, Sized
from compiler.runtime.open.rounds import Rounds, runs_in_rounds
from compiler.runtime.open.rowwise import is_rowwise
from compiler.runtime.open.sizes import (
    NotDetermined,
    SizePlace,
    inferred_sizes,
    size_places,
)
from compiler.runtime.profile import Profile, launchers
from compiler.runtime.thunks.kernels import KernelInfo
from compiler.runtime.thunks.native import Functions
from compiler.runtime.within import check_launches, stoppable
from compiler.targets.options import CodeOptions

MAX_PLANS = 64
"""Capacity of the cache of plans, one per set of sizes; least recently used plans are evicted."""

Step = OpenPart | HostNode


@dataclass(frozen=True)
class Bound:
    """A part with its sizes, its calls, and its executable."""

    part: OpenPart
    sized: Sized
    launches: Mapping[int, Launch]
    executable: Executable
    library: Library

    @property
    def plan(self) -> Plan:
        """Return the plan of the arena."""
        return self.sized.arrangement.plan

    @property
    def n_launches(self) -> int:
        """Return the number of launches and fallbacks."""
        return len(self.part.launched)

    def timed(self, inputs: Mapping[str, Any]) -> tuple[list[float], dict[str, Any]]:
        """Return the seconds of each launch in one run, and the results of the run."""
        calls = launchers(self.library, self.launches)
        return self.executable.timed(
            inputs, lambda n, run, constants: calls[n](run, constants), self.n_launches
        )

    def timed_within(
        self, infos: Sequence[KernelInfo], inputs: Mapping[str, Any]
    ) -> tuple[list[float], dict[str, Any]]:
        """Return the seconds of each launch, and the results, under the caller's limits."""
        launch = stoppable(self.executable, infos, self.library, self.launches)
        return self.executable.timed(inputs, launch, self.n_launches)


@dataclass
class OpenProgram:
    """Code for open sizes, with the state of its runs. Concurrent runs are allowed.

    `entries` has the code of each part's groups of launches. `inferred` has the symbols that type
    rules derive from the inputs' sizes.
    """

    graph: Graph
    steps: Sequence[Step]
    built: Built
    options: CodeOptions = field(default_factory=CodeOptions)
    library: Library | None = None
    entries: Sequence[Sequence[tuple[OpenEntry | None, tuple[int, ...]]]] = ()
    constants: Any = None
    functions: Functions = field(default_factory=lambda: Functions({}, {}, {}))
    inferred: frozenset[str] = frozenset()
    last: list[Bound] = field(default_factory=list)
    _plans: OrderedDict[tuple[object, ...], Bound] = field(default_factory=OrderedDict)
    _inferred: OrderedDict[tuple[object, ...], Mapping[str, int]] = field(
        default_factory=OrderedDict
    )
    _lock: Lock = field(default_factory=Lock)

    @property
    def is_runnable(self) -> bool:
        """Return whether the code is for this machine."""
        return self.library is not None

    @property
    def plan(self) -> Plan:
        """Return the concatenated arenas of all parts, for the last run's sizes or sample sizes."""
        return joined_plans([b.plan for b in self.last]) if self.last else self.built.plan

    @property
    def kernels(self) -> tuple[KernelInfo, ...]:
        """Return launches and fallbacks, with the last run's sizes or sample sizes."""
        bounds = iter(self.last)
        if not self.last:
            return self.built.kernels
        return joined_infos(
            host_info(s.node, self._rounds.get(s.node.output))
            if isinstance(s, HostNode)
            else self._infos(next(bounds))
            for s in self.steps
        )

    def _infos(self, b: Bound) -> tuple[KernelInfo, ...]:
        return part_infos(b.part, b.sized, self.built.launches, self.functions)

    def is_rowwise(self, symbol: str) -> bool:
        """Return whether row i of results depends only on row i of inputs; `symbol` counts rows."""
        if len(self.steps) != 1 or not isinstance(self.steps[0], OpenPart):
            return False
        return is_rowwise(self.graph, self.steps[0].thunks, symbol)

    def profile(self, inputs: Mapping[str, Any], repeat: int) -> Profile:
        """Profile the program as `Program.profile` does."""
        runs = []
        for _ in range(repeat):
            seconds: list[float] = []
            self._run_steps(inputs, dict(self.sizes(inputs)), seconds)
            runs.append(seconds)
        return Profile(tuple(k.name for k in self.kernels if not k.inside), runs)

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the results by name, in graph order. Errors: as `Program.run`."""
        sizes = self.sizes(inputs)
        if len(self.steps) == 1 and isinstance(self.steps[0], OpenPart):
            bound = self.bound(0, sizes)
            self.last = [bound]
            return bound.executable.run(inputs)
        return self._run_steps(inputs, dict(sizes))

    def run_within(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Run launch by launch under the caller's limits. Errors: E-LIMIT-SECONDS."""
        return self._run_steps(inputs, dict(self.sizes(inputs)), [], within=True)

    def _within(self, b: Bound, inputs: Mapping[str, Any]) -> tuple[list[float], dict[str, Any]]:
        infos = self._infos(b)
        built, graph = self.built, b.sized.graph
        check_launches(infos, graph, b.plan.peak_bytes, built.target, built.threads)
        return b.timed_within(infos, inputs)

    def sizes(self, inputs: Mapping[str, Any]) -> Mapping[str, int]:
        """Return the value of each symbol that the input shapes determine."""
        found = {symbol: inputs[name].shape[axis] for symbol, name, axis in self._places}
        if not self.inferred:
            return found
        key = tuple(found.values())
        known = self._inferred.get(key)
        if known is None:
            shapes = {
                v.name: np.shape(inputs[v.name])
                for v in self.graph.inputs
                if isinstance(v.type, TensorType)
            }
            known = {**found, **inferred_sizes(self.graph, shapes)}
            missing = self.inferred - known.keys()
            if missing:
                raise NotDetermined(f"these inputs do not determine {', '.join(sorted(missing))}")
            self._inferred[key] = known
            if len(self._inferred) > MAX_PLANS:
                self._inferred.popitem(last=False)
        return known

    @cached_property
    def _places(self) -> tuple[SizePlace, ...]:
        return size_places(self.graph)

    def _run_steps(
        self,
        inputs: Mapping[str, Any],
        sizes: dict[str, int],
        seconds: list[float] | None = None,
        within: bool = False,
    ) -> dict[str, Any]:
        values: dict[str, Any] = dict(inputs)
        bounds: list[Bound] = []
        for number, step in enumerate(self._prepared):
            if isinstance(step, OpenPart):
                bound = self.bound(number, sizes)
                bounds.append(bound)
                given = {name: values[outer] for name, outer in step.reads}
                if seconds is None:
                    made = bound.executable.run(given)
                else:
                    times, made = (self._within if within else Bound.timed)(bound, given)
                    seconds += times
                values.update((value, made[name]) for value, name in step.gives)
                continue
            start = perf_counter()
            check("a run")
            step(values, sizes)
            if seconds is not None:
                seconds.append(perf_counter() - start)
        self.last = bounds
        fresh, constants = self._fresh, self.graph.constants
        return {
            r.name: values[r.value]
            if r.value in fresh
            else own(constants[r.value].array() if r.value in constants else values[r.value])
            for r in self.graph.results
        }

    @cached_property
    def _prepared(self) -> tuple[OpenPart | HostStep, ...]:
        """Return the prepared steps."""
        graph = self.graph
        return tuple(
            host_step(s.node, graph, self._rounds.get(s.node.output))
            if isinstance(s, HostNode)
            else s
            for s in self.steps
        )

    @cached_property
    def _rounds(self) -> Mapping[str, Rounds]:
        """Return the runners of loops whose end depends on data, by the loop's first output."""
        nodes = (s.node for s in self.steps if isinstance(s, HostNode) and runs_in_rounds(s.node))
        return {n.output: Rounds(n, self.graph.constants, self.options) for n in nodes}

    @cached_property
    def _fresh(self) -> frozenset[str]:
        """Return parts' results that need no copy: each is exactly one result of the program."""
        made = {r.value for s in self.steps if isinstance(s, OpenPart) for r in s.graph.results}
        results = [r.value for r in self.graph.results]
        return frozenset(v for v in made if results.count(v) == 1)

    def bound(self, number: int, sizes: Mapping[str, int]) -> Bound:
        """Return a part bound to these sizes, with a cached plan if possible."""
        part = self.steps[number]
        assert isinstance(part, OpenPart), f"step {number} is not a part"
        key = (number, *sizes.values())
        with self._lock:
            found = self._plans.get(key)
            if found is None:
                found = self._plans[key] = self._bind(part, number, sizes)
                if len(self._plans) > MAX_PLANS:
                    self._plans.popitem(last=False)
            self._plans.move_to_end(key)
            return found

    def _bind(self, part: OpenPart, number: int, sizes: Mapping[str, int]) -> Bound:
        assert self.library is not None, "the code is for another machine"
        sized = part.fitted(dict(sizes))
        table = part.table(sized)
        calls = part.numbered(self.built.launches, table)
        executable = part.executable(
            sized, table, self.entries[number], self.constants, self.library
        )
        return Bound(part, sized, calls, executable, self.library)
