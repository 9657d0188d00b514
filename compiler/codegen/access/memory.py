"""Single memory accesses: pointers, reuse of loads, masks, and types in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from compiler.codegen.access.addresses import Resolved
from compiler.codegen.access.indices import Indices
from compiler.codegen.emitter import Emitter
from compiler.codegen.values import (
    Value,
    constant,
    memory_type,
    value_type,
)
from compiler.ir.types import DType
from compiler.loops.nodes import Buffer
from compiler.targets.target import Target


class Memory:
    """Emits single accesses to buffers in memory."""

    def __init__(self, out: Emitter, indices: Indices, target: Target) -> None:
        self.out = out
        self.indices = indices
        self.target = target
        self.streams = False
        """Whether a non-temporal store was emitted."""
        self._versions: Counter[str] = Counter()
        self._writers: dict[str, list[int]] = {}

    # Stores by loop: a load is loop-invariant only if the loop has no store to the same buffer.

    def enter_loop(self, written: Iterable[str], level: int) -> None:
        """Record the start of a loop at `level` whose body stores to the buffers `written`."""
        for name in written:
            self._versions[name] += 1
            self._writers.setdefault(name, [0]).append(level)

    def leave_loop(self, written: Iterable[str]) -> None:
        """Leave the loop."""
        for name in written:
            self._versions[name] += 1
            self._writers[name].pop()

    # Pointers

    def base(self, b: Buffer, r: Resolved) -> Value:
        """Emit the pointer to an element without the constant offset, one addition per loop."""
        known = self.out.scopes[-1].pointers
        key = (b.name, r.atoms)
        pointer = known.get(key)
        if pointer is not None:
            return pointer
        pointer = Value(parameter(b), DType.u64)
        for part in self.indices.by_level(r, b.dtype.nbytes):
            # Addresses already consist of a base and a constant. LLVM's loop strength reduction
            # would take a quarter of LLVM's time to share registers among bases; freeze prevents
            # that.
            offset = self.out.op(f"freeze i64 {part.ref}", DType.i64, 0, part)
            text = f"getelementptr i8, ptr {pointer.ref}, i64 {offset.ref}"
            pointer = self.out.op(text, DType.u64, 0, pointer, offset)
        known[key] = pointer
        return pointer

    def displaced(self, pointer: Value, nbytes: int, level: int) -> Value:
        """Emit pointer + bytes near the use, so that LLVM folds the addition into the address."""
        if nbytes == 0:
            return pointer
        text = f"getelementptr i8, ptr {pointer.ref}, i64 {nbytes}"
        return self.out.op_at(text, DType.u64, 0, level)

    def note_store(self, b: Buffer) -> None:
        """Record a store to a buffer: later loads must not reuse earlier loads."""
        self._versions[b.name] += 1

    def load_level(self, b: Buffer, *operands: Value) -> int:
        """Return the outermost scope in which a load with these operands is correct."""
        writers = self._writers.get(b.name)
        level = writers[-1] if writers else 0
        for o in operands:
            if o.level > level:
                level = o.level
        return level

    # Loads

    def read(self, b: Buffer, pointer: Value, lanes: int, level: int) -> Value:
        """Load contiguous elements, or a scalar for 0 lanes."""
        text = f"load {memory_type(b.dtype, lanes)}, ptr {pointer.ref}, align {b.dtype.nbytes}"
        return self.finish(b, text, lanes, level)

    def read_word(self, b: Buffer, pointer: Value, level: int) -> Value:
        """Load several elements of a small type, 32 bits in total, as one integer."""
        text = f"load i32, ptr {pointer.ref}, align {b.dtype.nbytes}"
        key = f"{text};{b.name}.{self._versions[b.name]}"
        return self.out.op_at(text, DType.i32, 0, level, key)

    def read_masked(self, b: Buffer, pointer: Value, mask: Value, level: int) -> Value:
        """Load contiguous elements under a mask; masked-off lanes are 0 and not read."""
        result = memory_type(b.dtype, mask.lanes)
        name = f"llvm.masked.load.v{mask.lanes}{suffix(b.dtype)}.p0"
        self.out.declare(f"declare {result} @{name}(ptr, {mask.type}, {result})")
        text = (
            f"call {result} @{name}(ptr align {b.dtype.nbytes} {pointer.ref}, "
            f"{mask.typed}, {result} zeroinitializer)"
        )
        return self.finish(b, text, mask.lanes, level)

    def finish(self, b: Buffer, text: str, lanes: int, level: int) -> Value:
        """Emit a load with value numbering, and convert it from its memory type."""
        out = self.out
        raw = out.op_at(text, b.dtype, lanes, level, f"{text};{b.name}.{self._versions[b.name]}")
        return self.from_memory(raw)

    def from_memory(self, raw: Value) -> Value:
        """Convert from the type in memory to the type of values."""
        dtype, lanes = raw.dtype, raw.lanes
        kind = memory_type(dtype, lanes)
        if dtype is DType.f16:
            return self.out.op(f"fpext {kind} {raw.ref} to {raw.type}", dtype, lanes, raw)
        if dtype is DType.bool:
            text = f"icmp ne {kind} {raw.ref}, {constant(0, DType.u8, lanes).ref}"
            return self.out.op(text, dtype, lanes, raw)
        if dtype is DType.bf16:
            return self._widen_bf16(raw)
        return raw

    def reinterpreted(self, v: Value, dtype: DType) -> Value:
        """Reinterpret the memory bits of a value as another element type."""
        stored, kind = self.to_memory(v.dtype, v), memory_type(v.dtype, v.lanes)
        wanted = memory_type(dtype, v.lanes)
        text = f"bitcast {kind} {stored} to {wanted}"
        return self.from_memory(self.out.op(text, dtype, v.lanes, v))

    def _widen_bf16(self, raw: Value) -> Value:
        lanes, out = raw.lanes, self.out
        wide = value_type(DType.i32, lanes)
        text = f"zext {memory_type(DType.bf16, lanes)} {raw.ref} to {wide}"
        bits = out.op(text, DType.i32, lanes, raw)
        text = f"shl {wide} {bits.ref}, {constant(16, DType.i32, lanes).ref}"
        bits = out.op(text, DType.i32, lanes, bits)
        return out.op(f"bitcast {bits.typed} to {raw.type}", DType.bf16, lanes, bits)

    # Masks

    def mask(self, guard: Value | None) -> Value:
        """Emit the mask of the active lanes of the vector loop for which the guard holds."""
        lane = self.indices.env.lane
        assert lane is not None
        if lane.is_full:
            if guard is None:
                return constant(True, DType.bool, lane.lanes)
            return self.out.splat(guard, lane.lanes)
        active = self.indices.active_lanes()
        return active if guard is None else self.out.all_of([active, guard])

    def has_masks(self, dtype: DType) -> bool:
        """Return whether the target has masked loads and stores of this type."""
        return has_masks(self.target, dtype)

    # Stores

    def write(self, b: Buffer, at: Value, value: Value) -> None:
        """Store a scalar, or contiguous lanes."""
        stored = self.to_memory(b.dtype, value)
        kind = memory_type(b.dtype, value.lanes)
        self.out.line(f"store {kind} {stored}, ptr {at.ref}, align {b.dtype.nbytes}")

    def write_masked(self, b: Buffer, at: Value, value: Value, mask: Value) -> None:
        """Store contiguous lanes under a mask.

        A constant mask must have more than one live lane; callers store a single lane as a scalar.
        LLVM 22 (x86 with AVX-512) miscompiles a masked store of a truncated vector with one live
        lane. The emitted scalar store of the element before truncation overwrites adjacent
        elements.
        """
        assert not _has_one_live_lane(mask), f"one lane of {b.name} needs a scalar store"
        kind = memory_type(b.dtype, value.lanes)
        name = f"llvm.masked.store.v{value.lanes}{suffix(b.dtype)}.p0"
        self.out.declare(f"declare void @{name}({kind}, ptr, {mask.type})")
        stored = self.to_memory(b.dtype, value)
        self.out.line(
            f"call void @{name}({kind} {stored}, ptr align {b.dtype.nbytes} {at.ref}, {mask.typed})"
        )

    def to_memory(self, dtype: DType, v: Value) -> str:
        """Convert a value to its type in memory; half-precision values must be rounded already."""
        kind = memory_type(dtype, v.lanes)
        if dtype is DType.f16:
            return self.out.op(f"fptrunc {v.typed} to {kind}", dtype, v.lanes, v).ref
        if dtype is DType.bool:
            return self.out.op(f"zext {v.typed} to {kind}", dtype, v.lanes, v).ref
        if dtype is DType.bf16:
            wide = value_type(DType.i32, v.lanes)
            bits = self.out.op(f"bitcast {v.typed} to {wide}", DType.i32, v.lanes, v)
            text = f"lshr {wide} {bits.ref}, {constant(16, DType.i32, v.lanes).ref}"
            bits = self.out.op(text, DType.i32, v.lanes, bits)
            return self.out.op(f"trunc {bits.typed} to {kind}", dtype, v.lanes, bits).ref
        return v.ref


def has_masks(target: Target, dtype: DType) -> bool:
    """Return whether a target has masked loads and stores of this type."""
    return target.has_masks or (target.is_x86 and target.vector_bytes >= 32 and dtype.nbytes >= 4)


def _has_one_live_lane(mask: Value) -> bool:
    return mask.is_constant and mask.ref.count("i1 true") == 1 and not mask.ref.startswith("splat")


def parameter(b: Buffer) -> str:
    """Return the SSA name of a buffer's pointer."""
    escaped = b.name.replace("\\", "\\5C").replace('"', "\\22")
    return f'%"b.{escaped}"'


def suffix(dtype: DType) -> str:
    """Return the suffix of memory intrinsics."""
    kind = memory_type(dtype)
    return {"float": "f32", "double": "f64", "half": "f16"}.get(kind, kind)
