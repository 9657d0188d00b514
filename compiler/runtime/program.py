"""The compiled program as its user sees it: run, look at kernels and memory, emit, profile."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from time import perf_counter
from typing import Any

import numpy as np

from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.ir.types import TensorType
from compiler.memory.buffer import Plan
from compiler.reference import check_inputs
from compiler.runtime.built import Built, Stage
from compiler.runtime.emit import KINDS, emit
from compiler.runtime.kernels import KernelInfo
from compiler.runtime.profile import Profile, profile
from compiler.targets.target import Target
from compiler.trace import Trace

Shapes = Mapping[str, tuple[int, ...]]

MAX_SPECIALIZATIONS = 16
"""Machine code for this many sets of input shapes is kept; the one not used longest goes first."""


@dataclass(frozen=True, slots=True)
class Specialization:
    """Machine code made while running, because the model leaves dimensions open."""

    shapes: Shapes
    seconds: float
    because: str


class Program:
    """What `compiler.compile` gives. Running is safe from several threads."""

    def __init__(
        self, graph: Graph, built: Built, specialise: Callable[[Shapes], Built] | None
    ) -> None:
        self.source = graph
        self.specializations: list[Specialization] = []
        self._built = built
        self._specialise = specialise
        self._cache: OrderedDict[tuple[tuple[int, ...], ...], Built] = OrderedDict()
        self._lock = Lock()
        self._shaped = tuple(v.name for v in graph.inputs if isinstance(v.type, TensorType))
        self._fast = _FastCheck(graph)

    # Looking

    @property
    def graph(self) -> Graph:
        """The graph after all passes: what the kernels compute."""
        return self._built.graph

    @property
    def trace(self) -> Trace | None:
        """What the passes did; None when it was not kept."""
        return self._built.trace

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
        """Every launch and fallback in order; with open shapes, those of the last run."""
        return self._built.kernels

    @property
    def memory(self) -> Plan:
        """The plan of the arena: peak, lower bound and buffers, in bytes."""
        return self._built.plan

    @property
    def weight_bytes(self) -> int:
        """Bytes of the packed constants."""
        return self._built.weight_bytes

    @property
    def is_open(self) -> bool:
        """Whether machine code is made only when the shapes of the inputs are known."""
        return self._specialise is not None

    def emit(self, kind: str) -> str | bytes:
        """The program at one level, as text (`object`: bytes).

        Errors: E-OPTION-VALUE for another kind, E-SHAPE-OPEN before a program with open shapes ran.
        """
        if kind not in KINDS:
            raise CompileError(
                "E-OPTION-VALUE", f"nothing is emitted as {kind!r:.40}; kinds: {', '.join(KINDS)}"
            )
        if kind != "graph" and not self._built.is_compiled:
            raise _open_shapes(self.source, f"{kind} code is made for known shapes")
        return emit(self._built, kind)

    # Running

    def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The model's results by name, in graph order.

        Errors: E-INPUT-* for inputs that do not fit, E-TARGET-RUN for code of another machine.
        """
        if not self._fast.fits(inputs):
            inputs = check_inputs(self.source, inputs)
        executable = self._for(inputs).executable
        if executable is None:
            raise CompileError(
                "E-TARGET-RUN",
                f"the program was made for the target {self.target.name}, not for this machine",
            )
        try:
            return executable.run(inputs)
        except MemoryError as e:
            raise CompileError("E-RUN-MEMORY", f"this run needs more memory: {e}") from e

    __call__ = run

    def profile(self, inputs: Mapping[str, Any], repeat: int = 10) -> Profile:
        """Seconds per kernel, by name in order: the least of `repeat` runs; medians beside.

        Errors: as `run`; E-OPTION-VALUE for a repeat below 1.
        """
        if not isinstance(repeat, int) or repeat < 1:
            raise CompileError("E-OPTION-VALUE", f"needed at least 1 repeat, got {repeat!r:.40}")
        inputs = check_inputs(self.source, inputs)
        self.run(inputs)
        return profile(self._for(inputs), inputs, repeat)

    def _for(self, inputs: Mapping[str, Any]) -> Built:
        """The machine code for inputs of these shapes, made now if it is new."""
        if self._specialise is None:
            return self._built
        shapes = {name: tuple(np.shape(inputs[name])) for name in self._shaped}
        key = tuple(shapes.values())
        with self._lock:
            found = self._cache.get(key)
            if found is None:
                found = self._make(shapes)
                self._cache[key] = found
                if len(self._cache) > MAX_SPECIALIZATIONS:
                    self._cache.popitem(last=False)
            self._cache.move_to_end(key)
            self._built = found
            return found

    def _make(self, shapes: Shapes) -> Built:
        assert self._specialise is not None, "only programs with open shapes are specialised"
        start = perf_counter()
        built = self._specialise(shapes)
        named = ", ".join(f"{k}={'x'.join(map(str, s))}" for k, s in shapes.items())
        because = f"first run with {named or 'these inputs'}; the model leaves dimensions open"
        self.specializations.append(Specialization(shapes, perf_counter() - start, because))
        return built


def _open_shapes(graph: Graph, why: str) -> CompileError:
    inputs = [f"{v.name}: {v.type}" for v in graph.inputs]
    return CompileError("E-SHAPE-OPEN", f"{why}, but the model has {', '.join(inputs)}")


class _FastCheck:
    """Whether inputs are exactly what the graph asks for; all else goes the long way."""

    def __init__(self, graph: Graph) -> None:
        types = [(v.name, v.type) for v in graph.inputs]
        self._usable = all(isinstance(t, TensorType) and t.is_static for _, t in types)
        self._wanted = tuple(
            (name, t.dtype.numpy, t.static_shape)
            for name, t in types
            if self._usable and isinstance(t, TensorType)
        )

    def fits(self, inputs: Mapping[str, Any]) -> bool:
        """Whether nothing has to be checked or converted."""
        if not self._usable or type(inputs) is not dict or len(inputs) != len(self._wanted):
            return False
        for name, dtype, shape in self._wanted:
            value = inputs.get(name)
            if type(value) is not np.ndarray or value.dtype != dtype or value.shape != shape:
                return False
        return True
