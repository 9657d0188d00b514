"""What is known of the kernels and arenas of a program in several parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from compiler.ir.graph import Graph, Node
from compiler.ir.infer import with_sizes
from compiler.loops.nodes import Kernel
from compiler.memory.buffer import Buffer, Plan
from compiler.runtime.kernels import KernelInfo, kernel_infos
from compiler.runtime.open_part import OpenPart
from compiler.runtime.select import ViewWork, Work, is_handed_out

Infos = tuple[KernelInfo, ...]


def part_infos(
    part: OpenPart,
    graph: Graph,
    works: Sequence[Work],
    sizes: Mapping[str, int],
    symbols: Mapping[int, str],
    functions: Mapping[str, Kernel],
) -> Infos:
    """Each launch of a part, whose graph and works have these numbers for all sizes."""
    inside = [replace(w, node=with_sizes(w.node, sizes)) for w in works]
    launched = [w for w in inside if not isinstance(w, ViewWork)]
    own = {i: s for i in range(len(launched)) if (s := symbols.get(part.first + i))}
    return kernel_infos(launched, graph, own, functions)


def host_info(node: Node) -> Infos:
    """A node that runs between two parts."""
    is_view = is_handed_out(node)
    because = "" if is_view else "its data tell sizes that what follows needs"
    outputs = tuple(filter(None, node.outputs))
    named = (node.op, node.op, node.origins, is_view, 0, 0, 0)
    return (KernelInfo(*named, because=because, reads=node.reads, writes=outputs),)


def joined_infos(infos: Iterable[Infos]) -> Infos:
    """The kernels of all steps in order, under names that tell them apart."""
    steps = list(infos)
    if len(steps) == 1:
        return steps[0]
    return tuple(replace(k, name=f"{k.name}.{i}") for i, ks in enumerate(steps) for k in ks)


def joined_plans(plans: Sequence[Plan]) -> Plan:
    """Plans whose steps come one after the other, each with an arena of its own."""
    if len(plans) == 1:
        return plans[0]
    buffers: list[Buffer] = []
    start = 0
    for number, plan in enumerate(plans):
        buffers += [
            replace(b, name=f"{b.name}.{number}", start=start + b.start, end=start + b.end)
            for b in plan.buffers
        ]
        start = max((b.end for b in buffers), default=start)
    return Plan(tuple(buffers))
