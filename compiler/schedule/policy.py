"""Choosing a schedule: each nest gets the policy of its class, and all become one kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from compiler.compute.computation import Computation, Routine
from compiler.compute.scalar import fetches
from compiler.errors import require
from compiler.loops.nodes import Buffer, Kernel, Role, Statement
from compiler.loops.sizes import sizes_of
from compiler.schedule.context import Context
from compiler.schedule.contraction import contraction, is_contraction, split_blocked_reduction
from compiler.schedule.dots import dots
from compiler.schedule.joining import Joint, joints
from compiler.schedule.nest import Nest
from compiler.schedule.packing import Packing
from compiler.schedule.physical import nest_of
from compiler.schedule.pointwise import pointwise
from compiler.schedule.realize import Realizer
from compiler.schedule.reduction import reduction
from compiler.schedule.turn import turn_operands
from compiler.targets.options import CodeOptions


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A kernel, how its constant operands are repacked, and the moves that made it."""

    kernel: Kernel
    packings: Mapping[str, Packing]
    moves: tuple[str, ...]


def schedule(
    computation: Computation, constants: frozenset[str], options: CodeOptions
) -> Scheduled:
    """The kernel for a computation; `constants` names operands known at compile time.

    Shapes: the kernel's buffers have the physical shapes of the tensors' layouts; a packed constant
    that of its packing.
    """
    computation = turn_operands(computation, constants)
    parts = joints(computation)
    context = Context(options, frozenset(_packable(parts, constants)))
    realizer = Realizer()
    body: list[Statement] = []
    packings: dict[str, Packing] = {}
    shapes = {n: t.layout.physical_shape(t.dims) for n, t in computation.tensors.items()}
    moves: list[str] = []
    zeroed: set[str] = set()
    for part in parts:
        if isinstance(part, Routine):
            _require_plain(computation, part.read_tensors | part.stored_tensors)
            body += part.statements
            continue
        _require_plain(computation, {f.tensor for s in part for f in fetches(s.value)})
        nests = [nest_of(stage, computation.tensors) for stage in part]
        nest = apply_policy(reduce(Nest.joined, nests), context)
        if nest.target in zeroed:
            nest = nest.without_halo()
        zeroed.add(nest.target)
        body += realizer.realize(nest)
        packings.update(nest.packings)
        shapes.update((t, p.shape) for t, p in nest.packings.items())
        targets = ", ".join(b.target for b in nest.results)
        moves += [f"{targets}: {m}" for m in nest.moves]
    names = (*computation.inputs, *computation.temporaries, *computation.outputs)
    params = tuple(
        Buffer(n, computation.tensors[n].dtype, shapes[n], _role(n, computation, constants))
        for n in names
    )
    made = tuple(body)
    registers = tuple(realizer.registers)
    kernel = Kernel(computation.name, params, made, registers, sizes_of(params, made))
    return Scheduled(kernel, packings, tuple(moves))


def _packable(parts: Sequence[Joint | Routine], constants: frozenset[str]) -> Iterator[str]:
    """The constants that one nest reads, at no computed index."""
    read = [
        part.read_tensors
        if isinstance(part, Routine)
        else {t for s in part for t in s.read_tensors}
        for part in parts
    ]
    for c in constants:
        readers = [part for part, tensors in zip(parts, read, strict=True) if c in tensors]
        if len(readers) == 1 and not isinstance(readers[0], Routine):
            if all(f.tensor != c for s in readers[0] for f in fetches(s.value)):
                yield c


def _require_plain(computation: Computation, tensors: set[str]) -> None:
    for name in sorted(tensors):
        require(
            computation.tensors[name].layout.is_plain,
            "E-SCHEDULE-MOVE",
            f"{name} is read or stored at computed indices, which needs a plain layout",
        )


def _role(name: str, computation: Computation, constants: frozenset[str]) -> Role:
    if name in constants:
        return "constant"
    if name in computation.inputs:
        return "input"
    return "output" if name in computation.outputs else "temporary"


def apply_policy(nest: Nest, ctx: Context) -> Nest:
    """The nest as the policy of its class shapes it."""
    if not nest.axes:
        return nest
    if nest.reduce is None:
        return pointwise(nest, ctx)
    if is_contraction(nest) and len(nest.reductions) == 1:
        return dots(nest, ctx) or contraction(nest, ctx)
    return reduction(split_blocked_reduction(nest), ctx)
