"""The functions of `compiler.compute.scalar.FUNCTIONS` as LLVM operations.

Source: ONNX operator specifications and numpy's casting; integers wrap, and no operand causes a
trap.
"""

from __future__ import annotations

from compiler.codegen.arithmetic import math
from compiler.codegen.arithmetic.convert import convert, rounded
from compiler.codegen.emitter import Emitter
from compiler.codegen.values import Value, constant, mangled
from compiler.ir.types import DType
from compiler.loops.limits import NotLowerable
from compiler.targets.target import Target

LEAST_NORMAL = 2.0**-126
"""The smallest normal f32."""

EXACT_IN_HALF = {
    "neg",
    "abs",
    "max",
    "min",
    "larger",
    "floor",
    "ceil",
    "round",
    "trunc",
    "sign",
    "select",
    "flush",
    "within",
}
"""Functions of half-precision operands whose results are exact in half precision."""


class Arithmetic:
    """Emits functions of values."""

    def __init__(self, out: Emitter, target: Target) -> None:
        self.out = out
        self.has_fma = target.has_fma
        self.is_x86 = target.is_x86
        self.has_scale = target.is_x86 and target.has_masks
        self.has_tables = self.has_scale and target.vector_bytes == 64

    def apply(self, fn: str, args: list[Value], dtype: DType) -> Value:
        """Emit a function of operands of one type; `select` also takes a bool condition."""
        if fn == "select":
            return self.out.select(args[0], args[1], args[2])
        lanes = max(a.lanes for a in args)
        args = [self.out.splat(a, lanes) for a in args]
        kind = args[0].dtype
        if kind.is_storage:
            made = self.apply(fn, [convert(self, a, kind.wide) for a in args], dtype.wide)
            return convert(self, made, dtype)
        if fn in _COMPARE:
            return self._compare(fn, args[0], args[1])
        if kind is DType.bool:
            return self._bool(fn, args)
        if kind.is_float:
            found = self._float(fn, args)
            return rounded(self, found) if fn not in EXACT_IN_HALF else found
        return self._integer(fn, args)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        """Emit `a * b + c` for f32 and f64, fused if the target has the instruction."""
        lanes = max(a.lanes, b.lanes, c.lanes)
        a, b, c = (self.out.splat(v, lanes) for v in (a, b, c))
        if self.has_fma:
            return self.out.call(f"llvm.fma.{mangled(c.dtype, lanes)}", c.dtype, lanes, a, b, c)
        product = self.two("fmul", a, b)
        return self.two("fadd", product, c)

    def negate(self, a: Value) -> Value:
        """Emit `-a` of a float."""
        return self.out.op(f"fneg {a.typed}", a.dtype, a.lanes, a)

    def scaled(self, v: Value, n: Value) -> Value | None:
        """Emit `v * 2**n` for an integral f32 n; None if the target has no such instruction."""
        if not self.has_scale or v.lanes not in (4, 8, 16):
            return None
        bits = v.lanes * 32
        mask = f"i{max(v.lanes, 8)}"
        rounding = ", i32" if bits == 512 else ""
        name = f"llvm.x86.avx512.mask.scalef.ps.{bits}"
        self.out.declare(
            f"declare {v.type} @{name}({v.type}, {v.type}, {v.type}, {mask}{rounding})"
        )
        default = f"{rounding} 4" if rounding else ""
        text = f"call {v.type} @{name}({v.typed}, {n.typed}, {v.type} poison, {mask} -1{default})"
        return self.out.op(text, v.dtype, v.lanes, v, n)

    def two(self, operation: str, a: Value, b: Value) -> Value:
        """Emit an LLVM binary instruction such as `fadd`; f16 and bf16 results are not rounded."""
        return self.out.op(f"{operation} {a.typed}, {b.ref}", a.dtype, a.lanes, a, b)

    def test(self, operation: str, a: Value, b: Value) -> Value:
        """Emit an LLVM comparison, such as `fcmp olt`."""
        return self.out.op(f"{operation} {a.typed}, {b.ref}", DType.bool, a.lanes, a, b)

    def intrinsic(self, name: str, *args: Value) -> Value:
        """Emit an LLVM intrinsic whose operands and result have the same type."""
        a = args[0]
        return self.out.call(f"llvm.{name}.{mangled(a.dtype, a.lanes)}", a.dtype, a.lanes, *args)

    # Comparisons and bools

    def _compare(self, fn: str, a: Value, b: Value) -> Value:
        for_float, for_signed, for_unsigned = _COMPARE[fn]
        if a.dtype.is_float:
            return self.test(f"fcmp {for_float}", a, b)
        signed = a.dtype.label[0] == "i"
        return self.test(f"icmp {for_signed if signed else for_unsigned}", a, b)

    def _bool(self, fn: str, args: list[Value]) -> Value:
        if fn == "not":
            return self.out.negated(args[0])
        operation = {"and": "and", "or": "or", "xor": "xor", "max": "or", "larger": "or",
                     "min": "and", "add": "or", "mul": "and", "ne": "xor"}.get(fn)  # fmt: skip
        if operation is None:
            raise NotLowerable(f"{fn} of bools has no generated code")
        return self.two(operation, args[0], args[1])

    # Floats

    def _float(self, fn: str, args: list[Value]) -> Value:
        a = args[0]
        if fn in _FLOAT_OPERATIONS:
            return self.two(_FLOAT_OPERATIONS[fn], a, args[1])
        if fn in _FLOAT_INTRINSICS:
            return self.intrinsic(_FLOAT_INTRINSICS[fn], a)
        match fn:
            case "neg":
                return self.negate(a)
            case "max" | "min":
                return self._extreme(fn, a, args[1])
            case "larger":
                return self.out.select(self.test("fcmp ogt", args[1], a), args[1], a)
            case "isnan":
                return self.test("fcmp uno", a, a)
            case "isinf":
                return self.test("fcmp oeq", self.intrinsic("fabs", a), _same(a, float("inf")))
            case "rsqrt":
                return self.two("fdiv", _same(a, 1.0), self.intrinsic("sqrt", a))
            case "sign":
                return self._sign(a)
            case "within":
                return a
            case "flush":
                tiny = self.test("fcmp olt", self.intrinsic("fabs", a), _same(a, LEAST_NORMAL))
                return self.out.select(tiny, self.intrinsic("copysign", _same(a, 0.0), a), a)
            case "mod":
                return self._floor_mod(a, args[1])
            case _:
                return math.function(self, fn, args)

    def _extreme(self, fn: str, a: Value, b: Value) -> Value:
        """Emit a max or min that propagates NaN.

        On x86, `a > b ? a : b` is one instruction, which returns b if either operand is NaN. A
        literal operand is always `a`, so only `b` can be NaN. Without a literal operand, a second
        select returns `a` if `a` is NaN. Other targets have an instruction that propagates NaN.
        """
        if not self.is_x86:
            return self.intrinsic("maximum" if fn == "max" else "minimum", a, b)
        if b.is_constant:
            a, b = b, a
        test = "fcmp ogt" if fn == "max" else "fcmp olt"
        found = self.out.select(self.test(test, a, b), a, b)
        if a.is_constant and "0x7FF8" not in a.ref:
            return found
        return self.out.select(self.test("fcmp uno", a, a), a, found)

    def _sign(self, a: Value) -> Value:
        one = self.intrinsic("copysign", _same(a, 1.0), a)
        is_number = self.test("fcmp one", a, _same(a, 0.0))
        return self.out.select(is_number, one, a)

    def _floor_mod(self, a: Value, b: Value) -> Value:
        remainder = self.two("frem", a, b)
        zero = _same(a, 0.0)
        signs_differ = self.out.op(
            f"xor {self.test('fcmp olt', remainder, zero).typed}, "
            f"{self.test('fcmp olt', b, zero).ref}",
            DType.bool, a.lanes, remainder, b,
        )  # fmt: skip
        wrong = self.out.all_of([signs_differ, self.test("fcmp une", remainder, zero)])
        return self.out.select(wrong, self.two("fadd", remainder, b), remainder)

    # Integers

    def _integer(self, fn: str, args: list[Value]) -> Value:
        a = args[0]
        signed = a.dtype.label[0] == "i"
        if fn in _INTEGER_OPERATIONS:
            return self.two(_INTEGER_OPERATIONS[fn], a, args[1])
        match fn:
            case "max" | "min" | "larger":
                kind = "min" if fn == "min" else "max"
                return self.intrinsic(f"{'s' if signed else 'u'}{kind}", a, args[1])
            case "neg":
                return self.two("sub", _same(a, 0), a)
            case "abs":
                if not signed:
                    return a
                return self.out.select(
                    self.test("icmp slt", a, _same(a, 0)), self.two("sub", _same(a, 0), a), a
                )
            case "not":
                return self.two("xor", a, _same(a, -1))
            case "sign":
                return self._integer_sign(a, signed)
            case "floor" | "ceil" | "round" | "trunc":
                return a
            case "div" | "fmod" | "mod":
                return self._divide(fn, a, args[1], signed)
            case "shl" | "shr":
                return self._shift(fn, a, args[1], signed)
            case "pow":
                return self._integer_power(a, args[1], signed)
            case "isnan" | "isinf":
                return constant(False, DType.bool, a.lanes)
            case _:
                raise NotLowerable(f"{fn} of {a.dtype} has no generated code")

    def _integer_sign(self, a: Value, signed: bool) -> Value:
        positive = self.out.select(self.test("icmp ne", a, _same(a, 0)), _same(a, 1), _same(a, 0))
        if not signed:
            return positive
        return self.out.select(self.test("icmp slt", a, _same(a, 0)), _same(a, -1), positive)

    def _divide(self, fn: str, a: Value, b: Value, signed: bool) -> Value:
        """Divide as in numpy: x / 0 is 0, and the smallest integer / -1 is the smallest integer."""
        zero, one = _same(a, 0), _same(a, 1)
        by_zero = self.test("icmp eq", b, zero)
        bad = by_zero
        if signed:
            least = _same(a, 1 << (a.dtype.bits - 1))
            overflow = self.out.all_of(
                [self.test("icmp eq", a, least), self.test("icmp eq", b, _same(a, -1))]
            )
            bad = self.out.op(
                f"or {by_zero.typed}, {overflow.ref}", DType.bool, a.lanes, by_zero, overflow
            )
        safe = b if _is_safe_divisor(b) else self.out.select(bad, one, b)
        prefix = "s" if signed else "u"
        if fn == "div":
            quotient = self.two(f"{prefix}div", a, safe)
            return quotient if safe is b else self.out.select(by_zero, zero, quotient)
        remainder = self.two(f"{prefix}rem", a, safe)
        if fn == "mod" and signed:
            raised = self.two("add", remainder, safe)
            differ = self.test("icmp slt", self.two("xor", remainder, safe), zero)
            wrong = self.out.all_of([differ, self.test("icmp ne", remainder, zero)])
            remainder = self.out.select(wrong, raised, remainder)
        return remainder if safe is b else self.out.select(by_zero, zero, remainder)

    def _shift(self, fn: str, a: Value, b: Value, signed: bool) -> Value:
        """Shift; a shift by the bit width or more gives 0, or copies of the sign bit."""
        bits = a.dtype.bits
        inside = self.test("icmp ult", b, _same(b, bits))
        if fn == "shr" and signed:
            return self.two("ashr", a, self.out.select(inside, b, _same(b, bits - 1)))
        amount = self.out.select(inside, b, _same(b, 0))
        shifted = self.two("shl" if fn == "shl" else "lshr", a, amount)
        return self.out.select(inside, shifted, _same(a, 0))

    def _integer_power(self, a: Value, b: Value, signed: bool) -> Value:
        """Exponentiate by squaring; a negative exponent gives the truncated reciprocal."""
        result, base = _same(a, 1), a
        n_bits = a.dtype.bits - (1 if signed else 0)
        for bit in range(n_bits):
            wanted = self.two("and", b, _same(b, 1 << bit))
            taken = self.test("icmp ne", wanted, _same(b, 0))
            result = self.out.select(taken, self.two("mul", result, base), result)
            if bit + 1 < n_bits:
                base = self.two("mul", base, base)
        if not signed:
            return result
        odd = self.test("icmp ne", self.two("and", b, _same(b, 1)), _same(b, 0))
        is_one = self.test("icmp eq", a, _same(a, 1))
        is_minus_one = self.test("icmp eq", a, _same(a, -1))
        sign = self.out.select(odd, _same(a, -1), _same(a, 1))
        inverse = self.out.select(is_minus_one, sign, _same(a, 0))
        inverse = self.out.select(is_one, _same(a, 1), inverse)
        return self.out.select(self.test("icmp slt", b, _same(b, 0)), inverse, result)


_COMPARE = {
    "eq": ("oeq", "eq", "eq"), "ne": ("une", "ne", "ne"), "lt": ("olt", "slt", "ult"),
    "le": ("ole", "sle", "ule"), "gt": ("ogt", "sgt", "ugt"), "ge": ("oge", "sge", "uge"),
}  # fmt: skip

_FLOAT_OPERATIONS = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv", "fmod": "frem"}

_FLOAT_INTRINSICS = {
    "abs": "fabs", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil",
    "round": "roundeven", "trunc": "trunc",
}  # fmt: skip

_INTEGER_OPERATIONS = {
    "add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor"
}  # fmt: skip


def _same(like: Value, number: float | int) -> Value:
    """Return a literal in the type of a value."""
    return constant(number, like.dtype, like.lanes)


def _is_safe_divisor(b: Value) -> bool:
    """Return whether a divisor is a literal other than 0 and -1."""
    if not b.is_constant:
        return False
    return b.ref.removeprefix("splat (").removesuffix(")").split()[-1] not in ("0", "-1")
