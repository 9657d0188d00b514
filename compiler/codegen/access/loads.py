"""Loads for all lanes: full vectors of contiguous elements, else shuffles and gathers."""

from __future__ import annotations

from compiler.codegen.access.addresses import Resolved
from compiler.codegen.access.memory import Memory, parameter
from compiler.codegen.access.stored import from_memory, suffix
from compiler.codegen.values import Value, constant, memory_type, vector_of
from compiler.ir import affine
from compiler.ir.types import DType
from compiler.loops.nodes import Buffer

SHUFFLED_LOADS = 4
"""The maximum number of vectors loaded and shuffled for strided lanes; lanes that span more vectors
are gathered."""


def load(m: Memory, b: Buffer, r: Resolved, guard: Value | None) -> Value:
    """Load the elements of all lanes; load a scalar if all lanes read the same element.

    Lanes with a false guard have an unspecified result, and read nothing outside the buffer.
    """
    if b.n_elements == 0:
        return constant(0, b.dtype)
    if guard is not None and _inside(m, b, r):
        guard = None
    if r.is_uniform:
        return _load_scalar(m, b, r, guard)
    offsets = m.indices.lane_offsets(r)
    lane = m.indices.env.lane
    assert lane is not None, "no vector loop is open"
    if offsets is not None:
        low, high = min(offsets), max(offsets)
        if offsets == list(range(low, low + lane.active)):
            return _load_contiguous(m, b, r, low, guard)
        lanewise = guard is not None and guard.lanes
        n_vectors = -(-(high - low + 1) // lane.lanes)
        if n_vectors <= SHUFFLED_LOADS and not lanewise:
            shuffled = _load_shuffled if lane.stop is None else _load_part_shuffled
            found = shuffled(m, b, r, offsets, guard)
            if found is not None:
                return found
    return _gather(m, b, r, guard)


def _inside(m: Memory, b: Buffer, r: Resolved) -> bool:
    low, high = m.indices.bounds(r)
    return low >= 0 and high < least_elements(b)


def least_elements(b: Buffer) -> int:
    """Return the minimum number of elements of a buffer over all values of open sizes."""
    return affine.bounds(b.n_elements, {})[0]


def _load_scalar(m: Memory, b: Buffer, r: Resolved, guard: Value | None) -> Value:
    pointer = m.base(b, r)
    nbytes = r.constant * b.dtype.nbytes
    if guard is None:
        level = m.load_level(b, pointer)
        return read(m, b, m.displaced(pointer, nbytes, level), 0, level)
    if guard.lanes:
        guard = m.out.call(f"llvm.vector.reduce.or.v{guard.lanes}i1", DType.bool, 0, guard)
    level = m.load_level(b, pointer, guard)
    exact = m.displaced(pointer, nbytes, level)
    text = f"select i1 {guard.ref}, ptr {exact.ref}, ptr {parameter(b)}"
    safe = m.out.op(text, DType.u64, 0, guard, exact)
    return read(m, b, safe, 0, level)


def _load_contiguous(m: Memory, b: Buffer, r: Resolved, first: int, guard: Value | None) -> Value:
    lane = m.indices.env.lane
    assert lane is not None
    pointer = m.base(b, r)
    nbytes = (r.constant + first) * b.dtype.nbytes
    if guard is None and not lane.is_full:
        # A load may include inactive lanes if they are provably in bounds.
        low, high = m.indices.bounds(r)
        if low >= 0 and high + lane.lanes - lane.active < least_elements(b):
            level = m.load_level(b, pointer)
            return read(m, b, m.displaced(pointer, nbytes, level), lane.lanes, level)
    return load_neighbours(m, b, pointer, nbytes, guard)


def load_neighbours(
    m: Memory, b: Buffer, pointer: Value, nbytes: int, guard: Value | None
) -> Value:
    """Load contiguous elements for all lanes, at a byte offset from a pointer."""
    lane = m.indices.env.lane
    assert lane is not None
    unmasked = lane.stop is None and not m.has_masks(b.dtype)
    if guard is None and (lane.is_full or unmasked):
        level = m.load_level(b, pointer)
        found = read(m, b, m.displaced(pointer, nbytes, level), lane.active, level)
        if lane.is_full:
            return found
        picks = [i if i < lane.active else -1 for i in range(lane.lanes)]
        return m.out.shuffle(found, None, picks)
    mask = m.mask(guard)
    level = m.load_level(b, pointer, mask)
    return read_masked(m, b, m.displaced(pointer, nbytes, level), mask, level)


def _load_shuffled(
    m: Memory, b: Buffer, r: Resolved, offsets: list[int], guard: Value | None
) -> Value | None:
    """Load full vectors that cover all lanes; the last vector ends with the last lane."""
    lane = m.indices.env.lane
    assert lane is not None
    low, high = min(offsets), max(offsets)
    width = min(lane.lanes, 1 << ((high - low + 1).bit_length() - 1))
    n_loads = -(-(high - low + 1) // width)
    if n_loads > SHUFFLED_LOADS:
        return None
    starts = [min(low + k * width, high + 1 - width) for k in range(n_loads)]
    pointer = m.base(b, r)
    parts: list[Value] = []
    for start in starts:
        nbytes = (r.constant + start) * b.dtype.nbytes
        if guard is None:
            level = m.load_level(b, pointer)
            parts.append(read(m, b, m.displaced(pointer, nbytes, level), width, level))
        else:
            mask = m.out.splat(guard, width)
            level = m.load_level(b, pointer, mask)
            at = m.displaced(pointer, nbytes, level)
            parts.append(read_masked(m, b, at, mask, level))
    return _picked(m, parts, starts, width, offsets)


def _load_part_shuffled(
    m: Memory, b: Buffer, r: Resolved, offsets: list[int], guard: Value | None
) -> Value | None:
    """Load full vectors that cover the active lanes, masked beyond the last active lane."""
    lane = m.indices.env.lane
    assert lane is not None
    assert lane.stop is not None
    low, step = offsets[0], r.lane_step
    if step < 1 or r.lane_atoms or not m.has_masks(b.dtype):
        return None
    n_elements = m.indices.scaled(lane.stop, step, 1 - step * (lane.base + 1))
    if guard is not None:
        n_elements = m.out.select(guard, n_elements, constant(0, n_elements.dtype))
    starts = list(range(low, offsets[-1] + 1, lane.lanes))
    pointer = m.base(b, r)
    parts: list[Value] = []
    for start in starts:
        mask = m.indices.below(start - low, n_elements)
        level = m.load_level(b, pointer, mask)
        at = m.displaced(pointer, (r.constant + start) * b.dtype.nbytes, level)
        parts.append(read_masked(m, b, at, mask, level))
    return _picked(m, parts, starts, lane.lanes, offsets)


def _picked(
    m: Memory, parts: list[Value], starts: list[int], width: int, offsets: list[int]
) -> Value:
    """Select the lanes at `offsets` from loaded vectors that begin at `starts`."""
    lane = m.indices.env.lane
    assert lane is not None
    where: list[tuple[int, int]] = []
    for o in offsets:
        k = next(k for k, s in enumerate(starts) if s <= o < s + width)
        where.append((k, o - starts[k]))
    where += [(-1, 0)] * (lane.lanes - len(where))
    return _pick(m, parts, width, where)


def _pick(m: Memory, parts: list[Value], width: int, where: list[tuple[int, int]]) -> Value:
    """Select lanes from several vectors of equal width, two vectors at a time."""
    total: Value | None = None
    for k in range(0, len(parts), 2):
        pair = parts[k : k + 2]
        picks = [p + (j - k) * width if k <= j < k + 2 else -1 for j, p in where]
        both = m.out.shuffle(pair[0], pair[1] if len(pair) > 1 else None, picks)
        if total is None:
            total = both
            continue
        n = len(where)
        blend = [-1 if j < 0 else i + n if k <= j < k + 2 else i for i, (j, _) in enumerate(where)]
        total = m.out.shuffle(total, both, blend)
    assert total is not None
    return total


def _gather(m: Memory, b: Buffer, r: Resolved, guard: Value | None) -> Value:
    lane = m.indices.env.lane
    assert lane is not None
    shared = Resolved(0, r.atoms)
    pointer = m.displaced(m.base(b, shared), 0, m.out.level)
    positions = m.indices.lanes(Resolved(r.constant, (), r.lane_step, r.lane_atoms))
    return gather(m, b, pointer, positions, m.mask(guard))


def gather(m: Memory, b: Buffer, pointer: Value, positions: Value, mask: Value) -> Value:
    """Gather one element per lane under a mask, at offsets (in elements) from a pointer."""
    lane = m.indices.env.lane
    assert lane is not None
    if b.dtype.nbytes < 4 or not m.target.has_masks:
        return _gather_each(m, b, pointer, positions, mask)
    element = memory_type(b.dtype)
    text = f"getelementptr {element}, ptr {pointer.ref}, {positions.typed}"
    at = m.out.op(text, DType.u64, lane.lanes, pointer, positions)
    return _masked(m, b, "gather", at, mask, m.load_level(b, at, mask))


def _gather_each(m: Memory, b: Buffer, pointer: Value, positions: Value, mask: Value) -> Value:
    """Emit one load per lane; inactive lanes read the first element."""
    lane = m.indices.env.lane
    assert lane is not None
    total = Value("poison", b.dtype, lane.lanes)
    start = Value(parameter(b), DType.u64)
    for i in range(lane.active):
        at = m.out.extract(positions, i)
        text = f"getelementptr {memory_type(b.dtype)}, ptr {pointer.ref}, {at.typed}"
        exact = m.out.op(text, DType.u64, 0, pointer, at)
        if not mask.is_constant:
            bit = m.out.extract(mask, i)
            text = f"select i1 {bit.ref}, ptr {exact.ref}, ptr {start.ref}"
            exact = m.out.op(text, DType.u64, 0, bit, exact)
        element = read(m, b, exact, 0, m.load_level(b, exact))
        total = m.out.insert(total, element, i)
    return total


# Single loads


def read(m: Memory, b: Buffer, pointer: Value, lanes: int, level: int) -> Value:
    """Load contiguous elements, or a scalar for 0 lanes."""
    text = f"load {memory_type(b.dtype, lanes)}, ptr {pointer.ref}, align {b.dtype.nbytes}"
    return _finish(m, b, text, lanes, _scope(pointer, level))


def read_word(m: Memory, b: Buffer, pointer: Value, level: int) -> Value:
    """Load several elements of a small type, 32 bits in total, as one integer."""
    text = f"load i32, ptr {pointer.ref}, align {b.dtype.nbytes}"
    return m.out.op_at(text, DType.i32, 0, _scope(pointer, level), _key(m, b, text))


def read_masked(m: Memory, b: Buffer, pointer: Value, mask: Value, level: int) -> Value:
    """Load contiguous elements under a mask; masked-off lanes are 0 and not read."""
    return _masked(m, b, "load", pointer, mask, _scope(pointer, level))


def _masked(m: Memory, b: Buffer, kind: str, at: Value, mask: Value, level: int) -> Value:
    """Call `llvm.masked.load` for one address, or `llvm.masked.gather` for one per lane."""
    result = memory_type(b.dtype, mask.lanes)
    pointers = vector_of("ptr", at.lanes)
    per_lane = f"v{at.lanes}" if at.lanes else ""
    name = f"llvm.masked.{kind}.v{mask.lanes}{suffix(b.dtype)}.{per_lane}p0"
    m.out.declare(f"declare {result} @{name}({pointers}, {mask.type}, {result})")
    text = (
        f"call {result} @{name}({pointers} align {b.dtype.nbytes} {at.ref}, "
        f"{mask.typed}, {result} zeroinitializer)"
    )
    return _finish(m, b, text, mask.lanes, level)


def _scope(pointer: Value, level: int) -> int:
    """Return the scope of a load: `level`, or the inner scope in which its pointer is computed."""
    return max(level, pointer.level)


def _finish(m: Memory, b: Buffer, text: str, lanes: int, level: int) -> Value:
    """Emit a load with value numbering, and convert it from its memory type."""
    raw = m.out.op_at(text, b.dtype, lanes, level, _key(m, b, text))
    return from_memory(m.out, raw)


def _key(m: Memory, b: Buffer, text: str) -> str:
    """Return the value number of a load; each store to the buffer changes this number."""
    return f"{text};{b.name}.{m.version(b)}"
