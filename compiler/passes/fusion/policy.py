"""Declarations of fusion policies, with description, source and an executed example.

A policy chooses the nodes of a graph that share a kernel. For each node and reader in different
kernels the policy reports a reason. `fuse` rewrites the graph and records the steps in the ledger.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import field

from compiler.dataclass import dataclass
from compiler.ir.graph import Graph, Node
from compiler.trace import Log


@dataclass(frozen=True, slots=True)
class Limits:
    """Constraints on every policy: the maximum nodes per group, and permission to duplicate."""

    max_nodes: int
    duplicate: bool


@dataclass(slots=True)
class Group:
    """Nodes that become one kernel, in any order.

    `first` is the seed of the group, such as the contraction or reduction of an anchored group.
    `last` computes the last output in topological order.
    """

    kind: str
    first: Node
    last: Node
    nodes: dict[str, Node] = field(default_factory=dict)

    def add(self, nodes: Sequence[Node]) -> None:
        """Add nodes to the group."""
        self.nodes.update((n.output, n) for n in nodes)


@dataclass(frozen=True, slots=True)
class Plan:
    """The decision of a policy: the graph, with cheap nodes duplicated, and its groups.

    `why(node, user)` returns the reason that a node and a reader are in different kernels.
    """

    graph: Graph
    groups: Sequence[Group]
    why: Callable[[Node, Node], str]


Planner = Callable[[Graph, Limits, Log], Plan]


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """A fusion policy; `plan` applies it. The example is a graph before and after `fuse`."""

    name: str
    words: str
    like: str
    source: str
    plan: Planner
    example: str

    @property
    def title(self) -> str:
        """The first line of the docstring."""
        return self.words.split("\n", 1)[0]


def policy(*, like: str, example: str) -> Callable[[Planner], Policy]:
    """Declare a function `(graph, limits, log) -> Plan` as the policy named after it.

    `like` names the system that the policy follows, with the source.
    """

    def declare(fn: Planner) -> Policy:
        code = fn.__code__
        return Policy(
            code.co_name,
            inspect.getdoc(fn) or "",
            like,
            f"{code.co_filename.rpartition('compiler/')[2]}:{code.co_firstlineno}",
            fn,
            textwrap.dedent(example),
        )

    return declare
