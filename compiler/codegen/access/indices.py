"""Emission of index expressions as scalar or vector integers."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.codegen.access.addresses import Env, Resolved
from compiler.codegen.emitter import Emitter
from compiler.codegen.values import Value, constant, constant_lanes, mangled
from compiler.ir import affine
from compiler.ir.affine import Affine, Apply, Atom, Expr, Range
from compiler.ir.types import DType

I32_LIMIT = 1 << 31


class Indices:
    """Emits index expressions as scalar or vector integers."""

    def __init__(self, out: Emitter, env: Env) -> None:
        self.out = out
        self.env = env

    def simplified(self, e: Expr) -> Expr:
        """Simplify an expression by the ranges of the loop variables."""
        return affine.simplify(e, self.env.ranges)

    def resolve(self, e: Expr) -> Resolved:
        """Split an expression into constant, uniform and lane-varying terms."""
        if isinstance(e, int):
            return Resolved(e)
        env = self.env
        numbers, lane = env.numbers, env.lane
        total, step = e.constant, 0
        atoms: list[tuple[Atom, int]] = []
        compound: list[tuple[Apply, int]] = []
        for atom, c in e.terms:
            if isinstance(atom, str):
                n = numbers.get(atom)
                if n is not None:
                    total += c * n
                elif lane is not None and atom == lane.var:
                    total += c * lane.base
                    step += c
                else:
                    atoms.append((atom, c))
            elif (
                numbers.keys().isdisjoint(inside := atom.names)
                and (lane is None or lane.var not in inside)
                and atom.fn == "mul"
            ):
                atoms.append((atom, c))  # a product of sizes and counters, uniform over lanes
            else:
                compound.append((atom, c))
        if not compound:
            return Resolved(total, tuple(atoms), step)
        return self._resolve_compound(total, atoms, step, compound)

    def number(self, e: Expr) -> int | None:
        """Return the value of an expression if all its loops are unrolled, else None."""
        if isinstance(e, int):
            return e
        total, numbers = e.constant, self.env.numbers
        for atom, c in e.terms:
            n = numbers.get(atom) if isinstance(atom, str) else None
            if n is None:
                r = self.resolve(e)  # a compound expression, or an unknown symbol
                return r.constant if r.is_uniform and not r.atoms else None
            total += c * n
        return total

    def _resolve_compound(
        self,
        total: int,
        atoms: list[tuple[Atom, int]],
        step: int,
        compound: list[tuple[Apply, int]],
    ) -> Resolved:
        """Substitute numbers for unrolled variables in compound atoms, and simplify the result."""
        ranges, values = self._instance_ranges()
        lane_var = self.env.lane.var if self.env.lane else ""
        rest = affine.simplify(affine.substitute(Affine(tuple(compound)), values), ranges)
        lane_atoms: list[tuple[Apply, int]] = []
        if isinstance(rest, int):
            return Resolved(total + rest, tuple(atoms), step)
        total += rest.constant
        for atom, c in rest.terms:
            if atom == lane_var:
                step += c
            elif not isinstance(atom, str) and lane_var in atom.names:
                lane_atoms.append((atom, c))
            else:
                atoms.append((atom, c))
        return Resolved(total, tuple(atoms), step, tuple(lane_atoms))

    def _instance_ranges(self) -> tuple[dict[str, Range], dict[str, Expr]]:
        """Return the ranges and values of variables; the lane variable counts from 0."""
        env = self.env
        values: dict[str, Expr] = dict(env.numbers)
        if env.lane is None:
            return env.ranges, values
        ranges = dict(env.ranges)
        ranges[env.lane.var] = (0, env.lane.active - 1)
        if env.lane.base:
            values[env.lane.var] = affine.symbol(env.lane.var) + env.lane.base
        return ranges, values

    def bounds(self, r: Resolved) -> Range:
        """Return the smallest and largest value over all iterations and active lanes."""
        ranges, _ = self._instance_ranges()
        low = high = r.constant
        terms: list[tuple[Atom, int]] = [*r.atoms, *r.lane_atoms]
        if r.lane_step and self.env.lane:
            terms.append((self.env.lane.var, r.lane_step))
        for atom, c in terms:
            lo, hi = affine.bounds(Affine(((atom, 1),)), ranges)
            low += c * (lo if c > 0 else hi)
            high += c * (hi if c > 0 else lo)
        return low, high

    def lane_offsets(self, r: Resolved) -> list[int] | None:
        """Return the active lanes' offsets from the uniform index; None if any is not constant."""
        lane = self.env.lane
        if lane is None:
            return [0]
        if not r.lane_atoms:
            return [r.lane_step * i for i in range(lane.active)]
        total = affine.symbol(lane.var) * r.lane_step
        for atom, c in r.lane_atoms:
            total = total + Affine(((atom, c),))
        if affine.symbols(total) != {lane.var}:
            return None
        offsets = [affine.substitute(total, {lane.var: i}) for i in range(lane.active)]
        return [o for o in offsets if isinstance(o, int)]

    # Scalars

    def uniform(self, r: Resolved, scale: int = 1) -> Value:
        """Emit the terms that are equal in all lanes, multiplied by `scale`, as an i64."""
        total: Value | None = None
        valued = [(self._atom(atom), c) for atom, c in r.atoms]
        for value, c in sorted(valued, key=lambda t: t[0].level):
            term = self._times(value, c * scale)
            total = term if total is None else self.add(total, term)
        number = constant(r.constant * scale, DType.i64)
        if total is None:
            return number
        return total if r.constant == 0 else self.add(total, number)

    def by_level(self, r: Resolved, scale: int) -> Iterator[Value]:
        """Emit an index's scalar terms times `scale`: a sum per loop level, outermost first."""
        sums: dict[int, Value] = {}
        for atom, c in r.atoms:
            term = self._times(self._atom(atom), c * scale)
            before = sums.get(term.level)
            sums[term.level] = term if before is None else self.add(before, term)
        for level in sorted(sums):
            yield sums[level]

    def scalar(self, e: Expr) -> Value:
        """Emit an expression without the lane variable, as an i64."""
        return self.uniform(self.resolve(e))

    def add(self, a: Value, b: Value) -> Value:
        """Emit the sum of two indices."""
        return self.out.op(f"add nsw i64 {a.ref}, {b.ref}", DType.i64, 0, a, b)

    def _times(self, a: Value, c: int) -> Value:
        if c == 1:
            return a
        return self.out.op(f"mul nsw i64 {a.ref}, {c}", DType.i64, 0, a)

    def _atom(self, atom: Atom) -> Value:
        if isinstance(atom, str):
            return self.env.values[atom]
        known = self.out.scopes[-1].atoms
        found = known.get(atom)
        if found is None:
            a, b = self.scalar(atom.a), self.scalar(atom.b)
            low = self.bounds(self.resolve(atom.a))[0]
            found = known[atom] = self._binary(atom.fn, a, b, low >= 0)
        return found

    # Lanes

    def lanes(self, r: Resolved, dtype: DType | None = None) -> Value:
        """Emit the values of all lanes as a vector, in i32 if the bounds allow it, else in i64."""
        lane = self.env.lane
        assert lane is not None, "no vector loop is open"
        if dtype is None:
            dtype = DType.i32 if self._fits_i32(r) else DType.i64
        shared = self._narrow(self.uniform(r), dtype)
        total = self.out.splat(shared, lane.lanes)
        if r.lane_step:
            steps = constant_lanes([r.lane_step * i for i in range(lane.lanes)], dtype)
            total = steps if shared.ref == "0" else self._vector("add", total, steps)
        for atom, c in r.lane_atoms:
            a = self.lanes(self._resolve_instance(atom.a), dtype)
            b = self.lanes(self._resolve_instance(atom.b), dtype)
            low = self.bounds(self._resolve_instance(atom.a))[0]
            term = self._binary(atom.fn, a, b, low >= 0)
            if c != 1:
                term = self._vector("mul", term, constant(c, dtype, lane.lanes))
            total = self._vector("add", total, term)
        return total

    def active_lanes(self) -> Value:
        """Emit the mask of the active lanes of the current vector loop."""
        lane = self.env.lane
        assert lane is not None, "no vector loop is open"
        if lane.stop is None:
            return constant_lanes([int(i < lane.active) for i in range(lane.lanes)], DType.bool)
        return self.below(lane.base, lane.stop)

    def below(self, first: int, stop: Value) -> Value:
        """Emit the mask of the lanes whose number, counted from `first`, is below `stop`."""
        lane = self.env.lane
        assert lane is not None, "no vector loop is open"
        numbers = constant_lanes([first + i for i in range(lane.lanes)], DType.i32)
        limit = self.out.splat(self._narrow(stop, DType.i32), lane.lanes)
        text = f"icmp slt {numbers.typed}, {limit.ref}"
        return self.out.op(text, DType.bool, lane.lanes, limit)

    def scaled(self, v: Value, factor: int, summand: int) -> Value:
        """Emit `v * factor + summand` as an i64."""
        total = self._times(v, factor)
        return total if summand == 0 else self.add(total, constant(summand, DType.i64))

    def _resolve_instance(self, e: Expr) -> Resolved:
        """Split an expression without unrolled loop variables; the lane variable counts from 0."""
        lane = self.env.lane
        assert lane is not None
        if isinstance(e, int):
            return Resolved(e)
        atoms: list[tuple[Atom, int]] = []
        lane_atoms: list[tuple[Apply, int]] = []
        step = 0
        for atom, c in e.terms:
            if atom == lane.var:
                step += c
            elif not isinstance(atom, str) and lane.var in atom.names:
                lane_atoms.append((atom, c))
            else:
                atoms.append((atom, c))
        return Resolved(e.constant, tuple(atoms), step, tuple(lane_atoms))

    def _fits_i32(self, r: Resolved) -> bool:
        pending = [r]
        while pending:
            part = pending.pop()
            low, high = self.bounds(part)
            if low < -I32_LIMIT or high >= I32_LIMIT:
                return False
            for atom, c in part.lane_atoms:
                inner = [self._resolve_instance(atom.a), self._resolve_instance(atom.b)]
                pending.extend(inner)
                low, high = self.bounds(Resolved(0, (), 0, ((atom, c),)))
                if low < -I32_LIMIT or high >= I32_LIMIT or abs(c) >= I32_LIMIT:
                    return False
        return True

    def _narrow(self, v: Value, dtype: DType) -> Value:
        if dtype is DType.i64:
            return v
        if v.is_constant:
            return constant(int(v.ref), dtype)
        return self.out.op(f"trunc i64 {v.ref} to i32", dtype, 0, v)

    def _vector(self, operation: str, a: Value, b: Value) -> Value:
        return self.out.op(f"{operation} {a.type} {a.ref}, {b.ref}", a.dtype, a.lanes, a, b)

    def _binary(self, fn: str, a: Value, b: Value, never_negative: bool) -> Value:
        """Emit a compound operation on scalar or vector integers; divisors are not negative.

        A divisor can be 0 only if a size is 0. A divisor of 0 is replaced by 1; no code uses the
        result.
        """
        if fn in ("floordiv", "mod") and not b.is_constant:
            one = constant(1, b.dtype, b.lanes)
            b = self.out.call(f"llvm.smax.{mangled(b.dtype, b.lanes)}", b.dtype, b.lanes, b, one)
        if fn == "mul":
            return self._vector("mul", a, b)
        if fn in ("min", "max"):
            return self.out.call(f"llvm.s{fn}.{mangled(a.dtype, a.lanes)}", a.dtype, a.lanes, a, b)
        if never_negative:
            return self._vector("udiv" if fn == "floordiv" else "urem", a, b)
        remainder = self._vector("srem", a, b)
        zero = constant(0, a.dtype, a.lanes)
        test = f"icmp slt {remainder.type} {remainder.ref}, {zero.ref}"
        negative = self.out.op(test, DType.bool, a.lanes, remainder)
        if fn == "mod":
            raised = self._vector("add", remainder, b)
            return self.out.select(negative, raised, remainder)
        quotient = self._vector("sdiv", a, b)
        one = constant(1, a.dtype, a.lanes)
        return self.out.select(negative, self._vector("sub", quotient, one), quotient)
