"""Loads and stores at computed indices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.codegen.access.addresses import Resolved
from compiler.codegen.access.loads import gather, load_neighbours, read
from compiler.codegen.access.memory import Memory, parameter
from compiler.codegen.access.stores import write
from compiler.codegen.arithmetic.functions import Arithmetic
from compiler.codegen.values import Value, constant, mangled, memory_type
from compiler.dataclass import dataclass
from compiler.ir.affine import Expr
from compiler.ir.types import DType
from compiler.loops.nodes import Buffer


@dataclass(frozen=True, slots=True)
class Places:
    """The index of a fetch: computed components by axis, and the linear index of all other axes.

    `inside` is the linear index over the axes whose index expressions are always in bounds.
    """

    computed: Mapping[int, Value]
    inside: Resolved


def fetch(m: Memory, a: Arithmetic, b: Buffer, places: Places) -> Value:
    """Load the elements at computed indices, clamped to the bounds; an empty buffer gives 0."""
    if b.n_elements == 0:
        return constant(0, b.dtype)
    position = constant(0, DType.i64)
    for d, v in places.computed.items():
        part = _steps(m, a, _brought_inside(m, a, v, b.shape[d]), b.strides[d])
        position = _sum(a, position, part)
    rest = places.inside
    if not position.lanes and not rest.is_uniform:
        found = _fetch_neighbours(m, b, position, rest)
        if found is not None:
            return found
    if rest.is_uniform:
        moved = m.indices.uniform(rest)
    else:
        moved = m.indices.lanes(rest, DType.i64)
    position = _sum(a, position, moved)
    if not position.lanes:
        at = _element(m, b, position)
        return read(m, b, at, 0, m.load_level(b, at))
    return gather(m, b, Value(parameter(b), DType.u64), position, m.mask(None))


def _fetch_neighbours(m: Memory, b: Buffer, position: Value, rest: Resolved) -> Value | None:
    """Load all lanes at once, or return None if they are not contiguous along the last axis."""
    offsets = m.indices.lane_offsets(rest)
    if offsets is None or offsets != list(range(offsets[0], offsets[0] + len(offsets))):
        return None
    pointer = _element(m, b, position)
    for part in m.indices.by_level(rest, b.dtype.nbytes):
        text = f"getelementptr i8, ptr {pointer.ref}, i64 {part.ref}"
        pointer = m.out.op(text, DType.u64, 0, pointer, part)
    return load_neighbours(m, b, pointer, (rest.constant + offsets[0]) * b.dtype.nbytes, None)


def inside_buffer(m: Memory, a: Arithmetic, b: Buffer, places: Sequence[Value]) -> Value:
    """Emit a test of whether all computed indices are in bounds."""
    tests = [
        a.test("icmp ult", v, m.indices.scalar(n)) for v, n in zip(places, b.shape, strict=True)
    ]
    return a.out.all_of(tests)


def put(m: Memory, a: Arithmetic, b: Buffer, places: Sequence[Value], value: Value) -> None:
    """Store to an element at computed indices; the indices must be in bounds."""
    write(m, b, _element(m, b, _position(m, a, b, places)), value)


def _brought_inside(m: Memory, a: Arithmetic, v: Value, n: Expr) -> Value:
    if v.is_constant and not v.lanes and isinstance(n, int):
        return constant(min(max(int(v.ref), 0), n - 1), DType.i64)
    for fn, limit in (("smin", n - 1), ("smax", 0)):
        number = a.out.splat(m.indices.scalar(limit), v.lanes)
        v = a.out.call(f"llvm.{fn}.{mangled(v.dtype, v.lanes)}", v.dtype, v.lanes, v, number)
    return v


def _steps(m: Memory, a: Arithmetic, v: Value, stride: Expr) -> Value:
    """Multiply an index by the stride of its axis, in elements."""
    return v if stride == 1 else a.two("mul", v, a.out.splat(m.indices.scalar(stride), v.lanes))


def _position(m: Memory, a: Arithmetic, b: Buffer, places: Sequence[Value]) -> Value:
    """Emit the linear index of an element."""
    total = constant(0, DType.i64)
    for v, stride in zip(places, b.strides, strict=True):
        total = _sum(a, total, _steps(m, a, v, stride))
    return total


def _sum(a: Arithmetic, x: Value, y: Value) -> Value:
    if "0" in (x.ref, y.ref):
        return y if x.ref == "0" else x
    lanes = max(x.lanes, y.lanes)
    return a.two("add", a.out.splat(x, lanes), a.out.splat(y, lanes))


def _element(m: Memory, b: Buffer, position: Value) -> Value:
    text = f"getelementptr {memory_type(b.dtype)}, ptr {parameter(b)}, {position.typed}"
    return m.out.op(text, DType.u64, 0, position)
