"""Stores of all lanes, including non-temporal stores, and prefetches."""

from __future__ import annotations

from compiler.codegen.access.addresses import Resolved
from compiler.codegen.access.memory import Memory
from compiler.codegen.access.stored import suffix, to_memory
from compiler.codegen.values import Value, constant_lanes, memory_type, vector_of
from compiler.ir.types import DType
from compiler.loops.nodes import Buffer

_FENCE = "llvm.x86.sse.sfence"
_PASSING = "!64 = !{i32 1}"
"""The metadata of a non-temporal store."""


def fence(m: Memory) -> list[str]:
    """Return the fence at the end of a function with non-temporal stores."""
    if not (m.streams and m.target.is_x86):
        return []
    m.out.declare(f"declare void @{_FENCE}()")
    return [f"  call void @{_FENCE}()"]


def store(m: Memory, b: Buffer, r: Resolved, value: Value, *, stream: bool = False) -> None:
    """Store the elements of all active lanes; with `stream`, non-temporally if possible."""
    lane = m.indices.env.lane
    offsets = [0] if lane is None or r.is_uniform else m.indices.lane_offsets(r)
    if lane is None or r.is_uniform:
        assert not value.lanes, f"all lanes store to the same element of {b.name}"
        at = m.displaced(m.base(b, r), r.constant * b.dtype.nbytes, m.out.level)
        write(m, b, at, value)
        return
    value = m.out.splat(value, lane.lanes)
    if offsets is not None and offsets == list(range(lane.active)):
        at = m.displaced(m.base(b, r), r.constant * b.dtype.nbytes, m.out.level)
        if stream and lane.is_full and _fills_lines(b, r, value):
            _pass_by(m, b, at, value)
        else:
            _store_contiguous(m, b, at, value)
        return
    pointer = m.base(b, r)
    if lane.stop is None and offsets is not None and _are_one_of_words(m, b, offsets):
        at = m.displaced(pointer, r.constant, m.out.level)
        _store_one_of_words(m, b, at, value)
        return
    positions: Value | None = None
    if offsets is None or lane.stop is not None:
        pointer = m.base(b, Resolved(0, r.atoms))
        positions = m.indices.lanes(Resolved(r.constant, (), r.lane_step, r.lane_atoms))
    if lane.stop is not None:
        assert positions is not None
        _scatter(m, b, pointer, positions, value)
        return
    for i in range(lane.active):
        element = m.out.extract(value, i)
        if positions is None:
            assert offsets is not None
            nbytes = (r.constant + offsets[i]) * b.dtype.nbytes
            at = m.displaced(pointer, nbytes, m.out.level)
        else:
            index = m.out.extract(positions, i)
            text = f"getelementptr {memory_type(b.dtype)}, ptr {pointer.ref}, {index.typed}"
            at = m.out.op(text, DType.u64, 0, pointer, index)
        write(m, b, at, element)


def _are_one_of_words(m: Memory, b: Buffer, offsets: list[int]) -> bool:
    """Return whether lanes are bytes at a stride of 32 bits, and the target has byte masks."""
    apart = len(offsets) > 1 and offsets == [4 * i for i in range(len(offsets))]
    return apart and b.dtype in (DType.u8, DType.i8) and m.target.is_x86 and m.target.has_masks


def _store_one_of_words(m: Memory, b: Buffer, at: Value, value: Value) -> None:
    """Store each lane to the lowest byte of a 32-bit word, by one masked store."""
    lane = m.indices.env.lane
    assert lane is not None
    n, kind = 4 * lane.lanes, memory_type(b.dtype, lane.lanes)
    text = f"zext {kind} {to_memory(m.out, b.dtype, value)} to <{lane.lanes} x i32>"
    wide = m.out.op(text, DType.i32, lane.lanes, value)
    spread = m.out.op(f"bitcast {wide.typed} to <{n} x i8>", DType.u8, n, wide)
    live = [int(not i % 4 and i < 4 * lane.active) for i in range(n)]
    _write_masked(m, b, at, spread, constant_lanes(live, DType.bool))


def _fills_lines(b: Buffer, r: Resolved, value: Value) -> bool:
    """Return whether a vector is aligned to its size, in a buffer aligned to cache lines."""
    steps = (r.constant, *(c for _, c in r.atoms))
    return value.lanes * b.dtype.nbytes >= 16 and all(n % value.lanes == 0 for n in steps)


def _pass_by(m: Memory, b: Buffer, at: Value, value: Value) -> None:
    m.streams = True
    m.out.declare(_PASSING)
    stored, kind = to_memory(m.out, b.dtype, value), memory_type(b.dtype, value.lanes)
    nbytes = value.lanes * b.dtype.nbytes
    _emit(m, b, f"store {kind} {stored}, ptr {at.ref}, align {nbytes}, !nontemporal !64")


def _store_contiguous(m: Memory, b: Buffer, at: Value, value: Value) -> None:
    lane = m.indices.env.lane
    assert lane is not None
    if lane.is_full:
        write(m, b, at, value)
        return
    if lane.stop is None and lane.active == 1:
        write(m, b, at, m.out.extract(value, 0))
        return
    if lane.stop is None and not m.target.has_masks:
        # Store 4, 2 and 1 elements separately: an AVX masked store takes 42 micro-operations on
        # AMD's Zen.
        write(m, b, at, m.out.shuffle(value, None, list(range(lane.active))))
        return
    _write_masked(m, b, at, value, m.mask(None))


def _scatter(m: Memory, b: Buffer, pointer: Value, positions: Value, value: Value) -> None:
    """Scatter the active lanes to offsets (in elements) from a pointer."""
    element, pointers = memory_type(b.dtype), vector_of("ptr", value.lanes)
    text = f"getelementptr {element}, ptr {pointer.ref}, {positions.typed}"
    at = m.out.op(text, DType.u64, value.lanes, pointer, positions)
    stored, kind = to_memory(m.out, b.dtype, value), memory_type(b.dtype, value.lanes)
    mask = m.mask(None)
    name = f"llvm.masked.scatter.v{value.lanes}{suffix(b.dtype)}.v{value.lanes}p0"
    m.out.declare(f"declare void @{name}({kind}, {pointers}, {mask.type})")
    _emit(
        m,
        b,
        f"call void @{name}({kind} {stored}, {pointers} align {b.dtype.nbytes} {at.ref}, "
        f"{mask.typed})",
    )


# Single stores


def write(m: Memory, b: Buffer, at: Value, value: Value) -> None:
    """Store a scalar, or contiguous lanes."""
    stored = to_memory(m.out, b.dtype, value)
    kind = memory_type(b.dtype, value.lanes)
    _emit(m, b, f"store {kind} {stored}, ptr {at.ref}, align {b.dtype.nbytes}")


def _write_masked(m: Memory, b: Buffer, at: Value, value: Value, mask: Value) -> None:
    """Store contiguous lanes under a mask.

    A constant mask must have more than one live lane; callers store a single lane as a scalar.
    If a truncated vector has one live lane, LLVM 22 (x86 with AVX-512) stores that lane's element
    as a scalar, before truncation. Such a store overwrites adjacent elements.
    """
    assert not _has_one_live_lane(mask), f"one lane of {b.name} needs a scalar store"
    kind = memory_type(b.dtype, value.lanes)
    name = f"llvm.masked.store.v{value.lanes}{suffix(b.dtype)}.p0"
    m.out.declare(f"declare void @{name}({kind}, ptr, {mask.type})")
    stored = to_memory(m.out, b.dtype, value)
    at_ref = f"ptr align {b.dtype.nbytes} {at.ref}"
    _emit(m, b, f"call void @{name}({kind} {stored}, {at_ref}, {mask.typed})")


def _emit(m: Memory, b: Buffer, text: str) -> None:
    """Emit one store; later reads of the buffer do not reuse earlier loads."""
    m.note_store(b)
    m.out.line(text)


def _has_one_live_lane(mask: Value) -> bool:
    return mask.is_constant and mask.ref.count("i1 true") == 1 and not mask.ref.startswith("splat")


# Prefetches


def prefetch(m: Memory, b: Buffer, r: Resolved) -> None:
    """Prefetch the cache line of an element."""
    pointer = m.base(b, r)
    # Hoisted loads may use the same address, so the outermost possible scope computes it.
    at = m.displaced(pointer, r.constant * b.dtype.nbytes, pointer.level)
    m.out.declare("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
    m.out.line(f"call void @llvm.prefetch.p0(ptr {at.ref}, i32 0, i32 3, i32 1)")
