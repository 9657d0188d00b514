"""A computation: stages that define one element for every point of a domain.

    computation softmax(x: f32[4,10]) -> y: f32[4,10] {
      temporary top: f32[4]
      top[i] = reduce_max([j], x[i, j])  for i<4, j<10
      ...
    }

Sorting, scatter and running sums, which no index map describes, are a `Routine`: statements in a
fixed order. The schedule chooses the order of points within a stage. Stages run in sequence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from compiler.compute.scalar import Fetch, Read, Reduce, Scalar, reads, reduction, walk
from compiler.compute.statements import (
    Statement,
    read_buffers,
    statement_lines,
    stored_buffers,
)
from compiler.dataclass import dataclass
from compiler.ir.affine import Affine, Expr
from compiler.ir.types import TensorType


@dataclass(frozen=True, slots=True)
class Stage:
    """One assignment: `target[index] = value` for all points of `extents`.

    `extents` maps every index symbol to its size: first the axes of the target, in order, then the
    axes of the reduction. The target's index must cover every element exactly once; several stages
    may jointly cover one target (concatenation).
    """

    target: str
    index: tuple[Expr, ...]
    value: Scalar
    extents: Mapping[str, Expr]

    @property
    def reduce_axes(self) -> tuple[str, ...]:
        """The axes of the reduction."""
        found = reduction(self.value)
        return found.axes if found else ()

    @property
    def axes(self) -> tuple[str, ...]:
        """The axes of the target, in order."""
        inner = set(self.reduce_axes)
        return tuple(a for a in self.extents if a not in inner)

    @property
    def read_tensors(self) -> set[str]:
        """The tensors that the stage reads, at any index."""
        return {p.tensor for p in walk(self.value) if isinstance(p, Read | Fetch)}

    @property
    def stored_tensors(self) -> set[str]:
        """The target tensor."""
        return {self.target}

    @property
    def reads(self) -> list[Read]:
        """The reads of other tensors."""
        return reads(self.value)

    @property
    def reduce(self) -> Reduce | None:
        """The reduction in the value, if any."""
        return reduction(self.value)

    def is_identity_indexed(self) -> bool:
        """Whether the index of the target consists of exactly the stage's axes, in order."""
        return tuple(map(axis_of, self.index)) == self.axes

    def __str__(self) -> str:
        domain = ", ".join(f"{a}<{n}" for a, n in self.extents.items())
        index = ", ".join(map(str, self.index))
        return f"{self.target}[{index}] = {self.value}" + (f"  for {domain}" if domain else "")


@dataclass(frozen=True, slots=True)
class Routine:
    """Statements that run in order, over logical tensors; temporaries are undefined initially."""

    statements: tuple[Statement, ...]

    @property
    def read_tensors(self) -> set[str]:
        """The tensors that the routine reads; stored tensors count as read."""
        return read_buffers(self.statements)

    @property
    def stored_tensors(self) -> set[str]:
        """The tensors that the routine stores to."""
        return stored_buffers(self.statements)

    def __str__(self) -> str:
        lines = [f"  {line}" for s in self.statements for line in statement_lines(s)]
        return "\n".join(["routine {", *lines, "}"])


@dataclass(frozen=True, slots=True)
class Computation:
    """Stages with the tensors they read and write. Units: shapes in elements."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    tensors: Mapping[str, TensorType]
    stages: tuple[Stage | Routine, ...]
    origins: tuple[str, ...] = field(default=())

    @property
    def temporaries(self) -> tuple[str, ...]:
        """The tensors that are neither inputs nor outputs."""
        named = {*self.inputs, *self.outputs}
        return tuple(t for t in self.tensors if t not in named)

    def __str__(self) -> str:
        def signature(names: tuple[str, ...]) -> str:
            return ", ".join(f"{n}: {self.tensors[n]}" for n in names)

        lines = [
            f"computation {self.name}({signature(self.inputs)}) -> {signature(self.outputs)} {{"
        ]
        lines += [f"  temporary {t}: {self.tensors[t]}" for t in self.temporaries]
        lines += [f"  {line}" for s in self.stages for line in str(s).split("\n")]
        return "\n".join([*lines, "}"])


def axis_of(e: Expr) -> str | None:
    """Return the symbol if an index expression is a single symbol, else None."""
    if isinstance(e, Affine) and e.constant == 0 and len(e.terms) == 1 and e.terms[0][1] == 1:
        atom = e.terms[0][0]
        return atom if isinstance(atom, str) else None
    return None
