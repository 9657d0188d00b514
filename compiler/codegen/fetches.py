"""Loads and stores at computed indices."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.codegen.arithmetic import Arithmetic
from compiler.codegen.loads import gather
from compiler.codegen.memory import Memory, parameter
from compiler.codegen.values import Value, constant, mangled, memory_type
from compiler.ir.affine import Expr
from compiler.ir.types import DType
from compiler.loops.nodes import Buffer


def fetch(m: Memory, a: Arithmetic, b: Buffer, places: Sequence[Value]) -> Value:
    """The elements at computed indices, each brought into its axis; 0 from an empty buffer."""
    if b.n_elements == 0:
        return constant(0, b.dtype)
    inside = [_brought_inside(m, a, v, n) for v, n in zip(places, b.shape, strict=True)]
    position = _position(m, a, b, inside)
    if not position.lanes:
        at = _element(m, b, position)
        return m.read(b, at, 0, m.load_level(b, at))
    return gather(m, b, Value(parameter(b), DType.u64), position, m.mask(None))


def inside_buffer(m: Memory, a: Arithmetic, b: Buffer, places: Sequence[Value]) -> Value:
    """Whether computed indices lie in a buffer."""
    tests = [
        a.test("icmp ult", v, m.indices.scalar(n)) for v, n in zip(places, b.shape, strict=True)
    ]
    return a.out.all_of(tests)


def put(m: Memory, a: Arithmetic, b: Buffer, places: Sequence[Value], value: Value) -> None:
    """Write the element at computed indices, which lie in the buffer."""
    m.note_store(b)
    m.write(b, _element(m, b, _position(m, a, b, places)), value)


def _brought_inside(m: Memory, a: Arithmetic, v: Value, n: Expr) -> Value:
    if v.is_constant and not v.lanes and isinstance(n, int):
        return constant(min(max(int(v.ref), 0), n - 1), DType.i64)
    for fn, limit in (("smin", n - 1), ("smax", 0)):
        number = a.out.splat(m.indices.scalar(limit), v.lanes)
        v = a.out.call(f"llvm.{fn}.{mangled(v.dtype, v.lanes)}", v.dtype, v.lanes, v, number)
    return v


def _position(m: Memory, a: Arithmetic, b: Buffer, places: Sequence[Value]) -> Value:
    """How many elements lie before the indexed one."""
    lanes = max((v.lanes for v in places), default=0)
    total = constant(0, DType.i64, lanes)
    for v, stride in zip(places, b.strides, strict=True):
        part = a.out.splat(v, lanes)
        if stride != 1:
            part = a.two("mul", part, a.out.splat(m.indices.scalar(stride), lanes))
        total = a.two("add", total, part)
    return total


def _element(m: Memory, b: Buffer, position: Value) -> Value:
    text = f"getelementptr {memory_type(b.dtype)}, ptr {parameter(b)}, {position.typed}"
    return m.out.op(text, DType.u64, 0, position)
