"""The result of one compilation for fixed shapes, from the graph to the machine code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from compiler.dataclass import dataclass
from compiler.ir.graph import Graph
from compiler.loops.nodes import Kernel
from compiler.memory.buffer import Plan
from compiler.runtime.executable import Executable
from compiler.runtime.thunks.branches import Section
from compiler.runtime.thunks.kernels import KernelInfo
from compiler.targets.target import Target
from compiler.trace import Event, Trace

if TYPE_CHECKING:
    from compiler.runtime.thunks.launch_order import OrderEffect


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a compilation and its time."""

    name: str
    seconds: float


@dataclass(frozen=True)
class Built:
    """A graph and its compiled form; `functions` has the distinct kernels by symbol.

    `is_compiled` is False for open shapes: then only the graph exists. `beside` describes
    concurrent kernels, and `sections` has their launches. `order` is the trace event of the step
    that orders the launches; the event has the graph before and after the step. `order_effect` is
    the effect of the step on memory. `limited` is the trace event of the step that recomputes
    kernels to meet a memory limit. A run uses `threads` threads.
    """

    graph: Graph
    trace: Trace | None
    target: Target
    stages: tuple[Stage, ...] = ()
    kernels: tuple[KernelInfo, ...] = ()
    plan: Plan = field(default_factory=lambda: Plan(()))
    functions: Mapping[str, Kernel] = field(default_factory=dict)
    launches: Mapping[int, Any] = field(default_factory=dict)
    llvm: str = ""
    weight_bytes: int = 0
    executable: Executable | None = None
    library: Any = None
    is_compiled: bool = False
    beside: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    order: Event | None = None
    order_effect: OrderEffect | None = None
    limited: Event | None = None
    threads: int = 1

    @property
    def seconds(self) -> float:
        """Return the time of the compilation, in seconds."""
        return sum(s.seconds for s in self.stages)
