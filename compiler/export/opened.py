"""Inlining of fusions before export, for operators whose nodes are in several fusions."""

from __future__ import annotations

from dataclasses import replace

from compiler.ir.constant import Constant
from compiler.ir.graph import Graph, Node
from compiler.ops.fusion import body_names

AMOUNTS = {"cast", "mul", "reshape", "reduce_sum"}
"""Operators that compute zero point corrections."""


def opened(graph: Graph, *, fused: bool) -> Graph:
    """Inline each fusion whose nodes form a single operator together with nodes outside the fusion.

    If fusions become functions (`fused`), inline only the fusions that compute an operand of a
    quantized LSTM.
    """
    wanted = _of_layers(graph) | (set() if fused else _of_zero_points(graph))
    if not wanted:
        return graph
    made: list[Node] = []
    constants: dict[str, Constant] = {}
    taken = set(graph.types)
    for node in graph.nodes:
        if node.output not in wanted:
            made.append(node)
            continue
        body, names = node.regions["body"], body_names(node)
        for v in body.types:
            if v not in names:
                names[v] = f"{node.output}%{v}" if v in taken else v
        taken.update(names.values())
        constants.update((names[k], c) for k, c in body.constants.items())
        for n in body.nodes:
            outputs = tuple(names.get(o, o) for o in n.outputs)
            made.append(replace(n.with_inputs(names), outputs=outputs))
    return replace(graph, nodes=tuple(made), constants={**graph.constants, **constants})


def _of_layers(graph: Graph) -> set[str]:
    """Return the fusions whose only reader is a quantized LSTM."""
    layers = [n for n in graph.nodes if n.op == "lstm" and n.attrs["rounded_states"]]
    operands = {i for n in layers for i in n.inputs[:3]}
    return {
        n.output
        for n in graph.nodes
        if n.op == "fusion"
        and n.output in operands
        and [u.op for u in graph.users.get(n.output, ())] == ["lstm"]
    }


def _of_zero_points(graph: Graph) -> set[str]:
    """Return the fusions that subtract a zero point correction, and the fusions that compute it."""
    wanted: set[str] = set()
    for node in graph.nodes:
        if node.op != "fusion":
            continue
        body = node.regions["body"]
        operands = dict(zip((v.name for v in body.inputs), node.inputs, strict=True))
        for n in body.nodes:
            amount = operands.get(n.inputs[1], "") if n.op == "sub" else ""
            maker = graph.producers.get(amount)
            if maker is not None and maker.op == "fusion" and _is_amount(maker):
                wanted |= {node.output, *_amounts(graph, node)}
    return wanted


def _amounts(graph: Graph, fusion: Node) -> set[str]:
    """Return the fusions whose corrections a fusion reads, directly or through a multiplication."""
    makers = [graph.producers.get(i) for i in fusion.inputs]
    scaled = [graph.producers.get(i) for m in makers if m and m.op == "mul" for i in m.inputs]
    return {m.output for m in (*makers, *scaled) if m and m.op == "fusion" and _is_amount(m)}


def _is_amount(fusion: Node) -> bool:
    return {n.op for n in fusion.regions["body"].nodes} <= AMOUNTS
