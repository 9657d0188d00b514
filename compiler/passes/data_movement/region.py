"""Nodes around a transpose that could run with permuted axes, and the copies between them."""

from __future__ import annotations

from collections import deque
from dataclasses import field, replace

from compiler.dataclass import dataclass
from compiler.ir.editor import Editor
from compiler.ir.graph import Node
from compiler.ir.operator import OPERATORS, with_trait
from compiler.ir.types import TensorType, open_symbols
from compiler.passes.data_movement.orders import (
    Perm,
    Reordered,
    inverse,
    is_view,
    lifted,
    reorder,
    reorder_back,
)
from compiler.passes.data_movement.parts import is_plain
from compiler.passes.layout.labels import Copy, Energy

REGION_LIMIT = 200
"""Limit on the number of nodes examined around a transpose."""

KERNEL_BYTES = 20_000
"""Launch overhead of a kernel, as the number of bytes that could be copied in that time."""

NEVER = 1 << 50
"""The cost of a forbidden choice."""

_AS_IT_IS, _REORDERED = 0, 1
"""Kernel 0 represents outside nodes with original axes; kernel 1, those with permuted axes."""

INJECTIVE = with_trait("injective")
"""Operators that fuse with an adjacent transpose."""


@dataclass(slots=True)
class Region:
    """Nodes that could run with permuted axes, and the permutation of each value between them."""

    ed: Editor
    orders: dict[str, Perm] = field(default_factory=dict)
    nodes: dict[str, tuple[Node, Reordered]] = field(default_factory=dict)

    @staticmethod
    def around(ed: Editor, seed: Node) -> Region:
        """Return the region at the output of a transpose or, if that is empty, at its input."""
        region = Region(ed)
        region.grow(seed.output, tuple(seed.attrs["perm"]))
        if not region.nodes:
            region = Region(ed)
            region.grow(seed.inputs[0], inverse(tuple(seed.attrs["perm"])))
        return region

    def grow(self, value: str, perm: Perm) -> None:
        """Add, transitively, the nodes that can run with the axis permutation of this value."""
        self.orders[value] = perm
        pending = deque([value])
        while pending and len(self.nodes) < REGION_LIMIT:
            value = pending.popleft()
            made = self.ed.producer(value)
            if made is not None and made.op != "transpose":
                pending.extend(self.add(made, reorder_back(self.ed, made, self.orders[value])))
            for user in self.ed.users(value):
                if user.op != "transpose" and user.inputs[0:1]:
                    pending.extend(self.add(user, reorder(self.ed, user, self.orders[value])))

    def add(self, node: Node, how: Reordered | str) -> list[str]:
        """Add a node if its permutations match the recorded permutations; return the new values."""
        if isinstance(how, str) or node.output in self.nodes:
            return []
        values = [v for v in (*node.inputs, *node.outputs) if v]
        if not all(is_plain(self.ed, v) for v in values) or _decides_sizes(self.ed, node):
            return []
        wanted: dict[str, Perm] = {v: how.gives for v in node.outputs if v}
        for i, perm in how.reads.items():
            if len(self.ed.tensor(node.inputs[i]).shape) == len(perm):
                if wanted.setdefault(node.inputs[i], perm) != perm:
                    return []
        clash = any(self.orders.get(v, p) != p for v, p in wanted.items())
        ranks = all(len(self.ed.tensor(v).shape) == len(p) for v, p in wanted.items())
        others = {v for i, v in enumerate(node.inputs) if v and i not in how.reads}
        if clash or not ranks or others & self.orders.keys():
            return []
        self.nodes[node.output] = (node, how)
        new = [v for v in wanted if v not in self.orders]
        self.orders.update(wanted)
        return [v for v in new if v not in self.ed.constants]

    def cost(self, value: str) -> int:
        """Return the cost of transposing a value; 0 for a view."""
        t = self.ed.tensor(value).type
        if is_view(t.dims, inverse(self.orders[value])):
            return 0
        return 2 * t.assumed.nbytes + KERNEL_BYTES

    def source(self, value: str) -> str:
        """Return the operand if a transpose from permuted axes computes the value, else ""."""
        node = self.ed.producer(value)
        if node is None or node.op != "transpose" or not is_plain(self.ed, node.inputs[0]):
            return ""
        return node.inputs[0] if tuple(node.attrs["perm"]) == self.orders[value] else ""

    def returned(self, value: str, user: Node) -> bool:
        """Whether a reader only transposes a value to the permuted axes of the region."""
        return user.op == "transpose" and tuple(user.attrs["perm"]) == inverse(self.orders[value])

    def transposes(self) -> list[str]:
        """Return the outputs of the transposes into the region and out of it."""
        into = [v for v in self.orders if self.source(v)]
        users = [(v, u) for v in self.orders for u in self.ed.users(v)]
        return [*into, *(u.output for v, u in users if self.returned(v, u))]

    def energy(self) -> tuple[Energy, list[Node]]:
        """Return the energy function of a minimum cut, and the nodes of the region.

        Kernels 0 and 1 represent nodes outside the region.
        """
        energy = Energy([{0: 0, 1: NEVER}, {0: NEVER, 1: 0}])
        number: dict[str, int] = {}
        for key, (node, how) in self.nodes.items():
            number[key] = len(energy.kernels)
            energy.kernels.append({0: 0, 1: self.lifts(node, how)})
        for value in self.orders:
            if value not in self.ed.constants:
                energy.copies += self.copies(value, number)
        return energy, [n for n, _ in self.nodes.values()]

    def lifts(self, node: Node, how: Reordered) -> int:
        """Return the cost of transposing the lower-rank operands of a node with permuted axes."""
        total = 0
        for i, perm in how.reads.items():
            value = node.inputs[i]
            t = self.ed.tensor(value).type
            if value in self.ed.constants or len(t.dims) == len(perm):
                continue
            if not is_view(lifted(t.dims, len(perm)), inverse(perm)):
                total += 2 * t.assumed.nbytes + KERNEL_BYTES
        return total

    def copies(self, value: str, number: dict[str, int]) -> list[Copy]:
        """Return the copies of a value that its readers may need."""
        made = self.ed.producer(value)
        key = made.output if made is not None else ""
        maker = number.get(key, _REORDERED if self.source(value) else _AS_IT_IS)
        readers: set[int] = {_AS_IT_IS} if self.ed.is_result(value) else set()
        for user in self.ed.users(value):
            if user.output in number:
                readers.add(number[user.output])
            elif self.returned(value, user):
                readers.add(_REORDERED)
            elif user.op != "transpose" or maker in (_AS_IT_IS, _REORDERED):
                readers.add(_AS_IT_IS)
        costs = {0: self.cost(value), 1: self.cost(value)}
        if maker == _REORDERED and self.joins_before(value):
            costs[0] = 0
        if maker == _AS_IT_IS and self.joins_behind(value):
            costs[1] = 0
        who = tuple(sorted(readers))
        return [Copy(maker, frozenset({k}), cost, who) for k, cost in costs.items() if cost]

    def joins_before(self, value: str) -> bool:
        """Whether the transpose that computes a value fuses with earlier data movement."""
        made = self.ed.producer(value)
        while made is not None and self.ed.n_uses(made.inputs[0]) == 1:
            made = self.ed.producer(made.inputs[0])
            if made is None or made.op in INJECTIVE:
                return made is not None
            if made.op not in OPERATORS or OPERATORS[made.op].kind != "view":
                break
        return False

    def joins_behind(self, value: str) -> bool:
        """Whether the transpose of a value to permuted axes fuses with later data movement."""
        back = [u for u in self.ed.users(value) if self.returned(value, u)]
        return len(back) == 1 and self._moved_on(back[0])

    def _moved_on(self, node: Node) -> bool:
        while self.ed.n_uses(node.output) == 1 and (users := self.ed.users(node.output)):
            node = users[0]
            if node.op in INJECTIVE:
                return True
            if node.op not in OPERATORS or OPERATORS[node.op].kind != "view":
                break
        return False


def _decides_sizes(ed: Editor, node: Node) -> bool:
    """Whether elements of operands determine a size of a result.

    If the node were copied with permuted axes, the size of its result would get a new symbol.
    """
    known = open_symbols(ed.tensor(i).type for i in node.inputs if i)
    return not open_symbols(ed.tensor(v).type for v in node.outputs if v) <= known


def in_order(t: TensorType, perm: Perm) -> TensorType:
    """Return the type of a value with permuted axes."""
    back = inverse(perm)
    dims = lifted(t.dims, len(perm))
    return replace(t, shape=tuple(dims[a] for a in back))
