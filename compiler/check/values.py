"""Values of successive graphs on the same inputs; only changed nodes are recomputed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np

from compiler.dataclass import dataclass
from compiler.ir.constant import Constant
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import Array
from compiler.ops.evaluation.meaning import evaluate_node


@dataclass(slots=True)
class _Known:
    """A node with the values of its operands and results."""

    node: Node
    read: tuple[Any, ...]
    made: tuple[Any, ...]


@dataclass
class StageValues:
    """The values of a pipeline's graphs, by name, on one set of inputs.

    Successive graphs share the nodes that a pass did not change. The results of a node with
    unchanged operands are reused. If a value is recomputed and its bits are unchanged, the previous
    object is reused, and its readers are not recomputed. Build systems call this early cutoff
    (Mokhov, Mitchell and Peyton Jones 2018, "Build systems a la carte").
    """

    inputs: Mapping[str, Any]
    values: dict[str, Any] = field(default_factory=dict)
    known: dict[str, _Known] = field(default_factory=dict)
    constants: dict[str, tuple[Constant, Any]] = field(default_factory=dict)
    n_evaluated: int = 0

    def of(self, graph: Graph) -> Mapping[str, Any]:
        """Return all values of a graph, including constants. Errors: E-RUN-*."""
        constants = {name: self._constant(name, c) for name, c in graph.constants.items()}
        values: dict[str, Any] = {k: v for k, (_, v) in constants.items()}
        values.update(self.inputs)
        known: dict[str, _Known] = {}
        for node in graph.nodes:
            found = known[node.output] = self._node(node, values)
            values.update((n, v) for n, v in zip(node.outputs, found.made, strict=False) if n)
        self.values, self.known, self.constants = values, known, constants
        return values

    def _node(self, node: Node, values: Mapping[str, Any]) -> _Known:
        read = tuple(values.get(name) for name in node.reads)
        last = self.known.get(node.output)
        if last is not None and last.node is node and len(last.read) == len(read):
            if all(a is b for a, b in zip(last.read, read, strict=True)):
                return last
        self.n_evaluated += 1
        operands = [values[i] if i else None for i in node.inputs]
        made = evaluate_node(node, operands, values)
        names = (*node.outputs, *[""] * len(made))
        return _Known(node, read, tuple(map(self._again, names, made)))

    def _constant(self, name: str, constant: Constant) -> tuple[Constant, Any]:
        last, value = self.constants.get(name, (None, None))
        if last is not None and last.type == constant.type and last.storage is constant.storage:
            return last, value
        return constant, self._again(name, constant.array())

    def _again(self, name: str, value: Any) -> Any:
        """Return the previous object with this name if its bits are equal, else the new object."""
        last = self.values.get(name)
        return last if has_bits_of(value, last) else value


def has_bits_of(a: Any, b: Any) -> bool:
    """Return whether two arrays are equal in type, shape and every bit."""
    if a is b:
        return True
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray) or a.dtype == object:
        return False
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    a, b = _once(a, b)
    return bool(np.array_equal(_bytes(a), _bytes(b)))


def _once(a: Array, b: Array) -> tuple[Array, Array]:
    """Cut axes with stride 0 in both arrays to length 1, since such axes only repeat elements."""
    both = zip(a.strides, b.strides, strict=True)
    cut = tuple(slice(0, 1) if s == t == 0 else slice(None) for s, t in both)
    return a[cut], b[cut]


def _bytes(a: Array) -> Array:
    return np.ascontiguousarray(a).reshape(-1).view(np.uint8)
