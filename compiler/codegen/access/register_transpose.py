"""Transposition in registers, for operands contiguous along a loop other than the vector loop.

    for i in 0..16 { vector l in 0..16 { y[i, l] = x[l, i] } }

A gather would load each element separately. The code loads 16 rows of x as vectors, transposes them
by shuffles of two vectors at a time, and stores the transposed vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.codegen.access.addresses import flatten
from compiler.codegen.emitter import Emitter
from compiler.codegen.values import Value, power_of_two
from compiler.compute.scalar import Apply, Convert, Number, Read, Scalar, walk
from compiler.dataclass import dataclass
from compiler.ir import affine
from compiler.ir.types import DType
from compiler.loops.nodes import Buffer, Loop, Store

LEAST_LINES = 4
"""The minimum number of rows and columns of a transposed block; smaller blocks are loaded element
by element."""

SEGMENT_BYTES = 16
"""The size of a segment; one cheap instruction interleaves two vectors within their segments."""


@dataclass(frozen=True, slots=True)
class Square:
    """A block to transpose: a vector store in a short loop along which operands are contiguous."""

    loop: Loop
    lanes: Loop
    store: Store
    turned: tuple[Read, ...]


def square_of(
    loop: Loop, buffers: Mapping[str, Buffer], widths: Mapping[int, int]
) -> Square | None:
    """Return the block to transpose in a loop; None if no operand is contiguous along the loop."""
    if len(loop.body) != 1 or not isinstance(loop.start, int) or not isinstance(loop.stop, int):
        return None
    (inner,) = loop.body
    if not isinstance(inner, Loop) or inner.kind != "vector" or len(inner.body) != 1:
        return None
    if not isinstance(inner.stop - inner.start, int):
        return None
    (store,) = inner.body
    if not isinstance(store, Store) or not _is_plain(store.value):
        return None
    if not LEAST_LINES <= loop.extent <= widths[id(inner)] or inner.extent < LEAST_LINES:
        return None
    # A dict keeps the order of the reads, so the emitted text is deterministic.
    reads = dict.fromkeys(p for p in walk(store.value) if isinstance(p, Read))
    if any(r.tensor == store.buffer for r in reads):
        return None
    turned = tuple(r for r in reads if _is_turned(r, buffers[r.tensor], loop.var, inner.var))
    return Square(loop, inner, store, turned) if turned else None


def _is_plain(value: Scalar) -> bool:
    """Return whether all reads are unconditional."""
    return all(isinstance(p, Apply | Convert | Number | Read) for p in walk(value))


def _is_turned(r: Read, b: Buffer, along: str, lanes: str) -> bool:
    if b.role == "register" or b.dtype is DType.bool:
        return False
    flat = flatten(r.index, b.strides)
    steps = [affine.substitute(flat, {v: affine.symbol(v) + 1}) - flat for v in (along, lanes)]
    return steps[0] == 1 and isinstance(steps[1], int) and abs(steps[1]) > 1


def transposed(out: Emitter, rows: Sequence[Value], lanes: int) -> list[Value]:
    """Transpose rows of equal length; each column is a vector of `lanes` lanes.

    The first steps interleave elements within segments of 16 bytes; the later steps exchange
    segments between pairs of vectors. For vectors of n lanes, the transposition needs log2 n steps.
    """
    n = max(rows[0].lanes, power_of_two(len(rows)), lanes)
    padded = [_resized(out, r, n) for r in rows]
    poison = Value("poison", rows[0].dtype, n)
    padded += [poison] * (n - len(rows))
    per = min(max(SEGMENT_BYTES // _value_bytes(rows[0].dtype), 1), n)
    groups = [_interleaved(out, padded[g : g + per], per) for g in range(0, n, per)]
    columns: list[list[Value]] = [_dealt(out, [g[k] for g in groups], per) for k in range(per)]
    found = [columns[k][s] for s in range(n // per) for k in range(per)]
    return [_resized(out, v, lanes) for v in found]


def _value_bytes(dtype: DType) -> int:
    """Return the bytes of an element in a register, in which half-precision values are f32."""
    return 4 if dtype in (DType.f16, DType.bf16) else dtype.nbytes


def _resized(out: Emitter, v: Value, lanes: int) -> Value:
    """Resize a vector; additional lanes are undefined."""
    if v.lanes == lanes:
        return v
    return out.shuffle(v, None, [i if i < v.lanes else -1 for i in range(lanes)])


def _interleaved(out: Emitter, rows: list[Value], per: int) -> list[Value]:
    """Transpose the square of `per` x `per` elements in each segment of `per` rows."""
    half, n = per // 2, rows[0].lanes
    step = per
    while step > 1:
        made: list[Value] = []
        for a, b in zip(rows[:half], rows[half:], strict=True):
            for first in (0, half):
                at = [s + first + j for s in range(0, n, per) for j in range(half)]
                made.append(_shuffled(out, a, b, [k for i in at for k in (i, n + i)]))
        rows = made
        step //= 2
    return rows


def _dealt(out: Emitter, vectors: list[Value], per: int) -> list[Value]:
    """Transpose n vectors of n segments each; every segment stays intact."""
    n = vectors[0].lanes
    step = len(vectors)
    while step > 1:
        pairs = list(zip(vectors[::2], vectors[1::2], strict=True))
        vectors = []
        for first in (0, per):
            at = [s + j for s in range(first, 2 * n, 2 * per) for j in range(per)]
            vectors += [_shuffled(out, a, b, at) for a, b in pairs]
        step //= 2
    return vectors


def _shuffled(out: Emitter, a: Value, b: Value, picks: Sequence[int]) -> Value:
    if a.ref == b.ref == "poison":
        return a
    return out.shuffle(a, b, picks)
