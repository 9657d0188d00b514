"""Dot steps: products of consecutive elements of a small type, summed into each 32-bit lane.

A `dot` loop inside a vector loop multiplies groups of four consecutive bytes, or of two bf16, and
adds the products to a lane. Targets with a dot product instruction use it. Other x86 targets
multiply and sum pairs of 16-bit integers, and widen bf16. For bytes the result equals the result of
the plain loop: exact, or wrapped. For bf16 the products are exact; the rounding of their sum
depends on the target, and x86 flushes denormal operands and results to 0. Source: Intel's manual
(VPDPBUSD, VPMADDWD, VDPBF16PS) and Arm's manual (SDOT, UDOT, USDOT, BFDOT).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from compiler.codegen.access.addresses import Resolved
from compiler.codegen.access.loads import least_elements, read, read_word
from compiler.codegen.access.memory import Memory
from compiler.codegen.arithmetic.functions import Arithmetic
from compiler.codegen.values import Value, constant, value_type
from compiler.compute.scalar import Apply, Convert, Read, Scalar
from compiler.dataclass import dataclass
from compiler.ir.types import DType
from compiler.loops.nodes import Buffer, Loop, Store
from compiler.targets.target import Target

SUMMED_IN = {DType.u8: DType.i32, DType.i8: DType.i32, DType.bf16: DType.f32}
"""Maps each small type to the type in which its products are summed."""

HIGH_BIT = 0x80

Step = Callable[[Value, Value, Value], Value]
"""Emits the sum of the first value and the products of the second and third values."""


def group_of(dtype: DType) -> int:
    """Return the number of elements of a type per 32-bit lane."""
    return 4 // dtype.nbytes


@dataclass(frozen=True, slots=True)
class Products:
    """The operation of a dot loop: it adds `n` products of two reads to a register."""

    store: Store
    left: Read
    right: Read
    n: int


def products(loop: Loop) -> Products | None:
    """Match a dot loop over the elements of one lane; None for a loop that must be unrolled.

    A single bf16 forms a pair with 0.
    """
    if loop.start != 0 or not isinstance(loop.stop, int) or len(loop.body) != 1:
        return None
    (store,) = loop.body
    if not isinstance(store, Store) or not isinstance(store.value, Apply):
        return None
    match store.value:
        case Apply("add", (Read(name, index, dtype), Apply("mul", (a, b), _)), _):
            left, right = _short(a), _short(b)
            if (name, index) != (store.buffer, store.index) or left is None or right is None:
                return None
            if {SUMMED_IN[left.dtype], SUMMED_IN[right.dtype]} != {dtype}:
                return None
            if loop.stop == group_of(left.dtype) or left.dtype is DType.bf16:
                return Products(store, left, right, loop.stop)
        case _:
            pass
    return None


def _short(s: Scalar) -> Read | None:
    match s:
        case Convert(Read() as read, dtype) if SUMMED_IN.get(read.dtype) is dtype:
            return read
        case _:
            return None


class Dots:
    """Emits dot steps for the lanes of the current vector loop."""

    def __init__(self, memory: Memory, arithmetic: Arithmetic, target: Target) -> None:
        self.memory = memory
        self.arithmetic = arithmetic
        self.out = arithmetic.out
        self.target = target

    def can(self, dtype: DType, lanes: int) -> bool:
        """Return whether the target has dot instructions for a small type in `lanes` lanes."""
        if lanes not in (4, 8, 16) or 4 * lanes > self.target.vector_bytes:
            return False
        if dtype is DType.bf16:
            return self.target.has_bf16_dot
        return self.target.is_x86 or self.target.has_int8_dot

    def group(self, b: Buffer, first: Resolved, n: int, stride: int) -> Value | None:
        """Load `n` elements per lane, from `first` on; None for an unsupported access pattern.

        Two patterns are supported. Either all lanes read the same consecutive elements, or each
        lane reads a complete group, directly after the group of the previous lane. If the lanes are
        contiguous or uniform, the second element of a pair may also be `stride` elements after the
        first. Pairs of bf16 are returned as 32 bits.
        """
        lane = self.memory.indices.env.lane
        assert lane is not None
        whole = group_of(b.dtype)
        if b.dtype is DType.bf16:
            b = replace(b, dtype=DType.u16)
        if first.lane_atoms or lane.stop is not None:
            return None
        if first.lane_step == 1 and whole == 2:
            return self._side_by_side(b, first, n, stride)
        if not first.lane_step and whole == 2 and n == 2 and stride != 1:
            return self._put_together(b, first, stride)
        if first.lane_step not in (0, whole) or stride != 1:
            return None
        at, level = self._pointer(b, first)
        if not first.lane_step:
            word = self._word(b, at, level, n)
            return self._as(self.out.splat(word, lane.lanes), b.dtype, whole)
        if n < whole and b.shape[-1] != whole:
            return None
        return self._run(b, first, at, level, whole)

    def _run(self, b: Buffer, first: Resolved, at: Value, level: int, each: int) -> Value:
        """Load `each` contiguous elements per lane; inactive lanes are unspecified."""
        lane = self.memory.indices.env.lane
        assert lane is not None
        n_active, n_all = each * lane.active, each * lane.lanes
        _, last = self.memory.indices.bounds(first)
        if lane.is_full or last + n_all - n_active + each <= least_elements(b):
            return read(self.memory, b, at, n_all, level)
        found = read(self.memory, b, at, n_active, level)
        return self.out.shuffle(found, None, [i if i < n_active else -1 for i in range(n_all)])

    def _side_by_side(self, b: Buffer, first: Resolved, n: int, stride: int) -> Value:
        """Load the first and the second elements of all lanes, and interleave both vectors."""
        runs: list[Value] = []
        for i in range(n):
            r = first._replace(constant=first.constant + i * stride)
            at, level = self._pointer(b, r)
            runs.append(self._run(b, r, at, level, 1))
        lanes = runs[0].lanes
        second = runs[1] if n > 1 else constant(0, b.dtype, lanes)
        return self.out.shuffle(runs[0], second, [i // 2 + i % 2 * lanes for i in range(2 * lanes)])

    def _put_together(self, b: Buffer, first: Resolved, stride: int) -> Value:
        """Return a pair that is equal in all lanes; its elements are `stride` apart in memory."""
        lane = self.memory.indices.env.lane
        assert lane is not None
        parts: list[Value] = []
        for i in range(2):
            at, level = self._pointer(b, first._replace(constant=first.constant + i * stride))
            one = read(self.memory, b, at, 0, level)
            parts.append(self.out.op(f"zext {one.typed} to i32", DType.i32, 0, one))
        high = self.arithmetic.two("shl", parts[1], constant(16, DType.i32))
        word = self.arithmetic.two("or", parts[0], high)
        return self._as(self.out.splat(word, lane.lanes), b.dtype, 2)

    def _pointer(self, b: Buffer, r: Resolved) -> tuple[Value, int]:
        """Return the pointer to an element, and the outermost scope in which a load is correct."""
        pointer = self.memory.base(b, r)
        level = self.memory.load_level(b, pointer)
        return self.memory.displaced(pointer, r.constant * b.dtype.nbytes, level), level

    def _word(self, b: Buffer, at: Value, level: int, n: int) -> Value:
        """Load the elements of one lane, padded with zeros."""
        if n == group_of(b.dtype):
            return read_word(self.memory, b, at, level)
        one = read(self.memory, b, at, 0, level)
        return self.out.op(f"zext {one.typed} to i32", DType.i32, 0, one)

    def add(self, total: Value, left: Value, right: Value) -> Value:
        """Add the products of each lane's elements to a total."""
        kinds = (left.dtype, right.dtype)
        if kinds == (DType.u16, DType.u16):
            return self._of_bf16(total, left, right)
        if kinds == (DType.i8, DType.u8):
            return self.add(total, right, left)
        if not self.target.has_int8_dot:
            return self._by_pairs(total, left, right)
        if self.target.is_x86:
            return self._unsigned_by_signed(total, left, right, self._vpdpbusd)
        if kinds[0] is kinds[1]:
            prefix = "u" if kinds[0] is DType.u8 else "s"
            return self._arm(f"{prefix}dot", total, left, right)
        moved = self._arm("sdot", total, self._flipped(left), right)
        ones = constant(1, DType.i8, right.lanes)
        return self._plus(moved, self._arm("sdot", self._zero(total), ones, right), "add")

    def _unsigned_by_signed(self, total: Value, left: Value, right: Value, step: Step) -> Value:
        """Emit a step for bytes of any signedness; `step` multiplies unsigned by signed bytes.

        Shift an operand of the wrong signedness by 128, and correct the total by 128 times the sum
        of the other operand.
        """
        if left.dtype is DType.i8:
            moved = step(total, self._flipped(left), right)
            sums = step(self._zero(total), constant(1, DType.u8, left.lanes), right)
            return self._plus(moved, sums, "sub")
        if right.dtype is DType.u8:
            moved = step(total, left, self._flipped(right))
            sums = step(self._zero(total), left, constant(1, DType.i8, right.lanes))
            return self._plus(moved, sums, "add")
        return step(total, left, right)

    def _plus(self, total: Value, sums: Value, operation: str) -> Value:
        """Add 128 times `sums` to a total, or subtract 128 times `sums`."""
        shifted = self.arithmetic.two("shl", sums, constant(7, DType.i32, sums.lanes))
        return self.arithmetic.two(operation, total, shifted)

    def _flipped(self, v: Value) -> Value:
        """Convert unsigned bytes to signed bytes by subtracting 128, or the reverse."""
        flipped = self.arithmetic.two("xor", v, constant(HIGH_BIT, v.dtype, v.lanes))
        dtype = DType.u8 if v.dtype is DType.i8 else DType.i8
        return Value(flipped.ref, dtype, v.lanes, flipped.level)

    def _zero(self, like: Value) -> Value:
        return constant(0, like.dtype, like.lanes)

    def _vpdpbusd(self, total: Value, left: Value, right: Value) -> Value:
        name = f"llvm.x86.avx512.vpdpbusd.{total.lanes * 32}"
        return self.out.call(name, DType.i32, total.lanes, total, left, right)

    def _arm(self, name: str, total: Value, left: Value, right: Value) -> Value:
        full = f"llvm.aarch64.neon.{name}.v{total.lanes}i32.v{left.lanes}i8"
        return self.out.call(full, DType.i32, total.lanes, total, left, right)

    def _of_bf16(self, total: Value, left: Value, right: Value) -> Value:
        lanes = total.lanes
        pairs = f"<{2 * lanes} x bfloat>"
        name = f"llvm.x86.avx512bf16.dpbf16ps.{32 * lanes}"
        if not self.target.is_x86:
            name = f"llvm.aarch64.neon.bfdot.v{lanes}f32.v{2 * lanes}bf16"
        a, b = (
            self.out.op(f"bitcast {v.typed} to {pairs}", v.dtype, v.lanes, v) for v in (left, right)
        )
        self.out.declare(f"declare {total.type} @{name}({total.type}, {pairs}, {pairs})")
        text = f"call {total.type} @{name}({total.typed}, {pairs} {a.ref}, {pairs} {b.ref})"
        return self.out.op(text, total.dtype, lanes, total, a, b)

    # Without an instruction for four bytes

    def _by_pairs(self, total: Value, left: Value, right: Value) -> Value:
        """Add the products of even bytes, then of odd bytes; a lane has two bytes of each kind."""
        for part in (self._even, self._odd):
            pair = self._pairs(part(left), part(right))
            total = self.arithmetic.two("add", total, pair)
        return total

    def _even(self, v: Value) -> Value:
        """Extend the lower byte of each 16-bit group to 16 bits."""
        a, wide = self.arithmetic, self._as(v, DType.i16, 2, from_lanes=v.lanes // 4)
        if v.dtype is DType.u8:
            return a.two("and", wide, constant(0xFF, DType.i16, wide.lanes))
        eight = constant(8, DType.i16, wide.lanes)
        return a.two("ashr", a.two("shl", wide, eight), eight)

    def _odd(self, v: Value) -> Value:
        """Extend the upper byte of each 16-bit group to 16 bits."""
        wide = self._as(v, DType.i16, 2, from_lanes=v.lanes // 4)
        shift = "lshr" if v.dtype is DType.u8 else "ashr"
        return self.arithmetic.two(shift, wide, constant(8, DType.i16, wide.lanes))

    def _pairs(self, left: Value, right: Value) -> Value:
        """Multiply 16-bit integers, and sum adjacent pairs of products in 32 bits."""
        lanes = left.lanes // 2
        name = {4: "sse2.pmadd.wd", 8: "avx2.pmadd.wd", 16: "avx512.pmaddw.d.512"}[lanes]
        return self.out.call(f"llvm.x86.{name}", DType.i32, lanes, left, right)

    def _as(self, v: Value, dtype: DType, parts: int, from_lanes: int = 0) -> Value:
        """Reinterpret bits as `parts` elements per 32-bit lane."""
        lanes = parts * (from_lanes or v.lanes)
        text = f"bitcast {v.typed} to {value_type(dtype, lanes)}"
        return self.out.op(text, dtype, lanes, v)
