"""All that one compilation for fixed shapes made, from the graph to the machine code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from compiler.dataclass import dataclass
from compiler.ir.graph import Graph
from compiler.loops.nodes import Kernel
from compiler.memory.buffer import Plan
from compiler.runtime.executable import Executable
from compiler.runtime.works.branches import Section
from compiler.runtime.works.kernels import KernelInfo
from compiler.targets.target import Target
from compiler.trace import Event, Trace

if TYPE_CHECKING:
    from compiler.runtime.works.launch_order import OrderEffect


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a compilation and how long it took."""

    name: str
    seconds: float


@dataclass(frozen=True)
class Built:
    """A graph with everything made of it. `functions` are the different kernels by symbol.

    `is_compiled` is False where the shapes are still open: then only the graph is there. `beside`
    says which kernels run side by side, and `sections` which launches those are. `order` tells how
    launches were put in order, with the graph before and after, `order_effect` what that does to
    memory, and `limited` what a memory limit made run again.
    A run uses so many `threads`.
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
        """How long the compilation took."""
        return sum(s.seconds for s in self.stages)
