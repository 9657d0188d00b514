"""Facts about the kernels and arenas of a program that consists of several parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from compiler.codegen.module import Launch
from compiler.ir.graph import Node
from compiler.ir.infer import with_sizes
from compiler.memory.buffer import Buffer, Plan
from compiler.runtime.open.part import OpenPart, Sized
from compiler.runtime.open.rounds import Rounds, runs_in_rounds
from compiler.runtime.thunks.kernels import KernelInfo, kernel_infos
from compiler.runtime.thunks.native import Functions
from compiler.runtime.thunks.select import RegionThunk, Thunk, Unlaunched, is_handed_out

Infos = tuple[KernelInfo, ...]


def part_infos(
    part: OpenPart, sized: Sized, calls: Mapping[int, Launch], functions: Functions
) -> Infos:
    """Return facts about the launches of a part."""
    thunks = _all_sized(sized.thunks, sized.sizes)
    launched = [w for w in thunks if not isinstance(w, Unlaunched)]
    own = {i: c.symbol for i in range(len(launched)) if (c := calls.get(part.first + i))}
    return kernel_infos(launched, sized.graph, own, functions.kernels, functions.by_identity)


def _all_sized(thunks: Iterable[Thunk], sizes: Mapping[str, int]) -> Iterator[Thunk]:
    """Yield the implementations with numbers for sizes, also inside fusions and bodies."""
    for thunk in thunks:
        node = with_sizes(thunk.node, sizes)
        if isinstance(thunk, RegionThunk):
            bodies = {
                key: replace(b, thunks=tuple(_all_sized(b.thunks, sizes)))
                for key, b in thunk.bodies.items()
            }
            yield RegionThunk(node, bodies)
        else:
            yield replace(thunk, node=node)


def host_info(node: Node, rounds: Rounds | None = None) -> Infos:
    """Return facts about a node between parts; `rounds` runs a loop whose end depends on data."""
    is_view = is_handed_out(node)
    because = "its data determine sizes that later nodes need"
    if is_view or runs_in_rounds(node):
        because = "" if rounds is None else rounds.because
    outputs = tuple(filter(None, node.outputs))
    named = (node.op, node.op, node.origins, is_view, 0, 0, 0)
    return (KernelInfo(*named, because=because, reads=node.reads, writes=outputs),)


def joined_infos(infos: Iterable[Infos]) -> Infos:
    """Return the kernels of all steps in order, with unique names."""
    steps = list(infos)
    if len(steps) == 1:
        return steps[0]
    return tuple(replace(k, name=f"{k.name}.{i}") for i, ks in enumerate(steps) for k in ks)


def joined_plans(plans: Sequence[Plan]) -> Plan:
    """Concatenate the plans of successive steps, each with a separate arena."""
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
