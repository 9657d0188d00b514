"""The activation functions of recurrent operators, in numpy and as operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.operator import Array, Call, Operand
from compiler.ops.elementwise.activations import (
    elu,
    hard_sigmoid,
    leaky_relu,
    relu,
    sigmoid,
    softplus,
    softsign,
    thresholded_relu,
)
from compiler.ops.elementwise.arithmetic import add, mul, tanh


@dataclass(frozen=True, slots=True)
class Kind:
    """An activation: its numpy function, its call as operators, defaults of alpha and beta."""

    numpy: Callable[[Array, float, float], Array]
    call: Callable[[Operand, float, float, type], Call]
    alpha: float | None = None
    beta: float | None = None


@dataclass(frozen=True, slots=True)
class Activation:
    """An activation function with its parameters alpha and beta."""

    kind: Kind
    alpha: float
    beta: float

    def numpy(self, x: Array) -> Array:
        """Apply the activation to an array, in the array's type."""
        with np.errstate(all="ignore"):
            return self.kind.numpy(x, self.alpha, self.beta).astype(x.dtype)

    def call(self, x: Operand, dtype: type) -> Call:
        """Build the call of the activation as operators, for elements of this numpy type."""
        return self.kind.call(x, self.alpha, self.beta, dtype)


def _scaled(x: Operand, factor: float, dtype: type) -> Call:
    return mul(x, np.array(factor, dtype))


KINDS: dict[str, Kind] = {
    "relu": Kind(lambda x, a, b: np.maximum(x, 0), lambda x, a, b, t: relu(x)),
    "tanh": Kind(lambda x, a, b: np.tanh(x), lambda x, a, b, t: tanh(x)),
    "sigmoid": Kind(lambda x, a, b: 1 / (1 + np.exp(-x)), lambda x, a, b, t: sigmoid(x)),
    "softsign": Kind(lambda x, a, b: x / (1 + np.abs(x)), lambda x, a, b, t: softsign(x)),
    "softplus": Kind(
        lambda x, a, b: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
        lambda x, a, b, t: softplus(x),
    ),
    "affine": Kind(
        lambda x, a, b: a * x + b,
        lambda x, a, b, t: add(_scaled(x, a, t), np.array(b, t)),
        1.0,
        0.0,
    ),
    "leakyrelu": Kind(
        lambda x, a, b: np.where(x < 0, a * x, x), lambda x, a, b, t: leaky_relu(x, alpha=a), 0.01
    ),
    "thresholdedrelu": Kind(
        lambda x, a, b: np.where(x > a, x, 0), lambda x, a, b, t: thresholded_relu(x, alpha=a), 1.0
    ),
    "elu": Kind(
        lambda x, a, b: np.where(x < 0, a * (np.exp(x) - 1), x),
        lambda x, a, b, t: elu(x, alpha=a),
        1.0,
    ),
    "scaledtanh": Kind(
        lambda x, a, b: a * np.tanh(b * x),
        lambda x, a, b, t: _scaled(tanh(_scaled(x, b, t)), a, t),
        1.0,
        1.0,
    ),
    "hardsigmoid": Kind(
        lambda x, a, b: np.clip(a * x + b, 0, 1),
        lambda x, a, b, t: hard_sigmoid(x, alpha=a, beta=b),
        0.2,
        0.5,
    ),
}
"""The activations by lower-case name. Source: the list in ONNX RNN-22, LSTM-22, GRU-22."""


def activations_of(
    names: Sequence[str], alphas: Sequence[float], betas: Sequence[float]
) -> list[Activation]:
    """Return activations with their parameters; parameters are taken from the lists in order.

    Errors: E-OP-ATTRIBUTE for an unknown activation.
    """
    left_alphas, left_betas = list(alphas), list(betas)
    found: list[Activation] = []
    for name in names:
        kind = KINDS.get(name.lower())
        if kind is None:
            raise CompileError(
                "E-OP-ATTRIBUTE",
                f"no activation is named {name[:40]!r}; activations: {', '.join(KINDS)}",
            )
        found.append(Activation(kind, _next(kind.alpha, left_alphas), _next(kind.beta, left_betas)))
    return found


def _next(default: float | None, left: list[float]) -> float:
    if default is None:
        return 0.0
    return left.pop(0) if left else default
