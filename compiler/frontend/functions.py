"""Model-local functions: lookup by name, and a size check before inlining."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from compiler.errors import CompileError
from compiler.frontend.order import subgraphs
from compiler.limits import NODE_BYTES, Limits, check_bytes

Key = tuple[str, str, str]
"""The key of a function: domain, name, overload."""


def normal_domain(domain: str) -> str:
    """Return the normalised spelling of a domain: the standard domain has two spellings."""
    return "" if domain == "ai.onnx" else domain


def key_of(node: Any) -> Key:
    """Return the key of the function that a node may call."""
    return normal_domain(node.domain), node.op_type, node.overload


class Functions:
    """The functions of a model.

    Errors: E-MODEL-NAME for two functions of one name, E-MODEL-CYCLE, E-MODEL-SIZE if inlining
    would create too many nodes or too deep a nesting.
    """

    def __init__(self, model: Any, limits: Limits) -> None:
        self._found: dict[Key, Any] = {}
        for f in model.functions:
            key = (normal_domain(f.domain), f.name, f.overload)
            if key in self._found:
                raise CompileError("E-MODEL-NAME", f"two functions are named {_shown(key)}")
            self._found[key] = f
        self._calls = {k: self._count(f.node) for k, f in self._found.items()}
        self._measure(self._count(model.graph.node), limits)

    def __getitem__(self, node: Any) -> Any | None:
        """Return the function that a node calls; None for an operator."""
        return self._found.get(key_of(node)) if self._found else None

    def _count(self, nodes: Iterable[Any]) -> tuple[Counter[Key], int]:
        """Count the calls of each function in a list of nodes; return also the list's length."""
        calls: Counter[Key] = Counter()
        total = 0
        for node in walk(nodes):
            total += 1
            key = key_of(node)
            if key in self._found:
                calls[key] += 1
        return calls, total

    def _measure(self, main: tuple[Counter[Key], int], limits: Limits) -> None:
        sizes: dict[Key, int] = {}
        depths: dict[Key, int] = {}
        for key in self._inner_first():
            calls, own = self._calls[key]
            sizes[key] = own + sum(n * sizes[c] for c, n in calls.items())
            depths[key] = 1 + max((depths[c] for c in calls), default=0)
        calls, own = main
        total = own + sum(n * sizes[c] for c, n in calls.items())
        limits.check("nodes after inlining functions", total, limits.n_nodes)
        check_bytes(total * NODE_BYTES, f"a model of {total:,} nodes")
        depth = max((depths[c] for c in calls), default=0)
        limits.check("nested calls of functions", depth, limits.nested_regions)

    def _inner_first(self) -> Iterator[Key]:
        done: set[Key] = set()
        open_: set[Key] = set()
        for root in self._found:
            stack = [root]
            while stack:
                key = stack[-1]
                missing = [c for c in self._calls[key][0] if c not in done]
                if key in done or not missing:
                    stack.pop()
                    if key not in done:
                        done.add(key)
                        yield key
                    continue
                if key in open_:
                    raise CompileError("E-MODEL-CYCLE", f"the function {_shown(key)} calls itself")
                open_.add(key)
                stack.extend(missing)


def walk(nodes: Iterable[Any]) -> Iterator[Any]:
    """Yield nodes, and the nodes of their subgraphs."""
    pending = [iter(nodes)]
    while pending:
        node = next(pending[-1], None)
        if node is None:
            pending.pop()
            continue
        yield node
        pending.extend(iter(g.node) for g in subgraphs(node))


def _shown(key: Key) -> str:
    return repr(".".join(filter(None, key)))
