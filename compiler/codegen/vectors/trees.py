"""Reduction trees over the lanes of registers, computed on vectors instead of scalars.

    add(add(a[0], a[2]), add(a[1], a[3]))

In this tree, the right operand is the left operand shifted by one lane. One vector addition
computes both operands, as lanes 0 and 1 of its result. The operands of the vector addition are the
two halves of a vector. The order of additions is unchanged, so the result is bit-identical.
"""

from __future__ import annotations

from compiler.codegen.arithmetic.functions import Arithmetic
from compiler.codegen.values import Value
from compiler.codegen.vectors.registers import Registers
from compiler.compute.scalar import Apply, Read, Scalar
from compiler.dataclass import dataclass
from compiler.ir.types import DType

SMALLEST = 4
"""The minimum number of elements of a vectorised tree."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One element of a register's row."""

    name: str
    row: int
    position: int


@dataclass(frozen=True, slots=True)
class Tree:
    """A function of two trees.

    If `shift` is not 0, the right tree is the left tree shifted by `shift` lanes.
    """

    fn: str
    dtype: DType
    left: Tree | Leaf
    right: Tree | Leaf
    shift: int
    n_leaves: int


class Trees:
    """Matches reduction trees and emits them."""

    def __init__(self, registers: Registers, arithmetic: Arithmetic) -> None:
        self.registers = registers
        self.arithmetic = arithmetic

    def value(self, s: Apply) -> Value | None:
        """Emit the scalar result of a reduction tree; None for other expressions."""
        if len(s.args) != 2 or self.registers.env.lane is not None:
            return None
        tree = self._tree(s)
        if not isinstance(tree, Tree) or not tree.shift or tree.n_leaves < SMALLEST:
            return None
        return self._lanes(tree, (0,))

    def _tree(self, s: Scalar) -> Tree | Leaf | None:
        if isinstance(s, Read):
            cut = self.registers.cuts.get(s.tensor)
            if cut is None or not cut.width:
                return None
            row, position = self.registers.place(s.tensor, s.index)
            return Leaf(s.tensor, row, position)
        if not isinstance(s, Apply) or len(s.args) != 2:
            return None
        left = self._tree(s.args[0])
        right = self._tree(s.args[1]) if left is not None else None
        if left is None or right is None:
            return None
        n_leaves = sum(t.n_leaves if isinstance(t, Tree) else 1 for t in (left, right))
        return Tree(s.fn, s.dtype, left, right, self._shift(left, right) or 0, n_leaves)

    def _shift(self, a: Tree | Leaf, b: Tree | Leaf) -> int | None:
        """Return the shift of b relative to a in lanes; None if b is not a shifted copy of a."""
        if isinstance(a, Leaf) and isinstance(b, Leaf):
            same = (a.name, a.row) == (b.name, b.row) and self._part(a) == self._part(b)
            return b.position - a.position if same else None
        if isinstance(a, Tree) and isinstance(b, Tree) and (a.fn, a.dtype) == (b.fn, b.dtype):
            left = self._shift(a.left, b.left)
            return left if left is not None and left == self._shift(a.right, b.right) else None
        return None

    def _part(self, leaf: Leaf) -> int:
        return self.registers.cuts[leaf.name].locate(leaf.position)[0]

    def _lanes(self, tree: Tree | Leaf, shifts: tuple[int, ...]) -> Value:
        """Emit a vector with the value of a tree at every shift; a scalar for a single shift."""
        out = self.arithmetic.out
        if isinstance(tree, Leaf):
            part, at = self.registers.cuts[tree.name].locate(tree.position)
            v = self.registers.use((tree.name, tree.row, part))
            if len(shifts) == 1:
                return out.extract(v, at + shifts[0])
            picks = [at + shift for shift in shifts]
            return v if picks == list(range(v.lanes)) else out.shuffle(v, None, picks)
        if not tree.shift:
            args = [self._lanes(t, shifts) for t in (tree.left, tree.right)]
            return self.arithmetic.apply(tree.fn, args, tree.dtype)
        both = self._lanes(tree.left, (*shifts, *(s + tree.shift for s in shifts)))
        n = len(shifts)
        if n == 1:
            halves = [out.extract(both, 0), out.extract(both, 1)]
        else:
            halves = [out.shuffle(both, None, range(k, k + n)) for k in (0, n)]
        return self.arithmetic.apply(tree.fn, halves, tree.dtype)
