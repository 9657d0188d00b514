"""The compiled program as its user sees it: run, look at kernels and memory, emit, profile."""

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
from compiler.runtime.works.kernels import KernelInfo
from compiler.targets.target import Target
from compiler.trace import Event, Trace

if TYPE_CHECKING:
    from compiler.ledger import Ledger
    from compiler.machine.machine import Machine
    from compiler.machine.roofline import Prediction
    from compiler.runtime.buckets import Bucket, Buckets
    from compiler.runtime.open.program import OpenProgram
    from compiler.runtime.profile import Profile
    from compiler.runtime.works.launch_order import OrderEffect

# What is asked of a program besides its results is imported when it is asked.

Shapes = Mapping[str, tuple[int, ...]]

MAX_SPECIALIZATIONS = 16
"""Machine code for this many sets of input shapes is kept; the one not used longest goes first."""


MAX_PARAMETER_SETS = 64
"""After more choices of its parameters than this, a program takes them as data."""


@dataclass(frozen=True, slots=True)
class Specialization:
    """Machine code made while running, for shapes the model leaves open and for its parameters."""

    shapes: Shapes
    seconds: float
    because: str
    parameters: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Specialised:
    """What specialising gave, and the elements of inputs that it holds for."""

    built: Built
    parameters: Mapping[str, Array]


Specialise = Callable[[Shapes, Mapping[str, Array]], Specialised]
"""Makes code for input shapes and for the elements of those inputs that are parameters."""


class Program:
    """What `compiler.compile` gives. Running is safe from several threads."""

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
        """What was decided about open sizes and threads, and why."""
        self._built = built
        self._compiled = built
        """What there was before anything ran."""
        self._opened = opened
        self._buckets = buckets
        self._specialise = specialise
        self._portable = portable
        self._cache: OrderedDict[tuple[object, ...], Built] = OrderedDict()
        self._parameters: tuple[str, ...] = ()
        """Inputs whose elements code was made for; found out by specialising."""
        self._n_parameter_sets = 0
        self._lock = Lock()
        self._improving: Thread | None = None
        self.keeping: Thread | None = None
        """Writes the program to disk, for other processes."""
        self._shaped = tuple(v.name for v in graph.inputs if isinstance(v.type, TensorType))
        self._known = KnownShapes(graph.inputs)
        self._direct = self._shortest()

    # Tiers

    def improve(self, make: Callable[[], Built]) -> None:
        """Make better code of the same graph beside the runs, and run that when it is ready."""

        def work() -> None:
            try:
                self._built = make()
                self._direct = self._shortest()
            except Exception as e:  # the code that is there goes on running
                self.notes += (f"no better code was made: {e}",)

        self._improving = Thread(target=work, name="better code", daemon=True)
        self._improving.start()

    def settle(self, timeout_seconds: float | None = None) -> bool:
        """Wait for better code that is being made, and until the program is kept on disk.

        Gives whether no better code is being made any more.
        """
        for thread in (self._improving, self.keeping):
            if thread is not None:
                thread.join(timeout_seconds)
        return not self.is_improving

    @property
    def is_improving(self) -> bool:
        """Whether better code is being made, that will take over."""
        return self._improving is not None and self._improving.is_alive()

    # Looking

    @property
    def graph(self) -> Graph:
        """The graph after all passes: what the kernels compute."""
        return self._built.graph

    @property
    def portable(self) -> Graph:
        """The graph for other runtimes: after all passes whose work is not for our code alone.

        Recurrent layers and loops are whole in it. The passes run again when it is asked for.
        """
        return self.graph if self._portable is None else self._portable()

    @property
    def ledger(self) -> Ledger:
        """Answers what became of a node of the model, and why two of them are not one kernel.

        Errors: E-OPTION-VALUE when the trace was not kept.
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
        """What the passes did; None when it was not kept."""
        return self._built.trace

    @property
    def fixed(self) -> Built | None:
        """The one machine code of a program all of whose sizes are known; None for others."""
        is_one = self._specialise is None and self._opened is None and self._buckets is None
        return self._built if is_one else None

    @property
    def target(self) -> Target:
        """The machine that the code is for."""
        return self._built.target

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The steps of the compilation with their seconds."""
        return self._built.stages

    @property
    def kernels(self) -> tuple[KernelInfo, ...]:
        """Every launch and fallback in order; with open sizes, with the numbers of the last run."""
        return self._opened.kernels if self._opened else self._built.kernels

    @property
    def predictions(self) -> dict[str, Prediction]:
        """By name what each generated kernel needs at least, one behind the other in a run.

        By the speeds of this machine where `doctor --measure` found them and code is for it, else
        by what the target's facts suggest.
        """
        machine = machine_of(self.target)
        return self._predictions(machine, machine.launch_seconds)

    def _predictions(self, machine: Machine, overhead_seconds: float) -> dict[str, Prediction]:
        from compiler.runtime.predict import predictions

        bound = self._opened.last if self._opened else ()
        graph = bound[0].graph if len(bound) == 1 else self.graph
        arena_bytes = self.memory.peak_bytes
        return predictions(self.kernels, graph, arena_bytes, machine, overhead_seconds)

    @property
    def memory(self) -> Plan:
        """The plan of the arena: peak, lower bound and buffers, in bytes; of the last run."""
        return self._opened.plan if self._opened else self._built.plan

    @property
    def order(self) -> Event | None:
        """How the launches were put in order, with the peaks before and after in its words.

        None for a program whose sizes only a run tells.
        """
        return self._built.order

    @property
    def order_effect(self) -> OrderEffect | None:
        """Live bytes by launch and arenas, before and after putting launches in order.

        None as for `order`.
        """
        return self._built.order_effect

    @property
    def limited(self) -> Event | None:
        """What a memory limit made run again, with the bytes saved and the time in its words."""
        return self._built.limited

    @property
    def weight_bytes(self) -> int:
        """Bytes of the packed constants."""
        return self._built.weight_bytes

    @property
    def is_open(self) -> bool:
        """Whether machine code is made only when the shapes of the inputs are known."""
        return self._specialise is not None and self._opened is None

    @property
    def buckets(self) -> tuple[Bucket, ...]:
        """Code made for sizes that were asked for, with what padding up to each one wastes."""
        return self._buckets.buckets if self._buckets else ()

    @property
    def serves_all_sizes(self) -> bool:
        """Whether the code gets its sizes when it runs, and is never made anew for others."""
        return self._opened is not None

    def emit(self, kind: str) -> str | bytes:
        """The program at one level, as text (`object` and `onnx`: bytes).

        `onnx` is a model of `portable`, with fusions as the operators in them.
        Errors: E-OPTION-VALUE for another kind, E-SHAPE-OPEN before a program with open shapes ran,
        E-EXPORT-* for `onnx`.
        """
        from compiler.export import to_onnx
        from compiler.runtime.emit import KINDS, OF_GRAPHS, emit

        if kind not in KINDS:
            raise CompileError(
                "E-OPTION-VALUE", f"nothing is emitted as {kind!r:.40}; kinds: {', '.join(KINDS)}"
            )
        if kind not in OF_GRAPHS and not self._built.is_compiled:
            raise _open_shapes(self.source, f"{kind} code is made for known shapes")
        if kind == "onnx":
            return to_onnx(self.portable)
        built = replace(self._built, plan=self.memory) if self._opened else self._built
        return emit(built, kind)

    # Running

    def _shortest(self) -> DirectCall | None:
        """The short way to the results of a program all of whose sizes are known."""
        executable = self.fixed.executable if self.fixed is not None else None
        return None if executable is None else executable.direct

    def run(self, inputs: Mapping[str, Any], *, limits: Limits | None = None) -> dict[str, Any]:
        """The model's results by name, in graph order.

        With `limits` each kernel is launched by itself, without buckets, and the run ends between
        two launches.
        Errors: E-INPUT-* for inputs that do not fit, E-TARGET-RUN for code of another machine,
        E-RUN-MEMORY, E-LIMIT-* beyond `limits`.
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
                pass  # code for these sizes alone follows
        built = self._for(inputs)
        if built.executable is None:
            raise self._other_machine()
        return run_within(built, built.executable, inputs)

    def _run_apart(self, name: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Run code for these very shapes: all other code takes the sizes of a name as equal."""
        note = f"inputs gave several sizes to {name}: code for known shapes ran"
        self.notes += () if note in self.notes else (note,)
        return self._executable(inputs).run(inputs)

    def _run_open(self, opened: OpenProgram, inputs: Mapping[str, Any]) -> dict[str, Any]:
        if not opened.is_runnable:
            raise self._other_machine()
        try:
            return opened.run(inputs)
        except NotDetermined as e:
            self.notes += (f"code of its own for these inputs: {e}",)
            return self._executable(inputs).run(inputs)

    def _executable(self, inputs: Mapping[str, Any]) -> Executable:
        executable = self._for(inputs).executable
        if executable is None:
            raise self._other_machine()
        return executable

    def _other_machine(self) -> CompileError:
        return CompileError(
            "E-TARGET-RUN",
            f"the program was made for the target {self.target.name}, not for this machine",
        )

    __call__ = run

    def profile(self, inputs: Mapping[str, Any], repeat: int = 10) -> Profile:
        """Seconds per kernel, by name in order: the least of `repeat` runs; medians beside.

        Errors: as `run`; E-OPTION-VALUE for a repeat below 1.
        """
        from compiler.runtime.profile import profile

        if not isinstance(repeat, int) or repeat < 1:
            raise CompileError("E-OPTION-VALUE", f"needed at least 1 repeat, got {repeat!r:.40}")
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
        """The machine code for inputs of these shapes, made now if it is new."""
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
        """Code for these inputs, and whether it takes parameters as data."""
        assert self._specialise is not None, "only programs with something open are specialised"
        start = perf_counter()
        too_many = self._n_parameter_sets >= MAX_PARAMETER_SETS
        given = {} if too_many else {name: np.asarray(inputs[name]) for name in self._shaped}
        made = self._specialise(shapes, given)
        known = made.parameters
        self._parameters += tuple(name for name in known if name not in self._parameters)
        self._n_parameter_sets += bool(known)
        seconds = perf_counter() - start
        if too_many or made.built is not self._compiled:  # else all of them were data
            because = _because(self.source, shapes, known, too_many)
            self.specializations.append(Specialization(shapes, seconds, because, known))
        return made.built, too_many


def _memory_error(e: MemoryError) -> CompileError:
    return CompileError("E-RUN-MEMORY", f"this run needs more memory: {e}")


def _because(graph: Graph, shapes: Shapes, parameters: Mapping[str, Array], too_many: bool) -> str:
    """Why code was made while running, in words."""
    is_open = {v.name for v in graph.inputs if not _is_static(v.type)}
    sizes = [f"{k}={'x'.join(map(str, s))}" for k, s in shapes.items() if k in is_open]
    values = [f"{k}={np.array2string(v, separator=',')}" for k, v in parameters.items()]
    words = [f"first run with {', '.join([*sizes, *values]) or 'these inputs'}"]
    if sizes:
        words.append("the model leaves dimensions open")
    if values:
        words.append("what it computes depends on these elements")
    if too_many:
        words.append(f"parameters are data after {MAX_PARAMETER_SETS} choices of them")
    return "; ".join(words)


def _is_static(t: Type) -> bool:
    return isinstance(t, TensorType) and t.is_static


def _open_shapes(graph: Graph, why: str) -> CompileError:
    inputs = [f"{v.name}: {v.type}" for v in graph.inputs]
    return CompileError("E-SHAPE-OPEN", f"{why}, but the model has {', '.join(inputs)}")
