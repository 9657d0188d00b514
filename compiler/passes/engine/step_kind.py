"""Kinds of rewrites that a graph pass records, each with an executed example and near miss."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping
from typing import Any

from compiler.dataclass import dataclass
from compiler.ir.graph import Graph
from compiler.ir.text import parse_graph
from compiler.ir.verify import verify
from compiler.passes.engine.rule import example_graphs


@dataclass(frozen=True, slots=True, eq=False)
class StepKind:
    """A kind of rewrite of a graph pass: the counterpart of a rule in a rules pass.

    Steps name their kind in `rule`. The example applies a step of this kind. The near miss is a
    similar graph in which the pass applies no step of this kind. Both run with `options`.
    """

    name: str
    words: str
    example: str
    near_miss: str
    options: Mapping[str, Any]

    def example_graphs(self) -> tuple[Graph, Graph]:
        """Return the two graphs of the example, before and after."""
        return example_graphs(self.example)

    def near_miss_graph(self) -> Graph:
        """Return the verified graph in which the pass applies no step of this kind."""
        graph = parse_graph(self.near_miss)
        verify(graph)
        return graph


def step_kind(
    name: str,
    words: str,
    *,
    near_miss: str = "",
    example: str = "",
    options: Mapping[str, Any] | None = None,
) -> StepKind:
    """Declare a kind of step; by default, the example and the near miss are those of the pass."""
    return StepKind(
        name,
        inspect.cleandoc(words),
        textwrap.dedent(example),
        textwrap.dedent(near_miss),
        options or {},
    )
