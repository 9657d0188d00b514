"""Loads and stores: whole vectors where lanes lie side by side, else shuffles, masks, gathers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from compiler.codegen.addresses import Indices, Resolved
from compiler.codegen.emitter import Emitter
from compiler.codegen.values import (
    Value,
    constant,
    constant_lanes,
    memory_type,
    value_type,
    vector_of,
)
from compiler.ir import affine
from compiler.ir.types import DType
from compiler.loops.nodes import Buffer
from compiler.targets.target import Target

SHUFFLED_LOADS = 4
"""Lanes spread over at most this many vectors are loaded whole and shuffled, else gathered."""


class Memory:
    """Writes accesses to the buffers that are pointers."""

    def __init__(self, out: Emitter, indices: Indices, target: Target) -> None:
        self.out = out
        self.indices = indices
        self.target = target
        self._versions: Counter[str] = Counter()
        self._writers: dict[str, list[int]] = {}

    # What is written where: a load may leave a loop only when nothing inside changes its buffer.

    def enter_loop(self, written: Iterable[str], level: int) -> None:
        """A loop at this level opens that stores to some buffers."""
        for name in written:
            self._versions[name] += 1
            self._writers.setdefault(name, [0]).append(level)

    def leave_loop(self, written: Iterable[str]) -> None:
        """That loop is closed."""
        for name in written:
            self._versions[name] += 1
            self._writers[name].pop()

    # Pointers

    def _base(self, b: Buffer, r: Resolved) -> Value:
        """The pointer to an element without the constant part of its offset, loop by loop."""
        known = self.out.scopes[-1].pointers
        key = (b.name, r.atoms)
        pointer = known.get(key)
        if pointer is not None:
            return pointer
        pointer = Value(parameter(b), DType.u64)
        for part in self.indices.by_level(r, b.dtype.nbytes):
            pointer = self.out.op(
                f"getelementptr i8, ptr {pointer.ref}, i64 {part.ref}", DType.u64, 0, pointer, part
            )
        known[key] = pointer
        return pointer

    def _displaced(self, pointer: Value, nbytes: int, level: int) -> Value:
        """A pointer plus a number, made where it is used so that it becomes part of the access."""
        if nbytes == 0:
            return pointer
        text = f"getelementptr i8, ptr {pointer.ref}, i64 {nbytes}"
        return self.out.op_at(text, DType.u64, 0, level)

    def _load_level(self, b: Buffer, *operands: Value) -> int:
        writers = self._writers.get(b.name)
        level = writers[-1] if writers else 0
        for o in operands:
            if o.level > level:
                level = o.level
        return level

    # Loads

    def load(self, b: Buffer, r: Resolved, guard: Value | None) -> Value:
        """The elements of all lanes; a scalar when they are the same one.

        Under a guard, lanes (or everything) where it does not hold give any number and read nothing
        outside the buffer.
        """
        if b.n_elements == 0:
            return constant(0, b.dtype)
        if guard is not None and self._inside(b, r):
            guard = None
        if r.is_uniform:
            return self._load_scalar(b, r, guard)
        offsets = self._constant_offsets(r)
        lane = self.indices.env.lane
        assert lane is not None, "no vector loop is open"
        if offsets is not None:
            low, high = min(offsets), max(offsets)
            if offsets == list(range(low, low + lane.active)):
                return self._load_contiguous(b, r, low, guard)
            lanewise = guard is not None and guard.lanes
            n_vectors = -(-(high - low + 1) // lane.lanes)
            if n_vectors <= SHUFFLED_LOADS and not lanewise:
                found = self._load_shuffled(b, r, offsets, guard)
                if found is not None:
                    return found
        return self._gather(b, r, guard)

    def _inside(self, b: Buffer, r: Resolved) -> bool:
        low, high = self.indices.bounds(r)
        return low >= 0 and high < b.n_elements

    def _constant_offsets(self, r: Resolved) -> list[int] | None:
        """How far each active lane's element lies from the shared part, when these are numbers."""
        lane = self.indices.env.lane
        if lane is None:
            return [0]
        if not r.lane_atoms:
            return [r.lane_step * i for i in range(lane.active)]
        total = affine.symbol(lane.var) * r.lane_step
        for atom, c in r.lane_atoms:
            total = total + affine.Affine(((atom, c),))
        if affine.symbols(total) != {lane.var}:
            return None
        offsets = [affine.substitute(total, {lane.var: i}) for i in range(lane.active)]
        return [o for o in offsets if isinstance(o, int)]

    def _load_scalar(self, b: Buffer, r: Resolved, guard: Value | None) -> Value:
        pointer = self._base(b, r)
        nbytes = r.constant * b.dtype.nbytes
        if guard is None:
            level = self._load_level(b, pointer)
            return self._read(b, self._displaced(pointer, nbytes, level), 0, level)
        if guard.lanes:
            guard = self.out.call(f"llvm.vector.reduce.or.v{guard.lanes}i1", DType.bool, 0, guard)
        level = self._load_level(b, pointer, guard)
        exact = self._displaced(pointer, nbytes, level)
        text = f"select i1 {guard.ref}, ptr {exact.ref}, ptr {parameter(b)}"
        safe = self.out.op(text, DType.u64, 0, guard, exact)
        return self._read(b, safe, 0, level)

    def _load_contiguous(self, b: Buffer, r: Resolved, first: int, guard: Value | None) -> Value:
        lane = self.indices.env.lane
        assert lane is not None
        pointer = self._base(b, r)
        nbytes = (r.constant + first) * b.dtype.nbytes
        if guard is None and not lane.is_full:
            # Lanes that take no part may be read when they certainly lie in the buffer too.
            low, high = self.indices.bounds(r)
            if low >= 0 and high + lane.lanes - lane.active < b.n_elements:
                level = self._load_level(b, pointer)
                return self._read(b, self._displaced(pointer, nbytes, level), lane.lanes, level)
        if guard is None and (lane.is_full or not self._has_masks(b.dtype)):
            level = self._load_level(b, pointer)
            found = self._read(b, self._displaced(pointer, nbytes, level), lane.active, level)
            if lane.is_full:
                return found
            picks = [i if i < lane.active else -1 for i in range(lane.lanes)]
            return self.out.shuffle(found, None, picks)
        mask = self.mask(guard)
        level = self._load_level(b, pointer, mask)
        return self._read_masked(b, self._displaced(pointer, nbytes, level), mask, level)

    def _load_shuffled(
        self, b: Buffer, r: Resolved, offsets: list[int], guard: Value | None
    ) -> Value | None:
        """Whole vectors that cover all lanes, the last one moved back so that it ends in bounds."""
        lane = self.indices.env.lane
        assert lane is not None
        low, high = min(offsets), max(offsets)
        width = min(lane.lanes, 1 << ((high - low + 1).bit_length() - 1))
        n_loads = -(-(high - low + 1) // width)
        if n_loads > SHUFFLED_LOADS:
            return None
        starts = [min(low + k * width, high + 1 - width) for k in range(n_loads)]
        pointer = self._base(b, r)
        parts: list[Value] = []
        for start in starts:
            nbytes = (r.constant + start) * b.dtype.nbytes
            if guard is None:
                level = self._load_level(b, pointer)
                parts.append(self._read(b, self._displaced(pointer, nbytes, level), width, level))
            else:
                mask = self.out.splat(guard, width)
                level = self._load_level(b, pointer, mask)
                at = self._displaced(pointer, nbytes, level)
                parts.append(self._read_masked(b, at, mask, level))
        where: list[tuple[int, int]] = []
        for o in offsets:
            k = next(k for k, s in enumerate(starts) if s <= o < s + width)
            where.append((k, o - starts[k]))
        where += [(-1, 0)] * (lane.lanes - len(where))
        return self._pick(parts, width, where)

    def _pick(self, parts: list[Value], width: int, where: list[tuple[int, int]]) -> Value:
        """Lanes picked from several vectors of one width, two vectors at a time."""
        total: Value | None = None
        for k in range(0, len(parts), 2):
            pair = parts[k : k + 2]
            picks = [p + (j - k) * width if k <= j < k + 2 else -1 for j, p in where]
            both = self.out.shuffle(pair[0], pair[1] if len(pair) > 1 else None, picks)
            if total is None:
                total = both
                continue
            n = len(where)
            blend = [
                -1 if j < 0 else i + n if k <= j < k + 2 else i for i, (j, _) in enumerate(where)
            ]
            total = self.out.shuffle(total, both, blend)
        assert total is not None
        return total

    def _gather(self, b: Buffer, r: Resolved, guard: Value | None) -> Value:
        lane = self.indices.env.lane
        assert lane is not None
        shared = Resolved(0, r.atoms)
        pointer = self._displaced(self._base(b, shared), 0, self.out.level)
        positions = self.indices.lanes(Resolved(r.constant, (), r.lane_step, r.lane_atoms))
        if b.dtype.nbytes < 4 or not self.target.has_masks:
            return self._gather_each(b, pointer, positions, self.mask(guard))
        mask = self.mask(guard)
        pointers = vector_of("ptr", lane.lanes)
        element = memory_type(b.dtype)
        text = f"getelementptr {element}, ptr {pointer.ref}, {positions.typed}"
        at = self.out.op(text, DType.u64, lane.lanes, pointer, positions)
        result = memory_type(b.dtype, lane.lanes)
        name = f"llvm.masked.gather.v{lane.lanes}{_suffix(b.dtype)}.v{lane.lanes}p0"
        self.out.declare(f"declare {result} @{name}({pointers}, {mask.type}, {result})")
        call = (
            f"call {result} @{name}({pointers} align {b.dtype.nbytes} {at.ref}, "
            f"{mask.typed}, {result} zeroinitializer)"
        )
        level = self._load_level(b, at, mask)
        return self._finish(b, call, lane.lanes, level)

    def _gather_each(self, b: Buffer, pointer: Value, positions: Value, mask: Value) -> Value:
        """One load per lane; lanes that take no part read the first element."""
        lane = self.indices.env.lane
        assert lane is not None
        total = Value("poison", b.dtype, lane.lanes)
        start = Value(parameter(b), DType.u64)
        for i in range(lane.active):
            at = self.out.extract(positions, i)
            text = f"getelementptr {memory_type(b.dtype)}, ptr {pointer.ref}, {at.typed}"
            exact = self.out.op(text, DType.u64, 0, pointer, at)
            if not mask.is_constant:
                bit = self.out.extract(mask, i)
                text = f"select i1 {bit.ref}, ptr {exact.ref}, ptr {start.ref}"
                exact = self.out.op(text, DType.u64, 0, bit, exact)
            element = self._read(b, exact, 0, self._load_level(b, exact))
            total = self.out.insert(total, element, i)
        return total

    def _read(self, b: Buffer, pointer: Value, lanes: int, level: int) -> Value:
        text = f"load {memory_type(b.dtype, lanes)}, ptr {pointer.ref}, align {b.dtype.nbytes}"
        return self._finish(b, text, lanes, level)

    def _read_masked(self, b: Buffer, pointer: Value, mask: Value, level: int) -> Value:
        result = memory_type(b.dtype, mask.lanes)
        name = f"llvm.masked.load.v{mask.lanes}{_suffix(b.dtype)}.p0"
        self.out.declare(f"declare {result} @{name}(ptr, {mask.type}, {result})")
        text = (
            f"call {result} @{name}(ptr align {b.dtype.nbytes} {pointer.ref}, "
            f"{mask.typed}, {result} zeroinitializer)"
        )
        return self._finish(b, text, mask.lanes, level)

    def _finish(self, b: Buffer, text: str, lanes: int, level: int) -> Value:
        """Number a load and turn what lies in memory into a value."""
        out = self.out
        raw = out.op_at(text, b.dtype, lanes, level, f"{text};{b.name}.{self._versions[b.name]}")
        kind = memory_type(b.dtype, lanes)
        if b.dtype is DType.f16:
            return out.op(f"fpext {kind} {raw.ref} to {raw.type}", b.dtype, lanes, raw)
        if b.dtype is DType.bool:
            text = f"icmp ne {kind} {raw.ref}, {constant(0, DType.u8, lanes).ref}"
            return out.op(text, b.dtype, lanes, raw)
        if b.dtype is DType.bf16:
            return self._widen_bf16(raw)
        return raw

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
        """Which lanes take part: those of the vector loop, and where the guard holds."""
        lane = self.indices.env.lane
        assert lane is not None
        if lane.is_full:
            if guard is None:
                return constant(True, DType.bool, lane.lanes)
            return self.out.splat(guard, lane.lanes)
        active = constant_lanes([int(i < lane.active) for i in range(lane.lanes)], DType.bool)
        return active if guard is None else self.out.all_of([active, guard])

    def _has_masks(self, dtype: DType) -> bool:
        if self.target.has_masks:
            return True
        return self.target.is_x86 and self.target.vector_bytes >= 32 and dtype.nbytes >= 4

    # Stores

    def store(self, b: Buffer, r: Resolved, value: Value) -> None:
        """Write the elements of all active lanes."""
        self._versions[b.name] += 1
        lane = self.indices.env.lane
        offsets = [0] if lane is None or r.is_uniform else self._constant_offsets(r)
        if lane is None or r.is_uniform:
            assert not value.lanes, f"all lanes store to one element of {b.name}"
            at = self._displaced(self._base(b, r), r.constant * b.dtype.nbytes, self.out.level)
            self._write(b, at, value)
            return
        value = self.out.splat(value, lane.lanes)
        if offsets is not None and offsets == list(range(lane.active)):
            at = self._displaced(self._base(b, r), r.constant * b.dtype.nbytes, self.out.level)
            self._store_contiguous(b, at, value)
            return
        pointer = self._base(b, r)
        positions: Value | None = None
        if offsets is None:
            pointer = self._base(b, Resolved(0, r.atoms))
            positions = self.indices.lanes(Resolved(r.constant, (), r.lane_step, r.lane_atoms))
        for i in range(lane.active):
            element = self.out.extract(value, i)
            if positions is None:
                assert offsets is not None
                nbytes = (r.constant + offsets[i]) * b.dtype.nbytes
                at = self._displaced(pointer, nbytes, self.out.level)
            else:
                index = self.out.extract(positions, i)
                text = f"getelementptr {memory_type(b.dtype)}, ptr {pointer.ref}, {index.typed}"
                at = self.out.op(text, DType.u64, 0, pointer, index)
            self._write(b, at, element)

    def _store_contiguous(self, b: Buffer, at: Value, value: Value) -> None:
        lane = self.indices.env.lane
        assert lane is not None
        if lane.is_full:
            self._write(b, at, value)
            return
        if not self._has_masks(b.dtype):
            self._write(b, at, self.out.shuffle(value, None, list(range(lane.active))))
            return
        stored = self._to_memory(b.dtype, value)
        mask = self.mask(None)
        kind = memory_type(b.dtype, lane.lanes)
        name = f"llvm.masked.store.v{lane.lanes}{_suffix(b.dtype)}.p0"
        self.out.declare(f"declare void @{name}({kind}, ptr, {mask.type})")
        self.out.line(
            f"call void @{name}({kind} {stored}, ptr align {b.dtype.nbytes} {at.ref}, {mask.typed})"
        )

    def _write(self, b: Buffer, at: Value, value: Value) -> None:
        stored = self._to_memory(b.dtype, value)
        kind = memory_type(b.dtype, value.lanes)
        self.out.line(f"store {kind} {stored}, ptr {at.ref}, align {b.dtype.nbytes}")

    def _to_memory(self, dtype: DType, v: Value) -> str:
        """A value as it lies in memory; half-precision values are rounded already."""
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

    def prefetch(self, b: Buffer, r: Resolved) -> None:
        """Ask for a cache line."""
        at = self._displaced(self._base(b, r), r.constant * b.dtype.nbytes, self.out.level)
        self.out.declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
        self.out.line(f"call void @llvm.prefetch.p0(ptr {at.ref}, i32 0, i32 3, i32 1)")


def parameter(b: Buffer) -> str:
    """The SSA name of a buffer's pointer."""
    escaped = b.name.replace("\\", "\\5C").replace('"', "\\22")
    return f'%"b.{escaped}"'


def _suffix(dtype: DType) -> str:
    """The suffix of memory intrinsics."""
    kind = memory_type(dtype)
    return {"float": "f32", "double": "f64", "half": "f16"}.get(kind, kind)
