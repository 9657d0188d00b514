"""The emission of expressions: scalars, or one value for each lane of the current vector loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard

from compiler.codegen.access.addresses import flatten
from compiler.codegen.access.fetches import Places, fetch
from compiler.codegen.access.loads import load
from compiler.codegen.access.memory import Memory
from compiler.codegen.access.stored import reinterpreted
from compiler.codegen.arithmetic.bounded import is_bounded, is_rounded, narrowed, nearest
from compiler.codegen.arithmetic.convert import convert, to_bf16
from compiler.codegen.arithmetic.functions import Arithmetic
from compiler.codegen.values import Value, constant
from compiler.codegen.vectors.registers import Registers
from compiler.codegen.vectors.trees import Trees
from compiler.compute.scalar import (
    Apply,
    Bits,
    Convert,
    Fetch,
    IndexValue,
    Inside,
    Number,
    Read,
    Scalar,
    walk,
)
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.types import DType
from compiler.loops.nodes import Buffer
from compiler.targets.target import Target


def _is_product(s: Scalar) -> TypeGuard[Apply]:
    return isinstance(s, Apply) and s.fn == "mul"


def _occurs(product: Apply, other: Scalar) -> bool:
    """Return whether the other operand of a sum contains the same product.

    The exact product and the rounded product differ: fused, `x*y - x*y` would not be 0, and `x*y -
    floor(x*y)` could be negative.
    """
    return any(isinstance(part, Apply) and part == product for part in walk(other))


Cache = dict[object, dict]  # type: ignore[type-arg]
"""A cache of facts about the statements of a body. The cache also contains the caches of inner
bodies, keyed by the identity of the statement that contains the body."""


class Expressions:
    """Emits the expressions of one kernel at the insertion point of its statements."""

    def __init__(
        self,
        buffers: Mapping[str, Buffer],
        memory: Memory,
        arithmetic: Arithmetic,
        registers: Registers,
        target: Target,
    ) -> None:
        self.buffers = buffers
        self.memory = memory
        self.arithmetic = arithmetic
        self.registers = registers
        self.target = target
        self.indices = memory.indices
        self.out = memory.out
        self.env = self.indices.env
        self.trees = Trees(registers, arithmetic)
        self.guards: list[Value] = []
        self.held: dict[Read, Value] = {}
        """Reads whose values are already in registers at the insertion point."""

    def value(self, s: Scalar, cache: Cache) -> Value:
        """Emit an expression: a scalar, or a vector if lanes differ."""
        match s:
            case Read() if self.held and s in self.held:
                return self.held[s]
            case Read(name, index, _):
                if name in self.registers.cuts:
                    return self.registers.read(name, index)
                b = self.buffers[name]
                r = self.indices.resolve(self.flat(s, b, index, cache))
                guard = self.out.all_of(self.guards) if self.guards else None
                return load(self.memory, b, r, guard)
            case Fetch(name, places, _):
                b = self.buffers[name]
                return fetch(self.memory, self.arithmetic, b, self._places(b, places, cache))
            case Number(number, dtype):
                return constant(number, dtype)
            case Apply(fn, args, dtype):
                fused = self._fused(s, cache) or self.trees.value(s)
                if fused is not None:
                    return fused
                return self.arithmetic.apply(fn, [self.value(a, cache) for a in args], dtype)
            case Convert(Apply("flush", (arg,)), DType.bf16) if self.target.flushes_to_bf16:
                return to_bf16(self.arithmetic, self.value(arg, cache))
            case Convert(Apply("round", (arg,)) as whole, dtype) if is_rounded(whole, dtype):
                return nearest(self.arithmetic, self.value(arg, cache))
            case Convert(arg, dtype):
                value = self.value(arg, cache)
                if is_bounded(arg, dtype):
                    return narrowed(self.arithmetic, value, dtype)
                return convert(self.arithmetic, value, dtype)
            case Bits(arg, dtype):
                return reinterpreted(self.out, self.value(arg, cache), dtype)
            case IndexValue(expr, dtype):
                return self._index_value(expr, dtype)
            case Inside():
                return self._inside(s, cache)
            case _:
                raise AssertionError(f"{type(s).__name__} cannot occur in Loop IR")

    def _places(self, b: Buffer, places: tuple[Scalar, ...], cache: Cache) -> Places:
        """Return the index of a fetch; all provably in-bounds axes form one linear index."""
        computed: dict[int, Value] = {}
        inside: Expr = 0
        for d, (place, n) in enumerate(zip(places, b.shape, strict=True)):
            if isinstance(place, IndexValue) and place.dtype is DType.i64 and isinstance(n, int):
                e = self.indices.simplified(place.expr)
                low, high = self.indices.bounds(self.indices.resolve(e))
                if low >= 0 and high < n:
                    inside = inside + e * b.strides[d]
                    continue
            computed[d] = self.value(place, cache)
        return Places(computed, self.indices.resolve(self.indices.simplified(inside)))

    def _fused(self, s: Apply, cache: Cache) -> Value | None:
        """Emit `a*b + c` and its variants as a fused multiply-add."""
        if s.fn not in ("add", "sub") or s.dtype not in (DType.f32, DType.f64):
            return None
        left, right = s.args
        if _is_product(right) and not _occurs(right, left):
            a, b = (self.value(x, cache) for x in right.args)
            c = self.value(left, cache)
            if s.fn == "sub":
                a = self.arithmetic.negate(a)
            return self.arithmetic.fma(a, b, c)
        if _is_product(left) and not _occurs(left, right):
            a, b = (self.value(x, cache) for x in left.args)
            c = self.value(right, cache)
            return self.arithmetic.fma(a, b, self.arithmetic.negate(c) if s.fn == "sub" else c)
        return None

    def _index_value(self, expr: Expr, dtype: DType) -> Value:
        r = self.indices.resolve(self.indices.simplified(expr))
        v = self.indices.uniform(r) if r.is_uniform else self.indices.lanes(r)
        return convert(self.arithmetic, v, dtype)

    def _limit(self, extent: Expr, dtype: DType) -> Value:
        """Emit the length of an axis, in the type of the indices compared with it."""
        if isinstance(extent, int):
            return constant(extent, dtype)
        n = self.indices.scalar(extent)
        if dtype is DType.i32:
            n = self.out.op(f"trunc i64 {n.ref} to i32", DType.i32, 0, n)
        return n

    def _inside(self, s: Inside, cache: Cache) -> Value:
        tests: list[tuple[Value, Value]] = []
        for e, extent in s.tests:
            r = self.indices.resolve(self.indices.simplified(e))
            low, high = self.indices.bounds(r)
            least, most = affine.bounds(extent, self.env.ranges)
            if low >= 0 and high < least:
                continue
            if high < 0 or low >= most:
                return self.value(s.otherwise, cache)
            v = self.indices.uniform(r) if r.is_uniform else self.indices.lanes(r)
            tests.append((v, self._limit(extent, v.dtype)))
        if not tests:
            return self.value(s.then, cache)
        holds = self._all_below(tests)
        self.guards.append(holds)
        then = self.value(s.then, cache)
        self.guards[-1] = self.out.negated(holds)
        otherwise = self.value(s.otherwise, cache)
        self.guards.pop()
        return self.out.select(holds, then, otherwise)

    def _all_below(self, tests: list[tuple[Value, Value]]) -> Value:
        """Emit the test whether every number is at least 0 and below its limit.

        Tests of scalar indices need no instruction per vector: if one fails, the limit of the first
        vector test becomes 0, and this test fails in every lane. The tests are not combined by
        masks, because LLVM would widen and narrow the masks.
        """
        shared = [self._below(v, limit) for v, limit in tests if not v.lanes]
        lanewise = [(v, limit) for v, limit in tests if v.lanes]
        if shared and lanewise:
            v, limit = lanewise[0]
            none = constant(0, limit.dtype)
            lanewise[0] = v, self.out.select(self.out.all_of(shared), limit, none)
            shared = []
        return self.out.all_of([*shared, *(self._below(v, limit) for v, limit in lanewise)])

    def _below(self, v: Value, limit: Value) -> Value:
        text = f"icmp ult {v.typed}, {self.out.splat(limit, v.lanes).ref}"
        return self.out.op(text, DType.bool, v.lanes, v, limit)

    def flat(self, owner: object, b: Buffer, index: tuple[Expr, ...], cache: Cache) -> Expr:
        """Return the linear index of an access, computed once per statement."""
        found = cache.get(("flat", id(owner)))
        if found is None:
            flat = self.indices.simplified(flatten(index, b.strides))
            found = cache[("flat", id(owner))] = {"flat": flat}
        return found["flat"]
