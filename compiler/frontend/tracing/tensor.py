"""Symbolic tensors, the values of traced models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from compiler.errors import CompileError, require
from compiler.ir.operator import OPERATORS
from compiler.ir.types import Dim, DType, TensorType, Type

if TYPE_CHECKING:
    from compiler.frontend.tracing.tracing import Operand, Tracing

BINARY = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "%": "mod",
    "**": "pow",
    "@": "matmul",
    "&": "logical_and",
    "|": "logical_or",
    "^": "logical_xor",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
    "==": "equal",
}
"""Maps Python's operators on tensors to operators of the graph IR."""

UNARY = {"-": "neg", "~": "logical_not", "abs": "abs"}


class Tensor:
    """A value of a traced model: it has a type, but no elements.

    Every operator is also a method: `x.relu()`, `x.softmax(axis=-1)`, `x.reshape([-1, 8])`.
    """

    __slots__ = ("name", "tracing", "type")
    __array_ufunc__ = None  # makes numpy defer `array + tensor` to the tensor
    __hash__ = object.__hash__

    def __init__(self, tracing: Tracing, name: str, t: Type) -> None:
        self.tracing, self.name, self.type = tracing, name, t

    @property
    def dtype(self) -> DType:
        """The element type. Errors: E-WRITE-VALUE for a value that is not a tensor."""
        return self._tensor.dtype

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The sizes of the axes: numbers, or symbols if open. Errors: E-SHAPE-OPEN."""
        return self._tensor.dims

    @property
    def rank(self) -> int:
        """The number of axes. Errors: E-SHAPE-OPEN."""
        return self._tensor.rank

    @property
    def T(self) -> Tensor:
        """The tensor with its axes in reverse order."""
        return self.applied("transpose", perm=list(reversed(range(self.rank))))

    @property
    def _tensor(self) -> TensorType:
        t = self.type
        if not isinstance(t, TensorType):
            raise CompileError("E-WRITE-VALUE", f"{self.name} is {t}, which is not a tensor")
        return t

    def applied(self, op: str, *others: Operand, **options: Any) -> Tensor:
        """Apply an operator with one result, with this tensor as its first operand."""
        made = self.tracing.apply(OPERATORS[op], [self, *others], options)
        assert isinstance(made, Tensor), f"{op} has several results"
        return made

    def binary(self, symbol: str, other: Operand, reverse: bool = False) -> Tensor:
        """Apply a binary operator to this tensor and another operand; `reverse` exchanges them."""
        if symbol == "!=":
            return self.binary("==", other).applied("logical_not")
        op = BINARY[symbol]
        if symbol in "&|^" and self.dtype is not DType.bool:
            op = op.replace("logical", "bit")
        operands = [other, self] if reverse else [self, other]
        made = self.tracing.apply(OPERATORS[op], operands, {})
        assert isinstance(made, Tensor), f"{op} has one result"
        return made

    def unary(self, symbol: str) -> Tensor:
        """Apply `-self`, `~self` or `abs(self)`."""
        op = UNARY[symbol]
        if symbol == "~" and self.dtype is not DType.bool:
            op = "bit_not"
        return self.applied(op)

    def __getattr__(self, name: str) -> Callable[..., Tensor | tuple[Tensor, ...]]:
        if name.startswith("_") or name not in OPERATORS:
            raise AttributeError(f"a tensor has no attribute or operator {name!r}")
        op = OPERATORS[name]
        return lambda *others, **options: self.tracing.apply(op, [self, *others], options)

    def __getitem__(self, index: Any) -> Tensor:
        return indexed(self, index if isinstance(index, tuple) else (index,))

    def __bool__(self) -> bool:
        raise CompileError(
            "E-WRITE-VALUE",
            f"the truth value of {self.name} is known only when the model runs",
            hint="choose between tensors with where(condition, a, b)",
        )

    def __len__(self) -> int:
        size = self.shape[0] if self.rank else None
        require(isinstance(size, int), "E-WRITE-VALUE", f"{self.name} has no known length")
        return int(size)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"{self.name}: {self.type}"

    def __neg__(self) -> Tensor:
        return self.unary("-")

    def __invert__(self) -> Tensor:
        return self.unary("~")

    def __abs__(self) -> Tensor:
        return self.unary("abs")


_METHODS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "%": "mod",
    "**": "pow",
    "@": "matmul",
    "&": "and",
    "|": "or",
    "^": "xor",
}
_COMPARISONS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}


def _add_methods() -> None:
    """Define Python's binary operators on tensors."""

    def forward(symbol: str) -> Callable[[Tensor, Any], Tensor]:
        return lambda self, other: self.binary(symbol, other)

    def backward(symbol: str) -> Callable[[Tensor, Any], Tensor]:
        return lambda self, other: self.binary(symbol, other, reverse=True)

    for symbol, word in {**_METHODS, **_COMPARISONS}.items():
        setattr(Tensor, f"__{word}__", forward(symbol))
    for symbol, word in _METHODS.items():
        setattr(Tensor, f"__r{word}__", backward(symbol))


_add_methods()

LAST = (1 << 63) - 1
"""A slice end greater than the size of any axis."""


def indexed(x: Tensor, index: tuple[Any, ...]) -> Tensor:
    """Index a tensor as numpy does: integers, slices, `...` and None.

    Errors: E-WRITE-VALUE for an index of another kind, E-OP-AXIS for too many indices.
    """
    places = sum(i is not None and i is not Ellipsis for i in index)
    if places > x.rank:
        message = f"{places} indices are too many for {x.name}, which has {x.rank} axes"
        raise CompileError("E-OP-AXIS", message)
    require(sum(i is Ellipsis for i in index) <= 1, "E-WRITE-VALUE", "`...` may occur only once")
    full: list[Any] = []
    for i in index if Ellipsis in map(_plain, index) else (*index, Ellipsis):
        full += [slice(None)] * (x.rank - places) if i is Ellipsis else [i]
    axis, cuts, dropped, added = 0, [], [], []
    for i in full:
        if i is None:
            added.append(axis - len(dropped) + len(added))
            continue
        if isinstance(i, int) and not isinstance(i, bool):
            size = x.shape[axis]
            if isinstance(size, int) and not -size <= i < size:
                message = f"index {i} is outside axis {axis} of size {size}"
                raise CompileError(
                    "E-WRITE-VALUE", message, hint="indices count from 0, or backwards from -1"
                )
            cuts.append((axis, i, i + 1 if i != -1 else LAST, 1))
            dropped.append(axis)
        elif not isinstance(i, slice):
            raise CompileError(
                "E-WRITE-VALUE",
                "an index must be an integer, a slice, `...` or None",
                hint="read elements at computed indices with gather(x, indices, axis=0)",
            )
        elif i != slice(None):
            cuts.append((axis, *_bounds(i)))
        axis += 1
    return _taken(x, cuts, dropped, added)


def _plain(i: Any) -> Any:
    return None if isinstance(i, Tensor) else i


def _bounds(cut: slice) -> tuple[int, int, int]:
    step = 1 if cut.step is None else cut.step
    start = (0 if step > 0 else LAST) if cut.start is None else cut.start
    end = (LAST if step > 0 else -LAST) if cut.stop is None else cut.stop
    return start, end, step


def _taken(
    x: Tensor, cuts: list[tuple[int, int, int, int]], dropped: list[int], added: list[int]
) -> Tensor:
    if cuts:
        axes, starts, ends, steps = map(list, zip(*cuts, strict=True))
        x = x.applied("slice", starts, ends, axes, steps)
    if dropped:
        x = x.applied("squeeze", axes=dropped)
    return x.applied("unsqueeze", axes=added) if added else x
