"""A graph after its passes, of which quantities are computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from compiler.check.feeds import make_feeds
from compiler.check.margins import evaluated
from compiler.dataclass import dataclass
from compiler.ir.graph import Graph
from compiler.ir.operator import Cost
from compiler.passes.engine.cost import graph_cost
from compiler.runtime.preview import Preview, preview
from compiler.targets.target import Target, by_name
from course.kernel_codes import kernel_codes

if TYPE_CHECKING:
    from compiler.runtime.kernel_code import Code

TARGET = "x86-64-v3"
"""The target of deterministic quantities."""


class CompiledProgram(Protocol):
    """The part of a program that compiled quantities read."""

    def emit(self, kind: str) -> Any:
        """Return the program at one level."""


@dataclass
class Subject:
    """A graph after its passes; derived data are computed on demand.

    The inputs of timed runs have the types of the inputs of `fed`, by default those of the source.
    """

    graph: Graph
    options: Mapping[str, Any] = field(default_factory=dict)
    source: Graph | None = None
    fed: Graph | None = None

    @cached_property
    def preview(self) -> Preview:
        """The execution of the graph on the fixed target, in the order that the options name."""
        limit = self.options.get("memory_limit_bytes")
        return preview(self.graph, fixed_target(), self.options.get("order", "best"), limit)

    @cached_property
    def program(self) -> CompiledProgram:
        """The program for the fixed target. Errors: those of compiling."""
        from compiler.cached import compile as compile_program

        options: dict[str, Any] = {**self.options, "target": TARGET}
        return compile_program(self.source or self.graph, **options)

    @cached_property
    def kernel_codes(self) -> Sequence[Code]:
        """The code of each kernel with loops, for the target that the options name."""
        target = by_name(self.options.get("target", TARGET))
        schedules = self.options.get("schedules", {})
        return [*kernel_codes(self.preview.kernels, schedules, target)]

    @cached_property
    def feeds(self) -> Mapping[str, Any]:
        """Random inputs, which are equal for all subjects with the same source."""
        return make_feeds(self.source or self.graph, "normal", 0)

    @cached_property
    def results(self) -> Mapping[str, Any]:
        """The results of the reference on the random inputs."""
        return evaluated(self.graph, self.feeds)

    @cached_property
    def cost(self) -> Cost:
        """The cost of all nodes whose cost is known."""
        return graph_cost(self.graph)[0]


def fixed_target() -> Target:
    """Return the target of deterministic quantities."""
    return by_name(TARGET)
