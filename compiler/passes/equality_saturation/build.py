"""Conversion of extracted terms into nodes of a graph, under the names of the replaced values."""

from __future__ import annotations

from dataclasses import field, replace

import numpy as np

from compiler.dataclass import dataclass
from compiler.ir.editor import Editor
from compiler.ir.graph import Node, merge_origins
from compiler.ir.operator import OPERATORS, Call, Operand
from compiler.passes.equality_saturation.egraph import EGraph, ENode
from compiler.passes.equality_saturation.terms import Region, Vocabulary, operands_of


@dataclass(slots=True)
class Builder:
    """Replaces a region with the extracted nodes of an e-graph."""

    editor: Editor
    region: Region
    egraph: EGraph
    values: dict[str, str] = field(default_factory=dict)
    """The value that represents each class."""

    def put(self) -> None:
        """Build the results of the region, redirect readers to them, and remove dead nodes."""
        for value in self.region.outputs:
            self._replace(value, self._build(self.egraph.of_value[value]))
        self.editor.remove_unused([n.output for n in reversed(self.region.nodes)])
        for name, value in self.values.items():
            self._rename(name, value)

    def _rename(self, name: str, value: str) -> None:
        """Give a new value the name of the old value that it replaces, if the name is free."""
        ed = self.editor
        node = ed.producer(value)
        if node is None or all(n is not node for n in ed.made) or ed.is_result(value):
            return
        for old in self.region.nodes:
            if self.egraph.of_value[old.output] == name and ed.producer(old.output) is None:
                ed.rename_output(node, value, old.output)
                renamed = ed.producer(old.output)
                assert renamed is not None
                ed.update(renamed, replace(renamed, name=old.name))
                self.values[name] = old.output
                return

    def _build(self, root: str) -> str:
        stack = [root]
        while stack:
            name = stack[-1]
            node = self.egraph.picked[name]
            waiting = [i for i in node.operands if i not in self.values]
            if name in self.values or not waiting:
                stack.pop()
                if name not in self.values:
                    self.values[name] = self._value(name, node)
                continue
            stack += waiting
        return self.values[root]

    def _value(self, name: str, n: ENode) -> str:
        if not n.op:
            return n.attrs
        operands = [self.values[i] for i in n.operands]
        for old in self.region.nodes:
            if self.egraph.of_value[old.output] == name and self._is_same(old, n, operands):
                return old.output
        ed, attrs = self.editor, self.egraph.attrs[n.attrs]
        tensors = [ed.tensor(v) for v in operands]
        if n.op == "reshape":
            call = OPERATORS["reshape"](tensors[0], self._sizes(attrs["shape"]))
        else:
            call = Call(OPERATORS[n.op], tuple(tensors), dict(attrs))
        hint = next((v for v, c in self.egraph.of_value.items() if c == name), n.op)
        origins = merge_origins(*(n.origins for n in self.region.nodes))
        return ed.build(call, hint=hint, origins=origins)

    def _sizes(self, shape: tuple[int, ...]) -> Operand:
        """Return the list of sizes for a reshape: an existing list, or a new constant."""
        for old in self.region.nodes:
            if old.op == "reshape" and old.tensor.static_shape == shape:
                return self.editor.tensor(old.inputs[1])
        return np.array(shape, np.int64)

    def _is_same(self, old: Node, n: ENode, operands: list[str]) -> bool:
        same = old.op == n.op and list(operands_of(old)) == operands
        return same and Vocabulary().attributes(old) == n.attrs

    def _replace(self, value: str, made: str) -> None:
        if made == value:
            return
        ed = self.editor
        node, root = ed.producer(made), ed.producer(value)
        assert root is not None
        fresh = node is not None and node in ed.made and not ed.n_uses(made)
        if fresh and node is not None:
            ed.rename(node, root)
            self.values.update({c: value for c, v in self.values.items() if v == made})
        else:
            ed.replace(value, made)
