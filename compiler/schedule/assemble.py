"""Lower a computation to one kernel: group its stages, transform each nest, emit the loops.

A policy, or the replay of a schedule's text, supplies the moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from compiler.compute.computation import Computation, Routine
from compiler.compute.scalar import fetches
from compiler.dataclass import dataclass
from compiler.loops.nodes import Buffer, Kernel, Loop, Role, walk_statements
from compiler.loops.sizes import sizes_of
from compiler.schedule.language.between import Stages
from compiler.schedule.language.call import Line, text_of
from compiler.schedule.limits import require_small
from compiler.schedule.operands.packing import Packing
from compiler.schedule.operands.padded import with_padding
from compiler.schedule.operands.panels import into_panels
from compiler.schedule.operands.parts import RIGHT, in_parts
from compiler.schedule.operands.turn import turn_operands
from compiler.schedule.stages.reuse import in_place, with_reuse
from compiler.schedule.stages.tree import Member, Part, leaves
from compiler.schedule.tiled.banded import in_bands
from compiler.schedule.writing.writer import Shape, Writer
from compiler.targets.options import CodeOptions

Arrange = Callable[[Stages], Stages]
"""A function that applies moves to the stages of a kernel."""


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A kernel, the packings of the kernel's constant operands, and the moves that built it."""

    kernel: Kernel
    packings: Mapping[str, Packing]
    lines: tuple[Line, ...]

    @property
    def moves(self) -> tuple[str, ...]:
        """The moves as text, one per line."""
        return tuple(map(str, self.lines))

    @property
    def text(self) -> str:
        """The schedule as text; `replay` builds the same kernel from it."""
        return text_of(self.lines)


def assemble(
    computation: Computation,
    constants: frozenset[str],
    options: CodeOptions,
    arrange: Arrange,
    shape: Shape,
) -> Scheduled:
    """Build the kernel of a computation from its stages.

    `arrange` transforms the stages, and `shape` transforms each nest. `constants` names operands
    known at compile time.

    Shapes: the kernel's buffers have the physical shapes of the tensors' layouts; a packed constant
    has the shape of its packing.
    Errors: E-SCHEDULE-MOVE, E-LIMIT-CODE.
    """
    split, in_halves = in_parts(computation, constants, options)
    if in_halves:
        made = _assembled(split, constants, options, arrange, shape)
        if in_halves <= made.packings.keys() and _has_tiles(made.kernel):
            halves = {n: replace(made.packings[n], parts=RIGHT) for n in in_halves}
            return replace(made, packings={**made.packings, **halves})
    return _assembled(computation, constants, options, arrange, shape)


def _has_tiles(kernel: Kernel) -> bool:
    return any(isinstance(s, Loop) and s.kind == "tile" for s in walk_statements(kernel.body))


def _assembled(
    computation: Computation,
    constants: frozenset[str],
    options: CodeOptions,
    arrange: Arrange,
    shape: Shape,
) -> Scheduled:
    computation = into_panels(computation, constants, options.target)
    computation = turn_operands(computation, constants, options.target)
    computation = with_padding(computation)
    stages = arrange(Stages.of(computation, constants))
    computation, members = stages.computation, stages.members
    packable = frozenset(_packable([*leaves(members)], constants))
    writer = Writer(computation, options, shape)
    banded = None
    if stages.tiled is not None:
        banded = in_bands(stages.tiled, computation, options, writer.realizer, shape)
    outermost = writer.outermost(packable)
    if banded is None:
        body = writer.statements(members, outermost)
    else:
        body = writer.statements(members[: banded.parts.start], outermost)
        body += banded.statements
        writer.lines += banded.lines
        body += writer.statements(members[banded.parts.stop :], outermost)
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
    kernel = with_reuse(kernel, _places(computation, members))
    require_small(kernel, options.target)
    return Scheduled(kernel, writer.packings, (*stages.lines, *writer.lines))


def _places(computation: Computation, members: Sequence[Member]) -> Mapping[str, str]:
    """Return, for each temporary that reuses memory, the temporary that provides the memory."""
    return in_place(members, computation.temporaries, computation.tensors)


def _packable(parts: Sequence[Part], constants: frozenset[str]) -> Iterator[str]:
    """Yield the constants that exactly one nest reads, always at affine indices."""
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
