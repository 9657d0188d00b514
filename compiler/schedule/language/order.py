"""Moves that split, fuse and reorder loops."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from compiler.ir import affine
from compiler.schedule.axes import Axis, Split
from compiler.schedule.language.legal import Checked, require_legal, require_new
from compiler.schedule.language.move import Count, LoopName, NewLoop, move


class Order(Checked):
    """A nest with the moves `split`, `fuse` and `reorder`."""

    @move(
        example="""
        computation scale(A: f32[3,10]) -> Y: f32[3,10] {
          Y[i, j] = mul(A[i, j], f32(2.0))  for i<3, j<10
        }
        =>
        Y: split(j, 4, jo, ji)
        =>
        for i in 0..3 {
          for jo in 0..2 {
            for ji in 0..4 {
              Y[i, ji+4*jo] = mul(A[i, ji+4*jo], f32(2.0))
            }
          }
          for ji in 0..2 {
            Y[i, ji+8] = mul(A[i, ji+8], f32(2.0))
          }
        }
        """,
        near_miss="""
        computation scale(A: f32[3,10]) -> Y: f32[3,10] {
          Y[i, j] = mul(A[i, j], f32(2.0))  for i<3, j<10
        }
        =>
        Y: split(j, 4, jo, ji)
        Y: split(jo, 2, a, b)
        =>
        the last part of jo is shorter
        """,
    )
    def split(
        self, loop: LoopName, factor: Count, outer: NewLoop = "", inner: NewLoop = ""
    ) -> Self:
        """Split a loop in two: `for j<n` becomes `for jo<ceil(n/f) { for ji<f }`.

        When the factor does not divide the length, the last part is shorter and gets separate code
        (loop peeling). If the last part of a split is shorter, the outer loop cannot be split
        again, but the inner loop can. The default names for `j` are `jo` and `ji`.
        """
        a = self.axis(loop)
        require_legal(a.kind == "for" and loop not in self.held, f"{a} is no longer a plain loop")
        own = self.splits.get(loop)
        require_legal(
            own is None or not self.is_uneven(own),
            f"the last part of {loop} is shorter, so {loop} cannot be split again",
        )
        require_legal(factor >= 1, f"the factor is {factor}, but must be at least 1")
        names = (outer or f"{loop}o", inner or f"{loop}i")
        require_new(self, *names)
        made = Split(loop, a.extent, names[0], names[1], factor)
        first = replace(a, var=names[0], extent=(a.extent + factor - 1) // factor)
        second = replace(a, var=names[1], extent=factor)
        joined = affine.symbol(names[0]) * factor + affine.symbol(names[1])
        axes = tuple(b for c in self.axes for b in ((first, second) if c is a else (c,)))
        done = self.rewritten({loop: joined}, axes)
        return replace(done, splits={**self.splits, names[0]: made})

    @move(
        example="""
        computation scale(A: f32[3,10]) -> Y: f32[3,10] {
          Y[i, j] = mul(A[i, j], f32(2.0))  for i<3, j<10
        }
        =>
        Y: fuse(i, j, ij)
        =>
        for ij in 0..30 {
          Y[ij//10, ij%10] = mul(A[ij//10, ij%10], f32(2.0))
        }
        """,
        near_miss="""
        computation scale(A: f32[3,5,2]) -> Y: f32[3,5,2] {
          Y[i, j, k] = mul(A[i, j, k], f32(2.0))  for i<3, j<5, k<2
        }
        =>
        Y: fuse(i, k, ik)
        =>
        are not adjacent
        """,
    )
    def fuse(self, outer: LoopName, inner: LoopName, loop: NewLoop) -> Self:
        """Fuse two loops: `for i<m { for j<n }` becomes `for ij<m*n`.

        The loops must be plain and adjacent; both must run over the target's points, or both over
        the reduction. Neither loop may belong to a split with a shorter last part.
        """
        a, b = self.axis(outer), self.axis(inner)
        at = self.axes.index(a)
        together = f"{outer} and {inner} cannot be fused"
        require_legal(self.axes[at + 1 : at + 2] == (b,), f"{together}: they are not adjacent")
        require_legal(
            a.is_reduction == b.is_reduction and a.lanes == b.lanes,
            f"{together}: only one of them runs over the reduction",
        )
        plain = a.kind == b.kind == "for" and self.held.isdisjoint((outer, inner))
        require_legal(plain, f"{together}: they are no longer plain loops")
        require_legal(
            not self.is_cut(outer) and not self.is_cut(inner),
            f"{together}: one of them belongs to a split with a shorter last part",
        )
        require_new(self, loop)
        f = affine.symbol(loop)
        # A width of at least 1 avoids divisions by 0; an empty loop stays empty.
        width = max(b.extent, 1) if isinstance(b.extent, int) else b.extent
        joined = {outer: affine.floordiv(f, width), inner: affine.mod(f, width)}
        fused = Axis(loop, a.extent * b.extent, a.is_reduction, lanes=a.lanes)
        return self.rewritten(joined, (*self.axes[:at], fused, *self.axes[at + 2 :]))

    @move(
        example="""
        computation transpose(A: f32[10,3]) -> Y: f32[3,10] {
          Y[i, j] = A[j, i]  for i<3, j<10
        }
        =>
        Y: reorder(j, i)
        =>
        for j in 0..10 {
          for i in 0..3 {
            Y[i, j] = A[j, i]
          }
        }
        """,
        near_miss="""
        computation transpose(A: f32[10,3]) -> Y: f32[3,10] {
          Y[i, j] = A[j, i]  for i<3, j<10
        }
        =>
        Y: split(j, 4, jo, ji)
        Y: reorder(ji, i, jo)
        =>
        ji must run inside jo
        """,
    )
    def reorder(self, *loops: LoopName) -> Self:
        """Reorder the loops, outermost first; loops not named follow in their former order.

        Every order is legal, with one exception. If the factor of a split does not divide the
        length, the outer loop determines the inner loop's length. The inner loop must then stay
        inside the outer loop.
        """
        named = [self.axis(v) for v in loops]
        require_legal(len(set(loops)) == len(loops), "a loop is named twice")
        axes = (*named, *(a for a in self.axes if a not in named))
        return self if axes == self.axes else replace(self, axes=axes)
