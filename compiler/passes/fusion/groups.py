"""Groups with one output, grown from anchors and then from elementwise nodes.

Only the output of a group has readers outside it. No path leaves a group and returns, so groups
never create a cycle.
"""

from __future__ import annotations

from compiler.ir.graph import Graph, Node
from compiler.ir.types import TensorType
from compiler.passes.fusion.kinds import (
    EXPENSIVE,
    is_cheap_number,
    is_contraction,
    is_elementwise,
    is_reduction,
    overlap,
    share_lanes,
)
from compiler.passes.fusion.policy import Group

FEW_ROWS = 32
"""Largest number of rows of a product for which repeated dequantization beats stored weights."""


def _is_made_anew(product: Node, weights: Node) -> bool:
    """Whether repeated dequantization for each row tile is cheaper than stored f32 weights.

    Repeated dequantization is cheaper for few rows, or if packing would gather distant columns.
    """
    if weights.tensor.rank != 2 or product.attrs["transpose_b"] or not product.tensor.is_static:
        return weights.tensor.rank == 2
    return product.tensor.n_elements // max(weights.tensor.static_shape[1], 1) <= FEW_ROWS


def _is_scaled_by_column(product: Node, weights: Node) -> bool:
    """Whether dequantized weights have one scale, or one per column of the matrix."""
    columns = _column_axis(product)
    return not weights.attrs["block_size"] and weights.attrs["axis"] in (columns, columns - 2)


def _column_axis(product: Node) -> int:
    return 0 if product.attrs["transpose_b"] else 1


class Grouping:
    """The groups of a graph, grown from anchors and then from elementwise nodes."""

    def __init__(self, graph: Graph, max_nodes: int) -> None:
        self.graph = graph
        self.max_nodes = max_nodes
        self.position = {n.output: i for i, n in enumerate(graph.nodes)}
        self.group_of: dict[str, Group] = {}

    def users(self, node: Node) -> tuple[Node, ...]:
        """Return the nodes that read a node's output."""
        return self.graph.users.get(node.output, ())

    def is_result(self, node: Node) -> bool:
        """Whether a node's output is a result of the graph."""
        return node.output in self.graph.result_values

    def is_free(self, node: Node) -> bool:
        """Whether a node belongs to no group yet."""
        return node.output not in self.group_of

    def from_anchors(self) -> None:
        """Grow groups around contractions, then pools and reductions, each in reverse node order.

        An addition that reads two anchors joins the later anchor, and reads the result of the
        earlier anchor from memory. Nodes between a contraction and a reduction join the
        contraction.
        """
        nodes = list(reversed(self.graph.nodes))
        for node in nodes:
            if is_contraction(node):
                group = self.start("contraction", node)
                self.add_weights(group, node)
                self.grow(group, node)
        for node in nodes:
            if is_reduction(node):
                group = self.start("reduction", node)
                self.add_producers(group, node, self.graph.types[node.inputs[0]])
                self.grow(group, node)

    def grow(self, group: Group, anchor: Node) -> None:
        """Add all nodes that can join an anchor's group."""
        while self.add_epilogue(group, anchor):
            pass
        self.add_codes(group, anchor)
        self.add_numbers(group)
        self.keep(group)

    def from_elementwise(self) -> None:
        """Grow groups of elementwise nodes, from their outputs backwards."""
        for node in reversed(self.graph.nodes):
            if self.is_free(node) and is_elementwise(node):
                group = self.start("elementwise", node)
                self.add_producers(group, node, node.type)
                self.add_numbers(group)
                self.keep(group)

    def start(self, kind: str, node: Node) -> Group:
        """Start a tentative group of a single node."""
        group = Group(kind, node, node)
        group.add([node])
        return group

    def keep(self, group: Group) -> None:
        """Confirm a tentative group, and assign its nodes to it."""
        self.group_of.update((name, group) for name in group.nodes)

    def add_weights(self, group: Group, anchor: Node) -> None:
        """Add the dequantization of constant weights of a product.

        The kernel dequantizes the weights in vector registers, for each tile of rows. So it loads
        one byte per weight instead of four.
        """
        made = self.graph.producers.get(anchor.inputs[1]) if len(anchor.inputs) > 1 else None
        if made is None or anchor.op != "matmul" or made.op != "dequantize":
            return
        constant = all(i in self.graph.constants for i in made.inputs if i)
        alone = self.users(made) == (anchor,) and not self.is_result(made)
        if (
            constant
            and alone
            and _is_made_anew(anchor, made)
            and _is_scaled_by_column(anchor, made)
        ):
            group.add([made])

    def add_epilogue(self, group: Group, anchor: Node) -> bool:
        """Add the elementwise nodes up to the immediate post-dominator of the last node."""
        region: dict[str, Node] = {}
        pending = {n.output: n for n in self.users(group.last)}
        if not pending or self.is_result(group.last):
            return False
        while True:
            node = min(pending.values(), key=lambda n: self.position[n.output])
            del pending[node.output]
            if not self.fits_epilogue(node, anchor):
                return False
            region[node.output] = node
            if len(group.nodes) + len(region) > self.max_nodes:
                return False
            if not pending:
                group.add(list(region.values()))
                group.last = node
                return True
            if self.is_result(node):
                return False
            pending.update((n.output, n) for n in self.users(node))

    def fits_epilogue(self, node: Node, anchor: Node) -> bool:
        """Whether a node can be part of the epilogue of an anchor."""
        return (
            self.is_free(node)
            and is_elementwise(node)
            and node.tensor.shape == anchor.tensor.shape
            and share_lanes(node, anchor)
        )

    def add_producers(self, group: Group, root: Node, t: object) -> None:
        """Add elementwise nodes of shape t that only the group reads, from root backwards."""
        assert isinstance(t, TensorType)
        pending = [i for i in root.inputs if i]
        while pending and len(group.nodes) < self.max_nodes:
            node = self.graph.producers.get(pending.pop())
            if node is None or not self.fits_producer(group, root, node, t):
                continue
            group.add([node])
            pending.extend(filter(None, node.inputs))

    def fits_producer(self, group: Group, root: Node, node: Node, t: TensorType) -> bool:
        """Whether a node can be part of the prologue of root, and only the group reads it."""
        expensive = overlap(root) > 1 and node.op in EXPENSIVE
        return (
            self.is_free(node)
            and node.output not in group.nodes
            and not expensive
            and is_elementwise(node)
            and node.tensor.shape == t.shape
            and not self.is_result(node)
            and all(u.output in group.nodes for u in self.users(node))
        )

    def add_codes(self, group: Group, anchor: Node) -> None:
        """Add dequantize nodes that feed the group's epilogue, so the kernel loads bytes."""
        for node in list(group.nodes.values()):
            for value in filter(None, node.inputs):
                made = self.graph.producers.get(value)
                if made is not None and node is not anchor and self.fits_codes(group, made):
                    group.add([made])

    def fits_codes(self, group: Group, node: Node) -> bool:
        """Whether a node is a dequantize with only elementwise nodes of the group as readers."""
        return (
            node.op == "dequantize"
            and self.is_free(node)
            and node.output not in group.nodes
            and len(group.nodes) < self.max_nodes
            and node.tensor.shape == group.last.tensor.shape
            and not node.attrs["block_size"]
            and not self.is_result(node)
            and all(u.output in group.nodes and is_elementwise(u) for u in self.users(node))
        )

    def add_numbers(self, group: Group) -> None:
        """Add scalars that elementwise nodes of the group read, such as scales.

        Each loop computes a fused scalar once, from its operands; the scalar itself is never
        stored.
        """
        pending = [n for n in group.nodes.values() if is_elementwise(n)]
        while pending and len(group.nodes) < self.max_nodes:
            for value in filter(None, pending.pop().inputs):
                node = self.graph.producers.get(value)
                if node is not None and self.fits_number(group, node):
                    group.add([node])
                    pending.append(node)

    def fits_number(self, group: Group, node: Node) -> bool:
        """Whether a node is a cheap scalar with only elementwise nodes of the group as readers."""
        return (
            self.is_free(node)
            and node.output not in group.nodes
            and len(group.nodes) < self.max_nodes
            and is_cheap_number(node)
            and share_lanes(node, group.first)
            and not self.is_result(node)
            and all(u.output in group.nodes and is_elementwise(u) for u in self.users(node))
        )

    def groups(self) -> list[Group]:
        """Return the groups with more than one node, in the order of their outputs."""
        found = {id(g): g for g in self.group_of.values() if len(g.nodes) > 1}
        return sorted(found.values(), key=lambda g: self.position[g.last.output])
