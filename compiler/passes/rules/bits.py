"""Rules for identity and absorbing elements of logic, on booleans and on the bits of integers.

Each rule is a row of one of two tables. One table lists identity elements, such as true in `x and
true`; the other table lists absorbing elements, such as 0 in `x & 0`.
"""

from __future__ import annotations

from collections.abc import Callable

from compiler.dataclass import dataclass
from compiler.ir.constant import Constant
from compiler.ir.operator import Operand, Tensor
from compiler.ir.types import TensorType
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

    @property
    def behind(self) -> str:
        """The operator that reads the rewritten node in examples, so the node is no result."""
        return "logical_xor" if self.dtype == "bool" else "add"

    def graph(self, number: int) -> str:
        t = self.dtype
        return f"""
    graph g(x: {t}[2,3], y: {t}[3]) {{
      const n: {t}[] = literal({self.text(number)})
      a: {t}[2,3] = {self.op}(x, n)
      b: {t}[2,3] = {self.behind}(a, y)
      return b
    }}"""


def _graph_after(row: _Row, body: str) -> str:
    return f"""
    graph g(x: {row.dtype}[2,3], y: {row.dtype}[3]) {{{body}
      return b
    }}
    """


def _neutral(row: _Row) -> Rule:
    """Return the rule op(x, number) -> x."""

    def body(x: Tensor) -> Tensor:
        return x

    after = f"\n      b: {row.dtype}[2,3] = {row.behind}(x, y)"
    return _declared(row, body, after, "")


def _deciding(row: _Row, result: int) -> Rule:
    """Return the rule op(x, number) -> constant."""

    def body(x: Tensor, t: TensorType) -> Constant | Skip:
        return filled(result, t)

    after = f"""
      const a: {row.dtype}[2,3] = splat({row.text(result)})
      b: {row.dtype}[2,3] = {row.behind}(a, y)"""
    return _declared(row, body, after, "t")


def _declared(row: _Row, body: Callable[..., Operand], after: str, result: str) -> Rule:
    body.__name__, body.__doc__ = row.name, row.words
    return rule(
        o[row.op](X, row.number),
        example=f"{row.graph(row.number)}\n    =>{_graph_after(row, after)}",
        near_miss=f"{row.graph(row.other)}\n    ",
        result=result,
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
