"""What a policy of fusion is: a declaration with words, a source and an executed example.

A policy looks at a graph and says which nodes share a kernel, and for any other pair of a node and
its reader why they do not. `fuse` puts the groups into the graph and keeps the ledger.
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
    """What every policy keeps to: nodes in a group, and whether nodes may be computed twice."""

    max_nodes: int
    duplicate: bool


@dataclass(slots=True)
class Group:
    """Nodes that become one kernel, in no particular order.

    `first` is the node it was grown from, the anchor of a contraction or reduction; `last` makes
    the output that comes last.
    """

    kind: str
    first: Node
    last: Node
    nodes: dict[str, Node] = field(default_factory=dict)

    def add(self, nodes: Sequence[Node]) -> None:
        """Take nodes in."""
        self.nodes.update((n.output, n) for n in nodes)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a policy decided: the graph (cheap nodes may stand in it several times) and its groups.

    `why(node, user)` says why a node and one that reads it are in different kernels.
    """

    graph: Graph
    groups: Sequence[Group]
    why: Callable[[Node, Node], str]


Planner = Callable[[Graph, Limits, Log], Plan]


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """A way to decide: call `plan`. The example is a graph before and after `fuse` with it."""

    name: str
    words: str
    like: str
    source: str
    plan: Planner
    example: str

    @property
    def title(self) -> str:
        """The first line of the words."""
        return self.words.split("\n", 1)[0]


def policy(*, like: str, example: str) -> Callable[[Planner], Policy]:
    """Declare a function `(graph, limits, log) -> Plan` as the policy named after it.

    `like` names the system and the source that it follows.
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
