"""From a computation to one kernel: its nests in order, each shaped by moves, written out.

Who makes the moves is left open: a policy, or a text that is replayed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from compiler.compute.computation import Computation, Routine
from compiler.compute.scalar import fetches
from compiler.loops.nodes import Buffer, Kernel, Role
from compiler.loops.sizes import sizes_of
from compiler.schedule.banded import in_bands
from compiler.schedule.joining import Joint, joints
from compiler.schedule.language.call import Line, text_of
from compiler.schedule.limits import require_small
from compiler.schedule.packing import Packing
from compiler.schedule.panels import into_panels
from compiler.schedule.tiled import find_tiled
from compiler.schedule.turn import turn_operands
from compiler.schedule.writer import Shape, Writer
from compiler.targets.options import CodeOptions


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
    writer = Writer(computation, options, shape)
    tiled = find_tiled(parts, computation, constants)
    banded = None
    if tiled is not None:
        banded = in_bands(tiled, computation, options, writer.realizer, shape)
    outermost = writer.outermost(packable, share=banded is None)
    if banded is None:
        body = writer.statements(parts, outermost)
    else:
        body = writer.statements(parts[: banded.parts.start], outermost)
        body += banded.statements
        writer.lines += banded.lines
        body += writer.statements(parts[banded.parts.stop :], outermost)
        writer.packings.update(banded.packings)
        writer.shapes.update(banded.shapes)
    buffers = [*computation.inputs, *computation.temporaries, *computation.outputs]
    if banded is not None:
        buffers.remove(banded.replaced)
    physical = {n: t.layout.physical_shape(t.dims) for n, t in computation.tensors.items()}
    shapes = {**physical, **writer.shapes}
    params = tuple(
        Buffer(n, computation.tensors[n].dtype, shapes[n], _role(n, computation, constants))
        for n in buffers
    )
    n_outputs = len(computation.outputs)
    blocks = writer.realizer.blocks
    params = (*params[: len(params) - n_outputs], *blocks, *params[-n_outputs:])
    registers = tuple(writer.realizer.registers)
    kernel = Kernel(computation.name, params, body, registers, sizes_of(params, body))
    require_small(kernel, options.target)
    return Scheduled(kernel, writer.packings, tuple(writer.lines))


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


def _role(name: str, computation: Computation, constants: frozenset[str]) -> Role:
    if name in constants:
        return "constant"
    if name in computation.inputs:
        return "input"
    return "output" if name in computation.outputs else "temporary"
