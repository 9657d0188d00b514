"""Moves that change the memory layout of operands and partial sums."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Self

from compiler.compute.scalar import (
    Apply,
    Convert,
    Inside,
    Read,
    Scalar,
    fetches,
    reads,
    rewrite,
    walk,
)
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.schedule.axes import Axis, Entry
from compiler.schedule.language.legal import Checked, require_legal
from compiler.schedule.language.move import Count, LoopName, TensorName, move
from compiler.schedule.operands.packing import packing_for

MOST_PADDED = 1 << 24
"""The maximum number of elements of a padded constant; a larger result is legal if padding at most
doubles the constant."""


MOST_COPIED = 1 << 24
"""The maximum number of elements that one copy in a loop may have."""


class Storage(Checked):
    """A nest with the moves `round_up`, `cache_read`, `prefetch`, `cache_write` and `pack`."""

    @move(
        example="""
        computation double(A: f32[1,3,2,2]{c4}) -> Y: f32[1,3,2,2]{c4} {
          Y[n, c, y, x] = add(A[n, c, y, x], A[n, c, y, x])  for n<1, c<3, y<2, x<2
        }
        =>
        Y: round_up(c, 4)
        =>
        for c in 0..4 {
          for y in 0..2 {
            for x in 0..2 {
              Y[0, 0, y, x, c] = add(A[0, 0, y, x, c], A[0, 0, y, x, c])
            }
          }
        }
        """,
        near_miss="""
        computation double(A: f32[1,3,2,2]) -> Y: f32[1,3,2,2] {
          Y[n, c, y, x] = add(A[n, c, y, x], A[n, c, y, x])  for n<1, c<3, y<2, x<2
        }
        =>
        Y: round_up(c, 4)
        =>
        Y has no padding after c
        """,
    )
    def round_up(self, loop: LoopName, multiple: Count) -> Self:
        """Extend a loop over blocked channels to the next multiple, including the padding lanes.

        Full vectors need no remainder loop. Nothing reads values stored in padding. Operands must
        have padding too: blocked operands, or constants that are packed later. A loop of an integer
        sum may be extended if each term has a factor padded with zeros.
        """
        a = self.axis(loop)
        require_legal(isinstance(a.extent, int), f"the length of {a} is known only at run time")
        extent = -(-a.extent // multiple) * multiple
        if extent == a.extent:
            return self
        longer = replace(a, extent=extent)
        require_legal(a.kind == "for" and not self._is_part(loop), f"{a} is no longer a plain loop")
        for b in () if a.is_reduction else self.results:
            require_legal(
                self._has_room(b.target, b.index, a, longer),
                f"{b.target} has no padding after {loop}",
            )
        owed = {
            r.tensor for r in self.reads() if not self._has_room(r.tensor, r.index, a, longer, True)
        }
        for tensor in sorted(owed):
            require_legal(self._may_owe(tensor, loop), f"{tensor} has no padding after {loop}")
        require_legal(
            not a.is_reduction or self._meets_zeros(owed),
            f"elements after the end of {loop} would be added to the sums",
        )
        axes = tuple(longer if b is a else b for b in self.axes)
        return replace(self, axes=axes, owed=self.owed | owed)

    def _is_part(self, var: str) -> bool:
        return any(var in (s.outer, s.inner) for s in self.splits.values())

    def _has_room(
        self, tensor: str, index: tuple[Expr, ...], a: Axis, longer: Axis, is_read: bool = False
    ) -> bool:
        """Return whether a tensor has elements past a loop's end; stores need channel padding."""
        ranges = {**self.ranges, a.var: longer.range}
        uses = [(e, n) for e, n in zip(index, self.shapes[tensor], strict=True) if _uses(e, a.var)]
        inside = all(isinstance(n, int) and affine.bounds(e, ranges)[1] < n for e, n in uses)
        if is_read:
            return inside
        t = self.tensors[tensor]
        v, block = affine.symbol(a.var), t.layout.block
        own = {
            affine.simplify(e, ranges) for e in (affine.floordiv(v, block), affine.mod(v, block))
        }
        rounded = {affine.simplify(e, ranges) for e, _ in uses}
        return inside and block > 1 and t.dims[1] == a.extent and rounded <= own

    def _meets_zeros(self, owed: set[str]) -> bool:
        """Return whether every term of an integer sum has a factor padded with zeros."""
        for reduce in self.reductions:
            body = reduce.body
            if not (isinstance(body, Apply) and body.fn == "mul") or reduce.combine != "add":
                return False
            factors = (s.arg if isinstance(s, Convert) else s for s in body.args)
            has_zeros = any(isinstance(s, Read) and s.tensor in owed for s in factors)
            if not has_zeros or body.dtype.is_float:
                return False
        return True

    def _may_owe(self, tensor: str, loop: str) -> bool:
        found = [e for r in self.reads() if r.tensor == tensor for e in r.index if _uses(e, loop)]
        return tensor in self.packable and all(e == affine.symbol(loop) for e in found)

    @move(
        example="""
        computation transpose(A: f32[6,4]) -> Y: f32[4,6] {
          Y[i, j] = A[j, i]  for i<4, j<6
        }
        =>
        Y: split(j, 3, jo, ji)
        Y: reorder(jo, i, ji)
        Y: cache_read(A, jo)
        =>
        for jo in 0..2 {
          for i in 0..4 {
            for ji in 0..3 {
              A'Y[i, ji] = A[ji+3*jo, i]
            }
          }
          for i in 0..4 {
            for ji in 0..3 {
              Y[i, ji+3*jo] = A'Y[i, ji]
            }
          }
        }
        """,
        near_miss="""
        computation pad(A: f32[6]) -> Y: f32[8] {
          Y[i] = inside([(i-1, 6)], A[i-1], f32(0.0))  for i<8
        }
        =>
        Y: split(i, 4, io, ii)
        Y: cache_read(A, io)
        =>
        A is read only under a condition
        """,
    )
    def cache_read(self, tensor: TensorName, loop: LoopName) -> Self:
        """Copy an operand at the start of each iteration: the elements that inner loops read.

        The copy is a contiguous block in the order of the inner loops, so they read it with stride
        1. A copy helps if the inner loops read each element several times, or read cache lines that
        are far apart.
        """
        read = self._read_of(tensor)
        tests = (p for value in self.values for p in walk(value) if isinstance(p, Inside))
        require_legal(
            not any(read in reads(t) for t in tests), f"{tensor} is read only under a condition"
        )
        inside = self.axes[self.position(loop) + 1 :]
        axes = [a for a in inside if any(_uses(e, a.var) for e in read.index)]
        require_legal(bool(axes), f"{tensor} does not depend on the loops inside {loop}")
        extents = [a.extent for a in axes if isinstance(a.extent, int)]
        require_legal(
            len(extents) == len(axes), "the length of an inner loop is known only at run time"
        )
        n_elements = math.prod(extents)
        require_legal(n_elements <= MOST_COPIED, f"a copy of {n_elements:,} elements is too large")
        place = tuple(affine.symbol(a.var) for a in axes)
        block = f"{tensor}'{self.target}"
        require_legal(block not in self.shapes, f"{tensor} is already copied")
        copied = Read(block, place, read.dtype)

        def change(s: Scalar) -> Scalar | None:
            return copied if s == read else None

        return replace(
            self,
            value=rewrite(self.value, change),
            beside=tuple(replace(b, value=rewrite(b.value, change)) for b in self.beside),
            shapes={**self.shapes, block: tuple(extents)},
            entries=(*self.entries, Entry(loop, tensor, read.index, block, place)),
        )

    @move(
        example="""
        computation transpose(A: f32[6,4]) -> Y: f32[4,6] {
          Y[i, j] = A[j, i]  for i<4, j<6
        }
        =>
        Y: reorder(j, i)
        Y: prefetch(A, j, 2)
        =>
        for j in 0..6 {
          prefetch A[j+2, 0]
          for i in 0..4 {
            Y[i, j] = A[j, i]
          }
        }
        """,
        near_miss="""
        computation add(A: f32[4], C: f32[3,4]) -> Y: f32[3,4] {
          Y[i, j] = add(C[i, j], A[j])  for i<3, j<4
        }
        =>
        Y: prefetch(A, i, 2)
        =>
        A does not depend on i
        """,
    )
    def prefetch(
        self,
        tensor: TensorName,
        loop: LoopName,
        distance: Count,
        over: LoopName = "",
        share: Count = 1,
    ) -> Self:
        """Prefetch the first cache line that is read `distance` iterations later.

        The hardware prefetcher detects consecutive reads late; it detects no reads across pages or
        with large strides. In a packed constant the elements of an iteration are contiguous, so the
        move prefetches all cache lines of these elements.

        If all iterations of an outer loop `over` read the same lines, each iteration can prefetch
        one of `share` equal parts of them.
        """
        read = self._read_of(tensor)
        self.axis(loop)
        uses = any(_uses(e, loop) for e in read.index)
        require_legal(uses, f"{tensor} does not depend on {loop}")
        require_legal(not self._is_open(loop), f"the length of {loop} is known only at run time")
        if over:
            apart = any(_uses(e, over) for e in read.index)
            require_legal(not apart, f"iterations of {over} read different elements of {tensor}")
            known = isinstance(self.axis(loop).extent, int)
            require_legal(known, f"the length of {loop} is known only at run time")
        made = Entry(loop, tensor, read.index, distance=distance, over=over, share=share)
        return replace(self, entries=(*self.entries, made))

    def _is_open(self, loop: str) -> bool:
        """Return whether a loop is the outer part of a split whose length is symbolic."""
        return loop in self.splits and not isinstance(self.splits[loop].length, int)

    def _read_of(self, tensor: str) -> Read:
        """Return the only read of a tensor. Errors: E-SCHEDULE-MOVE."""
        found = {r for r in self.reads() if r.tensor == tensor}
        names = ", ".join(sorted({r.tensor for r in self.reads()})) or "nothing"
        require_legal(bool(found), f"{tensor} is not an operand of this nest; operands: {names}")
        require_legal(len(found) == 1, f"{tensor} is read at {len(found)} different indices")
        computed = any(f.tensor == tensor for value in self.values for f in fetches(value))
        require_legal(not computed, f"{tensor} is read at computed indices")
        require_legal(tensor in self.tensors, f"{tensor} is already a copy")
        (read,) = found
        return read

    @move(
        example="""
        computation dense(A: f32[2,6], B: f32[6,8]) -> Y: f32[2,8] {
          Y[m, n] = reduce_add([k], mul(A[m, k], B[k, n]))  for m<2, n<8, k<6
        }
        =>
        Y: split(k, 3, ko, ki)
        Y: reorder(ko, m, n, ki)
        Y: cache_write(ko)
        =>
        for m in 0..2 {
          for n in 0..8 {
            sums'[m, n] = f32(0.0)
          }
        }
        for ko in 0..2 {
          for m in 0..2 {
            for n in 0..8 {
              acc[] = f32(0.0)
              for ki in 0..3 {
                acc[] = add(acc[], mul(A[m, ki+3*ko], B[ki+3*ko, n]))
              }
              sums'[m, n] = add(sums'[m, n], acc[])
            }
          }
        }
        for m in 0..2 {
          for n in 0..8 {
            Y[m, n] = sums'[m, n]
          }
        }
        """,
        near_miss="""
        computation dense(A: f32[2,6], B: f32[6,8]) -> Y: f32[2,8] {
          Y[m, n] = reduce_add([k], mul(A[m, k], B[k, n]))  for m<2, n<8, k<6
        }
        =>
        Y: cache_write(m)
        =>
        m is not a plain loop of the reduction
        """,
    )
    def cache_write(self, loop: LoopName) -> Self:
        """Keep the partial sums of a reduction loop in memory instead of registers.

        Loops over points may then run inside the reduction loop. A long reduction is divided into
        parts whose operands stay in the cache. Each part accumulates sums in registers, and finally
        adds the sums to a block in memory. The block has an element for each point of the inner
        loops.
        """
        a = self.axis(loop)
        require_legal(
            a.is_reduction and a.kind == "for" and not a.lanes,
            f"{loop} is not a plain loop of the reduction",
        )
        require_legal(not self.cached, f"the sums of {self.cached} are already in memory")
        return replace(self, cached=loop)

    @move(
        example="""
        computation dense(A: f32[2,3], B: f32[3,8]) -> Y: f32[2,8] {
          Y[m, n] = reduce_add([k], mul(A[m, k], B[k, n]))  for m<2, n<8, k<3
        }
        =>
        Y: split(n, 4, no, ni)
        Y: reorder(no, m, ni, k)
        Y: pack(B)
        =>
        for no in 0..2 {
          for m in 0..2 {
            for ni in 0..4 {
              acc[] = f32(0.0)
              for k in 0..3 {
                acc[] = add(acc[], mul(A[m, k], B[no, ni, k]))
              }
              Y[m, ni+4*no] = acc[]
            }
          }
        }
        """,
        near_miss="""
        computation both(B: f32[5,3]) -> Y: f32[4,3] {
          Y[i, j] = add(B[i, j], B[i+1, j])  for i<4, j<3
        }
        =>
        Y: pack(B)
        =>
        B is read at 2 different indices
        """,
    )
    def pack(self, tensor: TensorName) -> Self:
        """Repack a constant at compile time, in the order in which the loops read it.

        Each index of the constant must combine entire loops, and no other nest may read the
        constant. Incomplete blocks are padded with zeros. Later moves do not change the packed
        order.
        """
        index = self._read_of(tensor).index
        require_legal(
            tensor in self.packable, f"{tensor} is not a constant that only this nest reads"
        )
        require_legal(tensor not in self.packings, f"{tensor} is already packed")
        packing, variables = packing_for(
            index, self.shapes[tensor], {a.var: a.extent for a in self.axes}
        )
        text = ", ".join(map(str, index))
        require_legal(
            packing is not None, f"the indices of {tensor}[{text}] do not combine entire loops"
        )
        assert packing is not None
        n_elements = self.tensors[tensor].n_elements
        n_padded = affine.assumed(affine.product(packing.shape))
        require_legal(
            n_padded <= max(MOST_PADDED, 2 * affine.assumed(n_elements)),
            f"padding would enlarge {tensor} from {n_elements:,} to {n_padded:,} elements",
        )
        new_index = tuple(affine.symbol(v) for v in variables)

        def change(s: Scalar) -> Scalar | None:
            is_read = isinstance(s, Read) and s.tensor == tensor
            return replace(s, index=new_index) if is_read else None

        return replace(
            self,
            value=rewrite(self.value, change),
            beside=tuple(replace(b, value=rewrite(b.value, change)) for b in self.beside),
            entries=tuple(
                replace(e, index=new_index) if e.tensor == tensor else e for e in self.entries
            ),
            packings={**self.packings, tensor: packing},
            shapes={**self.shapes, tensor: packing.shape},
            owed=self.owed - {tensor},
        )


def _uses(e: Expr, var: str) -> bool:
    return var in affine.symbols(e)
