"""E-graphs as data, text and drawing: classes of equal terms, their nodes, the extracted terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from compiler.dataclass import dataclass
from compiler.ir.types import TensorType


@dataclass(frozen=True, slots=True)
class ENode:
    """A call of an operator on classes; if `op` is empty, the value named `attrs`."""

    op: str
    attrs: str
    operands: tuple[str, ...]

    def __lt__(self, other: ENode) -> bool:
        return (self.op, self.attrs, self.operands) < (other.op, other.attrs, other.operands)

    def __str__(self) -> str:
        if not self.op:
            return self.attrs
        attrs = f"[{self.attrs}]" if self.attrs else ""
        return f"{self.op}{attrs}({', '.join(self.operands)})"


@dataclass(slots=True)
class EClass:
    """A class of equal terms: each of its nodes computes the same value."""

    name: str
    nodes: list[ENode] = field(default_factory=list)
    type: TensorType | None = None


@dataclass(slots=True)
class EGraph:
    """The classes by name, the class of each value of the graph, and statistics of the growth.

    `attrs` maps the text of attributes to their values. `picked` maps classes to extracted nodes,
    and `matches` maps equations to their numbers of matches.
    """

    attrs: Mapping[str, Mapping[str, Any]]
    classes: dict[str, EClass] = field(default_factory=dict)
    of_value: dict[str, str] = field(default_factory=dict)
    picked: dict[str, ENode] = field(default_factory=dict)
    rounds: int = 0
    saturated: bool = False
    matches: dict[str, int] = field(default_factory=dict)

    @property
    def n_nodes(self) -> int:
        """The number of nodes of all classes."""
        return sum(len(c.nodes) for c in self.classes.values())

    @property
    def summary(self) -> str:
        """The size of the e-graph, and the reason that its growth ended."""
        end = "saturated" if self.saturated else "a limit was reached"
        return (
            f"{self.n_nodes:,} e-nodes in {len(self.classes):,} e-classes after {self.rounds} "
            f"iterations; {end}"
        )

    def names(self) -> dict[str, str]:
        """Map each class to its value in the graph, or else to the name of the class."""
        found: dict[str, list[str]] = {}
        for value, name in self.of_value.items():
            found.setdefault(name, []).append(value)
        return {c: "=".join(found[c]) if c in found else c for c in self.classes}

    def text(self) -> str:
        """Format each class and its nodes as one line; a star marks the extracted node."""
        names, lines = self.names(), [self.summary]
        for c in self.classes.values():
            nodes = [
                ("*" if self.picked.get(c.name) == n else "") + _named(n, names) for n in c.nodes
            ]
            lines.append(f"{names[c.name]}: {c.type} = {' | '.join(nodes)}")
        return "\n".join(lines)

    def dot(self) -> str:
        """Format for Graphviz: each class is a box around its nodes; extracted nodes are filled."""
        names = self.names()
        lines = ["digraph egraph {", "  compound=true; rankdir=BT; node [shape=box];"]
        at: dict[str, str] = {}
        for i, c in enumerate(self.classes.values()):
            at[c.name] = f"c{i}"
            lines.append(f'  subgraph cluster_c{i} {{ label="{_escaped(names[c.name])}";')
            for j, n in enumerate(c.nodes):
                style = ", style=filled" if self.picked.get(c.name) == n else ""
                label = _escaped(n.op + (f" {n.attrs}" if n.attrs else ""))
                lines.append(f'    c{i}_{j} [label="{label}"{style}];')
            lines.append("  }")
        for i, c in enumerate(self.classes.values()):
            for j, n in enumerate(c.nodes):
                for operand in n.operands:
                    to = at[operand]
                    lines.append(f"  {to}_0 -> c{i}_{j} [ltail=cluster_{to}];")
        return "\n".join([*lines, "}"])


def _named(n: ENode, names: Mapping[str, str]) -> str:
    return str(ENode(n.op, n.attrs, tuple(names[c] for c in n.operands)))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
