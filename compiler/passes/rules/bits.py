"""Rules for identity and absorbing elements of logic, on booleans and on the bits of integers.

Each rule is a row of one of two tables. One table lists identity elements, such as true in `x and
true`; the other table lists absorbing elements, such as 0 in `x & 0`.
"""

from __future__ import annotations

from compiler.dataclass import dataclass
from compiler.ir.constant import Constant
from compiler.ir.operator import Tensor
from compiler.ir.types import TensorType
from compiler.passes.engine.folding import Example, folds_to_operand
from compiler.passes.engine.pattern import Any
from compiler.passes.engine.rule import Rule, Skip, rule
from compiler.passes.rules.arithmetic import filled
from compiler.passes.rules.calls import o

X = Any("x")


@dataclass(frozen=True, slots=True)
class _Row:
    """A rule for `op(x, number)` with its title; the rule does not apply to the number `other`."""

    name: str
    op: str
    number: int
    other: int
    words: str

    @property
    def dtype(self) -> str:
        return "bool" if self.op.startswith("logical") else "i32"

    def text(self, number: int) -> str:
        return str(bool(number)).lower() if self.dtype == "bool" else str(number)

    def example(self, *lines: str) -> Example:
        reader = "logical_xor({}, y)" if self.dtype == "bool" else "add({}, y)"
        return Example(lines, inputs=f"x: {self.dtype}[2,3], y: {self.dtype}[3]", reader=reader)

    def applied(self, number: int) -> Example:
        return self.example(
            f"const n: {self.dtype}[] = literal({self.text(number)})",
            f"a: {self.dtype}[2,3] = {self.op}(x, n)",
        )


def _neutral(row: _Row) -> Rule:
    """Return the rule op(x, number) -> x."""
    return folds_to_operand(
        row.name,
        o[row.op](X, row.number),
        row.words,
        example=row.applied(row.number),
        near_miss=row.applied(row.other),
    )


def _deciding(row: _Row, result: int) -> Rule:
    """Return the rule op(x, number) -> constant."""

    def body(x: Tensor, t: TensorType) -> Constant | Skip:
        return filled(result, t)

    after = row.example(f"const a: {row.dtype}[2,3] = splat({row.text(result)})")
    return rule(
        o[row.op](X, row.number),
        example=f"{row.applied(row.number).text}=>{after.text}",
        near_miss=row.applied(row.other).text,
        result="t",
        name=row.name,
        words=row.words,
    )(body)


BITS: list[Rule] = [
    _neutral(_Row("drop_and_true", "logical_and", 1, 0, "Fold `x and true` to `x`.")),
    _deciding(_Row("and_false", "logical_and", 0, 1, "Fold `x and false` to false."), 0),
    _neutral(_Row("drop_or_false", "logical_or", 0, 1, "Fold `x or false` to `x`.")),
    _deciding(_Row("or_true", "logical_or", 1, 0, "Fold `x or true` to true."), 1),
    _neutral(_Row("drop_xor_false", "logical_xor", 0, 1, "Fold `x xor false` to `x`.")),
    _neutral(_Row("drop_and_all_bits", "bit_and", -1, 1, "Fold `x & ~0` to `x`.")),
    _deciding(_Row("and_no_bits", "bit_and", 0, 1, "Fold `x & 0` to 0."), 0),
    _neutral(_Row("drop_or_no_bits", "bit_or", 0, 1, "Fold `x | 0` to `x`.")),
    _neutral(_Row("drop_xor_no_bits", "bit_xor", 0, 1, "Fold `x ^ 0` to `x`.")),
    _neutral(_Row("drop_shift_left", "shift_left", 0, 1, "Fold `x << 0` to `x`.")),
    _neutral(_Row("drop_shift_right", "shift_right", 0, 1, "Fold `x >> 0` to `x`.")),
]
"""Rules of `algebraic_simplification` for identity and absorbing elements, in the order tried."""
