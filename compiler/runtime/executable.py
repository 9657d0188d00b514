"""A program for fixed shapes: machine code, packed constants, arena, and fallbacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.constant import Array
from compiler.ir.graph import Graph, Node, Result, Value
from compiler.ir.types import TensorType, Type
from compiler.limits import check
from compiler.ops.control_flow.control import Run as RunRegion
from compiler.ops.control_flow.control import by_reference
from compiler.ops.evaluation.meaning import evaluate_node
from compiler.runtime.frame import (
    CopiedOutput,
    DirectCall,
    Entry,
    Frame,
    InputSpec,
    OutputSpec,
    Run,
    Workspaces,
    in_memory,
)
from compiler.runtime.storage import (
    aligned_array,
    physical_view,
    store_logical,
    to_logical,
)
from compiler.runtime.thunks.arrange import Arrangement
from compiler.targets.memory import machine_bytes


@dataclass(frozen=True, slots=True)
class NativeSegment:
    """Adjacent launches in one native call. `kernels` are positions in the program's kernels."""

    entry: Entry
    kernels: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class FallbackSegment:
    """A fallback node, with compiled bodies of its regions if available."""

    node: Node
    kernels: tuple[int, ...]
    bodies: Mapping[str, CompiledBody] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CompiledBody:
    """A region whose nodes run as compiled code; `captured` are its inputs from outer scopes."""

    executable: Executable
    captured: tuple[str, ...]

    def run(self, values: Sequence[Any], outer: Mapping[str, Any]) -> list[Any] | None:
        """Return the results for these inputs; None if the code is for other input types."""
        given: dict[str, Any] = {}
        every = [*values, *(outer[c] for c in self.captured)]
        for v, value in zip(self.executable.graph.inputs, every, strict=True):
            t = v.type
            assert isinstance(t, TensorType), f"{v.name} is {t}"
            array = np.asarray(value)
            if array.dtype != t.dtype.numpy or array.shape != t.static_shape:
                return None
            given[v.name] = array
        return list(self.executable.run(given).values())


Segment = NativeSegment | FallbackSegment


class Executable:
    """Runs a graph whose inputs have fixed shapes. Concurrent calls are allowed."""

    def __init__(
        self,
        graph: Graph,
        arrangement: Arrangement,
        segments: Sequence[Segment],
        constants: Array,
        keep: Any = None,
        spaces: Workspaces | None = None,
    ) -> None:
        self.graph = graph
        self.arrangement = arrangement
        self.segments = tuple(segments)
        self.constants = constants
        self._keep = keep
        """The owner of the machine code of the entry points."""
        self._constants_address = constants.ctypes.data
        specs = tuple(InputSpec.of(v) for v in graph.inputs)
        outputs = _direct_outputs(graph, arrangement)
        copied = [graph.types[result.value] for _, result in arrangement.copied]
        sizes = [t.nbytes for t in copied if isinstance(t, TensorType) and in_memory(t)]
        self.frame = Frame(specs, outputs, arrangement.plan.peak_bytes, spaces, sum(sizes))
        self._names = tuple(r.name for r in graph.results)
        counted = Counter(r.value for r in graph.results)
        self._once = frozenset(value for value, n in counted.items() if n == 1)
        """Values that occur exactly once among the results."""

    @cached_property
    def direct(self) -> DirectCall | None:
        """Return the direct call from inputs to results, if one native call computes everything."""
        if len(self.segments) != 1 or not isinstance(self.segments[0], NativeSegment):
            return None
        if self.frame.needed_bytes > machine_bytes():
            return None
        if any(spec.dtype is None for spec in self.frame.inputs):
            return None
        copied = {position: self._copied(result) for position, result in self.arrangement.copied}
        results: dict[str, OutputSpec | CopiedOutput] = {}
        for position, name in enumerate(self._names):
            spec = self.frame.outputs[position] or copied[position]
            if spec is None:
                return None
            results[name] = spec
        entry = self.segments[0].entry
        return DirectCall(self.frame, entry, self._constants_address, results)

    def _copied(self, result: Result) -> CopiedOutput | None:
        """Return the source of a result that no launch writes; None for results in the arena."""
        t, place = self.graph.types[result.value], self.arrangement.places.get(result.value)
        constant = self.graph.constants.get(result.value)
        if not isinstance(t, TensorType) or not in_memory(t) or not t.layout.is_plain:
            return None
        spec = OutputSpec.of(t)
        if constant is not None:
            return CopiedOutput(spec, lambda inputs, made: constant.array())
        if place is None or place.space == "arena":
            return None
        if place.space == "input":
            source = self.frame.inputs[place.offset].name
            return CopiedOutput(spec, lambda inputs, made: inputs[source])
        source = self._names[place.offset]
        return CopiedOutput(spec, lambda inputs, made: made[source])

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the results by name, in graph order, as new arrays; inputs have checked types."""
        made = None if self.direct is None else self.direct(inputs)
        return self._run(inputs) if made is None else made

    def _run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        run = self.frame.start(inputs)
        try:
            for segment in self.segments:
                if isinstance(segment, NativeSegment):
                    space = run.space
                    segment.entry(
                        space.arena_address,
                        self._constants_address,
                        space.inputs_address,
                        space.outputs_address,
                    )
                else:
                    self._fall_back(segment, run)
            return self._finish(run)
        finally:
            self.frame.spaces.give(run.space)

    def timed(
        self, inputs: Mapping[str, Any], launch: Callable[[int, Run, int], None], n_kernels: int
    ) -> tuple[list[float], dict[str, Any]]:
        """Return each kernel's seconds in one run, and the results; check limits between kernels.

        `launch(kernel, run, constants)` runs a native kernel.
        """
        run = self.frame.start(inputs)
        seconds = [0.0] * n_kernels
        try:
            for segment in self.segments:
                for number in segment.kernels:
                    check("a run")
                    start = perf_counter()
                    if isinstance(segment, NativeSegment):
                        launch(number, run, self._constants_address)
                    else:
                        self._fall_back(segment, run)
                    seconds[number] = perf_counter() - start
            return seconds, self._finish(run)
        finally:
            self.frame.spaces.give(run.space)

    def _finish(self, run: Run) -> dict[str, Any]:
        for position, result in self.arrangement.copied:
            run.outputs[position] = self._copy(run, result)
        return dict(zip(self._names, run.outputs, strict=True))

    def _copy(self, run: Run, result: Result) -> Any:
        constant = self.graph.constants.get(result.value)
        if constant is not None:
            if not in_memory(constant.type):
                return constant.array().copy()
            made = aligned_array(constant.type)
            np.copyto(made, constant.array())
            return made
        t = self.graph.types[result.value]
        made = _shaped(self.value(run, result.value), t)
        return made if result.value in run.kept and result.value in self._once else own(made)

    # Fallbacks

    def value(self, run: Run, name: str) -> Any:
        """Return a value in logical order, possibly a view of memory that later launches reuse."""
        constant = self.graph.constants.get(name)
        if constant is not None:
            return constant.array()
        place = self.arrangement.places.get(name)
        if place is None:
            return self._kept(run, name)
        t = self.graph.types[name]
        assert isinstance(t, TensorType), f"{name} has memory, but the type {t}"
        if place.space == "arena":
            return to_logical(physical_view(run.space.arena, place.offset, t), t)
        held = run.inputs if place.space == "input" else run.outputs
        return _shaped(held[place.offset], t)

    def _kept(self, run: Run, name: str) -> Any:
        for i, spec in enumerate(self.frame.inputs):
            if spec.name == name:
                return run.inputs[i]
        return run.kept[name]

    def by_reference(self, node: Node, run: Run) -> None:
        """Run one node by the reference implementation, even if generated code exists."""
        self._fall_back(FallbackSegment(node, ()), run)

    def _fall_back(self, segment: FallbackSegment, run: Run) -> None:
        node = segment.node
        values = {name: self.value(run, name) for name in dict.fromkeys(node.reads)}
        operands = [values[i] if i else None for i in node.inputs]
        made = evaluate_node(node, operands, values, _runs(segment, values))
        for name, t, value in zip(node.outputs, node.types, made, strict=False):
            if name:
                self._store(run, Value(name, t), value)

    def _store(self, run: Run, value: Value, made: Any) -> None:
        place = self.arrangement.places.get(value.name)
        if place is None:
            # A result of the reference implementation may be a view of an operand, and later
            # launches reuse the operand's memory.
            run.kept[value.name] = own(made)
            return
        t = value.type
        assert isinstance(t, TensorType), f"{value.name} is {t} and has a place"
        array = np.asarray(made)
        if place.space == "output" and self._is_result_only(value.name):
            # A model may state a wrong shape for a result whose elements are correct.
            if array.shape != t.static_shape and array.dtype == t.dtype.numpy:
                run.outputs[place.offset] = own(array)
                return
        _check_made(value, array)
        if place.space == "arena":
            store_logical(array, physical_view(run.space.arena, place.offset, t), t)
        else:
            np.copyto(run.outputs[place.offset].reshape(array.shape), array)

    def _is_result_only(self, name: str) -> bool:
        """Return whether a value occurs once among the program's results and no node reads it."""
        return name in self._once and not self.graph.users.get(name)


def _runs(segment: FallbackSegment, outer: Mapping[str, Any]) -> RunRegion | None:
    """Return the function that runs a control-flow node's regions; None if no code is compiled."""
    if not segment.bodies:
        return None
    otherwise = by_reference(segment.node, outer)

    def run(key: str, values: Sequence[Any]) -> list[Any]:
        body = segment.bodies.get(key)
        made = None if body is None else body.run(values, outer)
        return otherwise(key, values) if made is None else made

    return run


def _shaped(value: Any, t: Type) -> Any:
    """Return an array with the shape of its type; the array of a view has its source's shape."""
    if isinstance(t, TensorType) and in_memory(t) and isinstance(value, np.ndarray):
        return value.reshape(t.static_shape)
    return value


def own(value: Any) -> Any:
    """Return a copy of a value that shares no arrays with other values; lists are copied too."""
    if isinstance(value, np.ndarray):
        return np.array(value, order="C")
    if isinstance(value, list):
        are_maps = {dict}.issuperset(map(type, value))  # maps are never modified
        return value.copy() if are_maps else [own(v) for v in value]
    return value


def _check_made(value: Value, array: Array) -> None:
    t = value.type
    assert isinstance(t, TensorType), f"{value.name} is {t}"
    if array.shape != t.static_shape or array.dtype != t.dtype.numpy:
        raise CompileError(
            "E-GRAPH-TYPE",
            f"{value.name!r} is recorded as {t}, but is {array.dtype}{list(array.shape)} in a run",
            hint="the model states a wrong shape for this value; remove its value_info",
        )


def _direct_outputs(graph: Graph, arrangement: Arrangement) -> tuple[OutputSpec | None, ...]:
    """Return the output specifications; None for results that are copied at the end of a run."""
    copied = {position for position, _ in arrangement.copied}
    found: list[OutputSpec | None] = []
    for position, result in enumerate(graph.results):
        t = graph.types[result.value]
        direct = position not in copied
        assert not direct or isinstance(t, TensorType), f"{result.name} is {t}"
        found.append(OutputSpec.of(t) if direct and isinstance(t, TensorType) else None)
    return tuple(found)
