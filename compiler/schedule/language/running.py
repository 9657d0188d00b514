"""Moves that make a loop run unrolled, vectorised, in parallel, or as one instruction."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from compiler.compute.scalar import Apply
from compiler.loops.nodes import LoopKind
from compiler.schedule.language.legal import Checked, require_legal
from compiler.schedule.language.move import LoopName, StepName, move

STEPS: dict[str, LoopKind] = {"dot": "dot", "tile": "tile"}
"""The kinds of instructions to which `tensorize` can map a loop, by name."""


class Running(Checked):
    """A nest with the moves `unroll`, `vectorize`, `parallel`, `rfactor` and `tensorize`."""

    @move(
        example="""
        computation scale(A: f32[3,4]) -> Y: f32[3,4] {
          Y[i, j] = mul(A[i, j], f32(2.0))  for i<3, j<4
        }
        =>
        Y: unroll(i)
        =>
        unroll i in 0..3 {
          for j in 0..4 {
            Y[i, j] = mul(A[i, j], f32(2.0))
          }
        }
        """,
        near_miss="""
        computation scale(A: f32[N,4]) -> Y: f32[N,4] {
          Y[i, j] = mul(A[i, j], f32(2.0))  for i<N, j<4
        }
        =>
        Y: unroll(i)
        =>
        is known only at run time
        """,
    )
    def unroll(self, *loops: LoopName) -> Self:
        """Unroll loops: emit all iterations as straight-line code, without a counter.

        Operands that iterations share are loaded once, and sums inside a reduction stay in
        registers. Larger code compiles more slowly and may exceed the processor's cache of decoded
        instructions.
        """
        return self._marked("unroll", *loops)

    @move(
        example="""
        computation scale(A: f32[3,8]) -> Y: f32[3,8] {
          Y[i, j] = mul(A[i, j], f32(2.0))  for i<3, j<8
        }
        =>
        Y: vectorize(j)
        =>
        for i in 0..3 {
          vector j in 0..8 {
            Y[i, j] = mul(A[i, j], f32(2.0))
          }
        }
        """,
        near_miss="""
        computation scale(A: f32[3,8]) -> Y: f32[3,8] {
          Y[i, j] = mul(A[i, j], f32(2.0))  for i<3, j<8
        }
        =>
        Y: vectorize(i)
        =>
        a vector loop must be innermost
        """,
    )
    def vectorize(self, loop: LoopName) -> Self:
        """Vectorise the innermost loop: one iteration in each lane of a vector.

        Vectorisation helps if consecutive iterations access consecutive elements. Lanes over a
        reduction need separate sums: see `rfactor`.
        """
        return self._marked("vector", loop)

    @move(
        example="""
        computation scale(A: f32[3,8]) -> Y: f32[3,8] {
          Y[i, j] = mul(A[i, j], f32(2.0))  for i<3, j<8
        }
        =>
        Y: parallel(i)
        =>
        parallel i in 0..3 {
          for j in 0..8 {
            Y[i, j] = mul(A[i, j], f32(2.0))
          }
        }
        """,
        near_miss="""
        computation sum(A: f32[3,8]) -> Y: f32[3] {
          Y[i] = reduce_add([k], A[i, k])  for i<3, k<8
        }
        =>
        Y: parallel(k)
        =>
        its threads would add to the same sums
        """,
    )
    def parallel(self, loop: LoopName) -> Self:
        """Divide the iterations of a loop among threads.

        Iterations over the target's points are independent; iterations of a reduction are not.
        """
        return self._marked("parallel", loop)

    @move(
        example="""
        computation sum(A: f32[3,8]) -> Y: f32[3] {
          Y[i] = reduce_add([k], A[i, k])  for i<3, k<8
        }
        =>
        Y: split(k, 4, ko, kl)
        Y: rfactor(kl)
        Y: vectorize(kl)
        =>
        for i in 0..3 {
          vector kl in 0..4 {
            acc[kl] = f32(0.0)
          }
          for ko in 0..2 {
            vector kl in 0..4 {
              acc[kl] = add(acc[kl], A[i, kl+4*ko])
            }
          }
          acc1[] = add(add(acc[0], acc[2]), add(acc[1], acc[3]))
          Y[i] = acc1[]
        }
        """,
        near_miss="""
        computation sum(A: f32[3,8]) -> Y: f32[3] {
          Y[i] = reduce_add([k], A[i, k])  for i<3, k<8
        }
        =>
        Y: rfactor(i)
        =>
        i is not a loop of the reduction
        """,
    )
    def rfactor(self, *loops: LoopName) -> Self:
        """Give each iteration of reduction loops a separate partial sum; add these sums at the end.

        The loops can then be vectorised or unrolled, and the chains of additions are independent.
        The rounding of float sums changes; sums of many terms become more accurate.
        """
        for var in loops:
            a = self.axis(var)
            require_legal(a.is_reduction, f"{var} is not a loop of the reduction")
            require_legal(isinstance(a.extent, int), f"the length of {a} is known only at run time")
        axes = tuple(replace(a, lanes=True) if a.var in loops else a for a in self.axes)
        return self if axes == self.axes else replace(self, axes=axes)

    @move(
        example="""
        computation bytes(A: u8[2,8], B: i8[8,4]) -> Y: i32[2,4] {
          Y[m, n] = reduce_add([k], mul(to_i32(A[m, k]), to_i32(B[k, n])))  for m<2, n<4, k<8
        }
        =>
        Y: split(k, 4, ko, kd)
        Y: reorder(m, ko, n, kd)
        Y: tensorize(kd, dot)
        Y: vectorize(n)
        =>
        for m in 0..2 {
          vector n in 0..4 {
            acc[n] = i32(0)
          }
          for ko in 0..2 {
            vector n in 0..4 {
              dot kd in 0..4 {
                acc[n] = add(acc[n], mul(to_i32(A[m, kd+4*ko]), to_i32(B[kd+4*ko, n])))
              }
            }
          }
          vector n in 0..4 {
            Y[m, n] = acc[n]
          }
        }
        """,
        near_miss="""
        computation largest(A: u8[2,8]) -> Y: u8[2] {
          Y[m] = reduce_max([k], A[m, k])  for m<2, k<8
        }
        =>
        Y: split(k, 4, ko, kd)
        Y: tensorize(kd, dot)
        =>
        dot steps sum products, but the reduction is the max of A
        """,
    )
    def tensorize(self, loop: LoopName, step: StepName) -> Self:
        """Map a loop to an instruction: a dot product step, or the rows of a matrix tile.

        In every lane, `dot` multiplies four consecutive bytes (or two consecutive bf16 elements) of
        both operands, and adds the products to a 32-bit sum. A `tile` loop runs over the rows of a
        matrix tile of 32-bit sums; inside it are reduction steps, lanes and a dot step. The sums of
        a tile are in memory while no loop adds to these sums. On machines without the instruction,
        the loop runs as ordinary code.
        """
        a = self.axis(loop)
        require_legal(step in STEPS, f"there is no step {step!r}; steps: {', '.join(STEPS)}")
        if step == "dot":
            require_legal(
                a.is_reduction,
                f"{loop} is not a loop of the reduction, and dot steps sum over the reduction only",
            )
        else:
            require_legal(
                not a.is_reduction and bool(self.reduced),
                f"{loop} runs over the reduction, but the rows of a tile are points of the target",
            )
            require_legal(
                all(b.kind != "tile" for b in self.axes),
                "a loop already runs over the rows of tiles",
            )
        require_legal(a.kind == "for" and not a.lanes, f"{a} is no longer a plain loop")
        for reduce in self.reductions:
            is_product = isinstance(reduce.body, Apply) and reduce.body.fn == "mul"
            require_legal(
                reduce.combine == "add" and is_product,
                f"{step} steps sum products, but the reduction is the {reduce.combine} of "
                f"{reduce.body!s:.40}",
            )
        return self._marked(STEPS[step], loop)

    def _marked(self, kind: LoopKind, *loops: str) -> Self:
        for var in loops:
            self.axis(var)
        axes = tuple(replace(a, kind=kind) if a.var in loops else a for a in self.axes)
        return self if axes == self.axes else replace(self, axes=axes)
