"""The compiled program as users see it: run, inspect kernels and memory, emit, profile."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from threading import Lock, Thread
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.ir.operator import Array
from compiler.ir.types import TensorType, Type
from compiler.limits import Limits, limited
from compiler.machine.keep import machine_of
from compiler.memory.buffer import Plan
from compiler.reference import check_inputs, sizes_apart
from compiler.runtime.built import Built, Stage
from compiler.runtime.executable import Executable
from compiler.runtime.frame import DirectCall, KnownShapes
from compiler.runtime.open.sizes import NotDetermined
from compiler.runtime.thunks.kernels import KernelInfo
from compiler.targets.target import Target
from compiler.trace import Event, Trace

if TYPE_CHECKING:
    from compiler.ledger import Ledger
    from compiler.machine.machine import Machine
    from compiler.machine.roofline import Prediction
    from compiler.runtime.buckets import Bucket, Buckets
    from compiler.runtime.open.program import OpenProgram
    from compiler.runtime.profile import Profile
    from compiler.runtime.thunks.launch_order import OrderEffect

# Modules that serve requests other than runs are imported on first use.

Shapes = Mapping[str, tuple[int, ...]]

MAX_SPECIALIZATIONS = 16
"""Maximum number of cached specialisations, one per set of input shapes; the least recently used is
evicted."""


MAX_PARAMETER_SETS = 64
"""Maximum number of parameter sets with specialised code; other sets are read at run time."""


@dataclass(frozen=True, slots=True)
class Specialization:
    """Machine code generated at run time, for open shapes and for parameters."""

    shapes: Shapes
    seconds: float
    because: str
    parameters: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Specialised:
    """Specialised code, and the elements of inputs for which the code is valid."""

    built: Built
    parameters: Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class _Predicted:
    """Predictions, and the kernels, graph and other facts from which they follow."""

    kernels: tuple[KernelInfo, ...]
    graph: Graph
    given: tuple[int, Machine, float]
    found: dict[str, Prediction]

    def is_of(
        self, kernels: tuple[KernelInfo, ...], graph: Graph, given: tuple[int, Machine, float]
    ) -> bool:
        """Return whether the predictions follow from these objects and facts."""
        return self.kernels is kernels and self.graph is graph and self.given == given


Specialise = Callable[[Shapes, Mapping[str, Array]], Specialised]
"""Function that compiles code for given input shapes and for given elements of parameter inputs."""


class Program:
    """A compiled program, the result of `compiler.compile`. Concurrent runs are allowed."""

    def __init__(
        self,
        graph: Graph,
        built: Built,
        specialise: Specialise | None,
        opened: OpenProgram | None = None,
        notes: tuple[str, ...] = (),
        buckets: Buckets | None = None,
        portable: Callable[[], Graph] | None = None,
    ) -> None:
        self.source = graph
        self.specializations: list[Specialization] = []
        self.notes = notes
        """Decisions about open sizes and threads, with reasons."""
        self._built = built
        self._compiled = built
        """The code compiled before the first run."""
        self._opened = opened
        self._buckets = buckets
        self._specialise = specialise
        self._portable = portable
        self._cache: OrderedDict[tuple[object, ...], Built] = OrderedDict()
        self._parameters: tuple[str, ...] = ()
        """Inputs whose elements are constants of the code; known after the specialisation."""
        self._n_parameter_sets = 0
        self._predicted: dict[float, _Predicted] = {}
        """The last predictions by overhead: a measurement in batches needs them for each batch."""
        self._lock = Lock()
        self._improving: Thread | None = None
        self.keeping: Thread | None = None
        """The thread that writes the program to the disk cache."""
        self._shaped = tuple(v.name for v in graph.inputs if isinstance(v.type, TensorType))
        self._known = KnownShapes(graph.inputs)
        self._direct = self._shortest()

    # Tiers

    def improve(self, make: Callable[[], Built]) -> None:
        """Compile better code for the same graph in the background, then replace the code."""

        def thunk() -> None:
            try:
                self._built = make()
                self._direct = self._shortest()
            except Exception as e:  # the current code stays in use
                self.notes += (f"compiling better code failed: {e}",)

        self._improving = Thread(target=thunk, name="better code", daemon=True)
        self._improving.start()

    def settle(self, timeout_seconds: float | None = None) -> bool:
        """Wait until better code is compiled and the program is in the disk cache.

        Return False if the timeout expires before the compilation ends.
        """
        for thread in (self._improving, self.keeping):
            if thread is not None:
                thread.join(timeout_seconds)
        return not self.is_improving

    @property
    def is_improving(self) -> bool:
        """Return whether better code, which will replace the current code, is being compiled."""
        return self._improving is not None and self._improving.is_alive()

    # Inspection

    @property
    def graph(self) -> Graph:
        """Return the graph after all passes: the kernels compute this graph."""
        return self._built.graph

    @property
    def portable(self) -> Graph:
        """Return the graph for other runtimes, without the passes for generated code.

        Recurrent layers and loops remain single nodes. Each access runs the passes again.
        """
        return self.graph if self._portable is None else self._portable()

    @property
    def ledger(self) -> Ledger:
        """Return the ledger: the fate of each node of the model, and reasons for separate kernels.

        Errors: E-OPTION-VALUE if no trace was recorded.
        """
        from compiler.ledger import Ledger

        if self.trace is None:
            raise CompileError(
                "E-OPTION-VALUE",
                "the program was compiled without its trace",
                hint="compile with trace=True",
            )
        return Ledger(self.trace)

    @property
    def trace(self) -> Trace | None:
        """Return the trace of the passes; None if it was not recorded."""
        return self._built.trace

    @property
    def fixed(self) -> Built | None:
        """Return the only machine code of a program of known sizes; None for other programs."""
        is_one = self._specialise is None and self._opened is None and self._buckets is None
        return self._built if is_one else None

    @property
    def target(self) -> Target:
        """Return the machine for which the code is generated."""
        return self._built.target

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Return the steps of the compilation with their seconds."""
        return self._built.stages

    @property
    def kernels(self) -> tuple[KernelInfo, ...]:
        """Return launches and fallbacks in order; with open sizes, those of the last run."""
        return self._opened.kernels if self._opened else self._built.kernels

    @property
    def predictions(self) -> dict[str, Prediction]:
        """Return each generated kernel's lower bound of time, by name, for launches in sequence.

        If the code is for this machine and `doctor --measure` measured its speeds, the bounds use
        these speeds. Otherwise, the speeds are estimated from the target's features. With n
        threads, the speeds are those of n cores, or of all cores if the target has fewer.
        """
        machine = machine_of(self.target)
        return self._predictions(machine, machine.launch_seconds)

    def _predictions(self, machine: Machine, overhead_seconds: float) -> dict[str, Prediction]:
        from compiler.runtime.predict import predictions

        bound = self._opened.last if self._opened else ()
        graph = bound[0].sized.graph if len(bound) == 1 else self.graph
        arena_bytes = self.memory.peak_bytes
        cores = machine.of_cores(min(self._built.threads, self.target.n_cores))
        kernels = self.kernels
        given = (arena_bytes, cores, overhead_seconds)
        last = self._predicted.get(overhead_seconds)
        if last is None or not last.is_of(kernels, graph, given):
            found = predictions(kernels, graph, *given)
            last = self._predicted[overhead_seconds] = _Predicted(kernels, graph, given, found)
        return dict(last.found)

    @property
    def memory(self) -> Plan:
        """Return the plan of the last run's arena: peak, lower bound and buffers, in bytes."""
        return self._opened.plan if self._opened else self._built.plan

    @property
    def order(self) -> Event | None:
        """Return the trace event of launch ordering; its text has the peaks before and after.

        Return None for a program whose sizes are known at run time only.
        """
        return self._built.order

    @property
    def order_effect(self) -> OrderEffect | None:
        """Return live bytes by launch, and the arena's size, before and after launch ordering.

        Return None in the same cases as `order`.
        """
        return self._built.order_effect

    @property
    def limited(self) -> Event | None:
        """Return the trace event of recomputation: the bytes saved and the extra time."""
        return self._built.limited

    @property
    def weight_bytes(self) -> int:
        """Return the bytes of the packed constants."""
        return self._built.weight_bytes

    @property
    def is_open(self) -> bool:
        """Return whether machine code is generated only for known input shapes."""
        return self._specialise is not None and self._opened is None

    @property
    def buckets(self) -> tuple[Bucket, ...]:
        """Return the specialised code for requested sizes, with the waste by padding."""
        return self._buckets.buckets if self._buckets else ()

    @property
    def serves_all_sizes(self) -> bool:
        """Return whether the same code runs all sizes."""
        return self._opened is not None

    def emit(self, kind: str) -> str | bytes:
        """Return the program at one level, as text or (for `object` and `onnx`) as bytes.

        `onnx` is the model of the `portable` graph, with fusions expanded to their operators.
        Errors: E-OPTION-VALUE for an unknown kind, E-SHAPE-OPEN for open shapes before a run,
        E-EXPORT-* if ONNX cannot express the graph.
        """
        from compiler.export import to_onnx
        from compiler.runtime.emit import KINDS, OF_GRAPHS, emit

        if kind not in KINDS:
            raise CompileError(
                "E-OPTION-VALUE", f"there is no output {kind!r:.40}; kinds: {', '.join(KINDS)}"
            )
        if kind not in OF_GRAPHS and not self._built.is_compiled:
            raise _open_shapes(self.source, f"{kind} code needs known shapes")
        if kind == "onnx":
            return to_onnx(self.portable)
        built = replace(self._built, plan=self.memory) if self._opened else self._built
        return emit(built, kind)

    # Running

    def _shortest(self) -> DirectCall | None:
        """Return the direct call of a program of known sizes, if possible."""
        executable = self.fixed.executable if self.fixed is not None else None
        return None if executable is None else executable.direct

    def run(self, inputs: Mapping[str, Any], *, limits: Limits | None = None) -> dict[str, Any]:
        """Run the model and return its results by name, in graph order.

        With `limits`, each kernel is launched separately, without buckets, and the run can stop
        between two launches.
        Errors: E-INPUT-* for wrong names, shapes or element types of inputs, E-TARGET-RUN for code
        for another machine, E-RUN-MEMORY, E-LIMIT-* beyond `limits`.
        """
        if limits is not None:
            with limited(limits):
                try:
                    return self._run_within(check_inputs(self.source, inputs))
                except MemoryError as e:
                    raise _memory_error(e) from e
        if self._direct is not None:
            made = self._direct(inputs)
            if made is not None:
                return made
        if not self._known.fit(inputs):
            inputs = check_inputs(self.source, inputs)
            if name := sizes_apart(self.source, inputs):
                return self._run_apart(name, inputs)
            self._known.note(inputs)
        try:
            if self._buckets is not None:
                made = self._buckets.run(inputs)
                if made is not None:
                    return made
            if self._opened is not None:
                return self._run_open(self._opened, inputs)
            return self._executable(inputs).run(inputs)
        except MemoryError as e:
            raise _memory_error(e) from e

    def _run_within(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        from compiler.runtime.within import run_within

        if self._opened is not None and self._opened.is_runnable:
            try:
                return self._opened.run_within(inputs)
            except NotDetermined:
                pass  # the run continues with code specialised for these sizes
        built = self._for(inputs)
        if built.executable is None:
            raise self._other_machine()
        return run_within(built, built.executable, inputs)

    def _run_apart(self, name: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Run specialised code, since code for all sizes assumes one value for each named size."""
        note = f"inputs gave several sizes to {name}: specialised code ran"
        self.notes += () if note in self.notes else (note,)
        return self._executable(inputs).run(inputs)

    def _run_open(self, opened: OpenProgram, inputs: Mapping[str, Any]) -> dict[str, Any]:
        if not opened.is_runnable:
            raise self._other_machine()
        try:
            return opened.run(inputs)
        except NotDetermined as e:
            self.notes += (f"specialised code for these inputs: {e}",)
            return self._executable(inputs).run(inputs)

    def _executable(self, inputs: Mapping[str, Any]) -> Executable:
        executable = self._for(inputs).executable
        if executable is None:
            raise self._other_machine()
        return executable

    def _other_machine(self) -> CompileError:
        return CompileError(
            "E-TARGET-RUN",
            f"the program was compiled for the target {self.target.name}, not for this machine",
        )

    __call__ = run

    def profile(self, inputs: Mapping[str, Any], repeat: int = 10) -> Profile:
        """Return each kernel's minimum and median time over `repeat` runs, by name.

        Errors: those of `run`; E-OPTION-VALUE for a repeat below 1.
        """
        from compiler.runtime.profile import profile

        if not isinstance(repeat, int) or repeat < 1:
            raise CompileError("E-OPTION-VALUE", f"expected at least 1 repeat, got {repeat!r:.40}")
        inputs = check_inputs(self.source, inputs)
        self.run(inputs)
        if self._opened is not None:
            found = self._opened.profile(inputs, repeat)
        else:
            found = profile(self._for(inputs), inputs, repeat)
        machine = machine_of(self.target)
        found.predicted = self._predictions(machine, machine.call_seconds)
        return found

    def _for(self, inputs: Mapping[str, Any]) -> Built:
        """Return the machine code for inputs of these shapes; compile it if necessary."""
        if self._specialise is None:
            return self._built
        shapes = {name: tuple(np.shape(inputs[name])) for name in self._shaped}
        with self._lock:
            key = self._key(shapes, inputs, self._parameters)
            if key not in self._cache and self._n_parameter_sets >= MAX_PARAMETER_SETS:
                key = self._key(shapes, inputs, ())
            found = self._cache.get(key)
            if found is None:
                found, for_all = self._make(shapes, inputs)
                key = self._key(shapes, inputs, () if for_all else self._parameters)
                self._cache[key] = found
                if len(self._cache) > MAX_SPECIALIZATIONS:
                    self._cache.popitem(last=False)
            self._cache.move_to_end(key)
            if self._opened is None:
                self._built = found
            return found

    def _key(
        self, shapes: Shapes, inputs: Mapping[str, Any], parameters: Sequence[str]
    ) -> tuple[object, ...]:
        elements = ((name, np.asarray(inputs[name]).tobytes()) for name in parameters)
        return (*shapes.values(), *elements)

    def _make(self, shapes: Shapes, inputs: Mapping[str, Any]) -> tuple[Built, bool]:
        """Compile for these inputs; return the code, and whether it reads parameters as data."""
        assert self._specialise is not None, "only open programs are specialised"
        start = perf_counter()
        too_many = self._n_parameter_sets >= MAX_PARAMETER_SETS
        given = {} if too_many else {name: np.asarray(inputs[name]) for name in self._shaped}
        made = self._specialise(shapes, given)
        known = made.parameters
        self._parameters += tuple(name for name in known if name not in self._parameters)
        self._n_parameter_sets += bool(known)
        seconds = perf_counter() - start
        if too_many or made.built is not self._compiled:  # otherwise no parameter is a constant
            because = _because(self.source, shapes, known, too_many)
            self.specializations.append(Specialization(shapes, seconds, because, known))
        return made.built, too_many


def _memory_error(e: MemoryError) -> CompileError:
    return CompileError("E-RUN-MEMORY", f"this run needs more memory: {e}")


def _because(graph: Graph, shapes: Shapes, parameters: Mapping[str, Array], too_many: bool) -> str:
    """Describe the reason for code generation at run time."""
    is_open = {v.name for v in graph.inputs if not _is_static(v.type)}
    sizes = [f"{k}={'x'.join(map(str, s))}" for k, s in shapes.items() if k in is_open]
    values = [f"{k}={np.array2string(v, separator=',')}" for k, v in parameters.items()]
    words = [f"first run with {', '.join([*sizes, *values]) or 'these inputs'}"]
    if sizes:
        words.append("the model leaves dimensions open")
    if values:
        words.append("the computation depends on these elements")
    if too_many:
        words.append(f"after {MAX_PARAMETER_SETS} sets of parameters, the code reads them as data")
    return "; ".join(words)


def _is_static(t: Type) -> bool:
    return isinstance(t, TensorType) and t.is_static


def _open_shapes(graph: Graph, why: str) -> CompileError:
    inputs = [f"{v.name}: {v.type}" for v in graph.inputs]
    return CompileError("E-SHAPE-OPEN", f"{why}, but the model has {', '.join(inputs)}")
