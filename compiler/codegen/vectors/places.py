"""The mapping of statements of a prepared kernel to lines of the kernel's text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from compiler.codegen.vectors.prepare import prepare
from compiler.compute.statements import statement_lines
from compiler.loops.nodes import If, Kernel, Loop, Statement, While
from compiler.targets.target import Target

Places = Mapping[tuple[int, int], int]
"""Maps each statement to its line in the kernel's text. A key consists of the line of the enclosing
statement and the identity of the statement.

The enclosing line is -1 for outermost statements. A statement object may occur several times; the
enclosing line distinguishes the occurrences.
"""


def places_of(kernel: Kernel, prepared: Kernel, target: Target) -> Places:
    """Map each statement of a prepared kernel to its line of the kernel's text, from 0."""
    found: dict[tuple[int, int], int] = {}

    def note(body: Sequence[Statement], made: Sequence[Statement], line: int, around: int) -> None:
        at = 0
        for s in body:
            n = _n_pieces(s, kernel, target)
            for piece in made[at : at + n]:
                found[around, id(piece)] = line
                inner = piece
                if isinstance(s, Loop) and isinstance(piece, Loop) and piece.var != s.var:
                    (inner,) = piece.body  # the loop over vectors encloses the vector loop
                    found[line, id(inner)] = line
                if isinstance(s, Loop | If | While) and isinstance(inner, Loop | If | While):
                    note(s.body, inner.body, line + 1, line)
            at += n
            line += sum(1 for _ in statement_lines(s))

    note(kernel.body, prepared.body, 1 + len(kernel.registers), -1)
    return found


def _n_pieces(s: Statement, kernel: Kernel, target: Target) -> int:
    """Return the number of prepared statements into which a statement is split."""
    if not isinstance(s, Loop) or s.kind != "vector":
        return 1
    return len(prepare(replace(kernel, body=(s,)), target).kernel.body)
