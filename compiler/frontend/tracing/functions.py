"""The functions for traced models: one per operator, and constructors of constants.

from compiler.frontend.tracing import functions as F

y = F.softmax(F.relu(x @ F.weight([64, 32], seed=1)), axis=-1)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

from compiler.errors import CompileError
from compiler.frontend.tracing.tensor import Tensor
from compiler.frontend.tracing.tracing import Tracing, operator_named
from compiler.ir.types import DType

current: ContextVar[Tracing | None] = ContextVar("current", default=None)
"""The current model being traced."""


def weight(
    shape: Sequence[int],
    seed: int = 0,
    deviation: float | None = None,
    dtype: DType = DType.f32,
) -> Tensor:
    """Create normally distributed weights; the default deviation is 1 / sqrt(fan-in)."""
    return tracing_now().weight(shape, seed, deviation, dtype)


def zeros(shape: Sequence[int], dtype: DType = DType.f32) -> Tensor:
    """Create a constant of zeros."""
    return tracing_now().splat(shape, 0, dtype)


def ones(shape: Sequence[int], dtype: DType = DType.f32) -> Tensor:
    """Create a constant of ones."""
    return tracing_now().splat(shape, 1, dtype)


def full(shape: Sequence[int], value: float, dtype: DType = DType.f32) -> Tensor:
    """Create a constant whose elements are all `value`."""
    return tracing_now().splat(shape, value, dtype)


def constant(values: Any, dtype: DType | None = None) -> Tensor:
    """Create a constant; floats become f32, integers become i64, and arrays retain their type."""
    return tracing_now().listed(values, dtype)


MAKERS: dict[str, Callable[..., Tensor]] = {
    f.__name__: f for f in (weight, zeros, ones, full, constant)
}
"""The constructors of constants, by name."""


def tracing_now() -> Tracing:
    """Return the model being traced. Errors: E-WRITE-VALUE outside `model`."""
    found = current.get()
    if found is None:
        raise CompileError("E-WRITE-VALUE", "constants can be created only while a model is traced")
    return found


def __getattr__(name: str) -> Callable[..., Tensor | tuple[Tensor, ...]]:
    if name.startswith("__"):
        raise AttributeError(name)
    op = operator_named(name)
    return lambda *operands, **options: tracing_now().apply(op, operands, options)


__all__ = ["MAKERS", "constant", "full", "ones", "weight", "zeros"]
