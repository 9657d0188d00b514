"""From a computation to one kernel: its nests in order, each shaped by moves, written out.

Who makes the moves is left open: a policy, or a text that is replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from compiler.compute.computation import Computation, Routine
from compiler.compute.scalar import fetches
from compiler.errors import require
from compiler.loops.nodes import Buffer, Kernel, Role, Statement
from compiler.loops.sizes import sizes_of
from compiler.schedule.joining import Joint, joints
from compiler.schedule.language.call import Line, text_of
from compiler.schedule.limits import require_small
from compiler.schedule.nest import Nest
from compiler.schedule.packing import Packing
from compiler.schedule.panels import into_panels
from compiler.schedule.physical import nest_of
from compiler.schedule.realize import Realizer
from compiler.schedule.tiled import find_tiled, in_bands
from compiler.schedule.turn import turn_operands
from compiler.targets.options import CodeOptions

Shape = Callable[[str, Nest], Nest]
"""Makes the moves on a nest; it also gets the name by which a schedule's text speaks of it."""


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A kernel, how its constant operands are repacked, and the moves that made it."""

    kernel: Kernel
    packings: Mapping[str, Packing]
    lines: tuple[Line, ...]

    @property
    def moves(self) -> tuple[str, ...]:
        """The moves as text, one a line."""
        return tuple(map(str, self.lines))

    @property
    def text(self) -> str:
        """The schedule as text: `replay` makes the same kernel of it."""
        return text_of(self.lines)


def assemble(
    computation: Computation, constants: frozenset[str], options: CodeOptions, shape: Shape
) -> Scheduled:
    """The kernel for a computation, each nest of which `shape` makes its moves on.

    `constants` names operands known at compile time.

    Shapes: the kernel's buffers have the physical shapes of the tensors' layouts; a packed constant
    that of its packing.
    Errors: E-SCHEDULE-MOVE, E-LIMIT-CODE.
    """
    computation = into_panels(computation, constants, options.target)
    computation = turn_operands(computation, constants)
    parts = joints(computation)
    packable = frozenset(_packable(parts, constants))
    names = _names(parts)
    realizer = Realizer()
    body: list[Statement] = []
    packings: dict[str, Packing] = {}
    shapes = {n: t.layout.physical_shape(t.dims) for n, t in computation.tensors.items()}
    lines: list[Line] = []
    zeroed: set[str] = set()
    tiled = find_tiled(parts, computation, constants)
    banded = None
    if tiled is not None:
        banded = in_bands(tiled, computation, options, realizer, shape)
    for number, (part, name) in enumerate(zip(parts, names, strict=True)):
        if banded is not None and number in banded.parts:
            if number == banded.parts.start:
                body += banded.statements
                packings.update(banded.packings)
                shapes.update(banded.shapes)
                lines += banded.lines
            continue
        if isinstance(part, Routine):
            _require_plain(computation, part.read_tensors | part.stored_tensors)
            body += part.statements
            continue
        _require_plain(computation, {f.tensor for s in part for f in fetches(s.value)})
        nests = [nest_of(stage, computation.tensors) for stage in part]
        nest = shape(name, replace(reduce(Nest.joined, nests), packable=packable))
        if nest.target in zeroed:
            nest = nest.without_halo()
        zeroed.add(nest.target)
        body += realizer.realize(nest)
        packings.update(nest.packings)
        shapes.update((t, p.shape) for t, p in nest.packings.items())
        lines += [Line(name, call) for call in nest.moves]
    buffers = [*computation.inputs, *computation.temporaries, *computation.outputs]
    if banded is not None:
        buffers.remove(banded.replaced)
    params = tuple(
        Buffer(n, computation.tensors[n].dtype, shapes[n], _role(n, computation, constants))
        for n in buffers
    )
    made = tuple(body)
    n_outputs = len(computation.outputs)
    params = (*params[: len(params) - n_outputs], *realizer.blocks, *params[-n_outputs:])
    registers = tuple(realizer.registers)
    kernel = Kernel(computation.name, params, made, registers, sizes_of(params, made))
    require_small(kernel, options.target)
    return Scheduled(kernel, packings, tuple(lines))


def _names(parts: Sequence[Joint | Routine]) -> list[str]:
    """What each nest is called: its target, with a number from the second on that fills it."""
    filled: dict[str, int] = {}
    names: list[str] = []
    for part in parts:
        target = "" if isinstance(part, Routine) else part[0].target
        filled[target] = filled.get(target, 0) + 1
        names.append(target if filled[target] == 1 else f"{target}#{filled[target]}")
    return names


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
