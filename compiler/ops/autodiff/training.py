"""Optimiser steps: updates of parameters and optimiser states from gradients.

The operands of an optimiser are the learning rate, the step number, then groups of parameters,
gradients and states. The updates follow the formulas of the ONNX standard.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.ir.operator import OnnxCall, Operand, Tensor
from compiler.ir.types import DType
from compiler.ops.elementwise.arithmetic import add, div, mul, pow_, sqrt, sub
from compiler.ops.elementwise.cast import cast
from compiler.ops.elementwise.compare import greater, where

DOMAIN = "ai.onnx.preview.training"

Step = Callable[["Scalars", Any, Any, list[Any]], tuple[Operand, ...]]
"""Maps scalars, a parameter, its gradient and its states to the new parameter and the new
states."""


class Scalars:
    """The scalars of one optimiser step, in the element type of a parameter."""

    def __init__(self, n: OnnxCall, like: Tensor) -> None:
        self.n, self.dtype = n, like.dtype
        self.rate, self.count = (self._as(n.operand(i)) for i in range(2))
        self.is_first = greater(n.operand(1), np.asarray(0, np.int64))

    def _as(self, t: Tensor | None) -> Operand:
        assert t is not None, "learning rate and step are required"
        return t if t.dtype is self.dtype else cast(t, to=self.dtype)

    def number(self, value: float) -> Any:
        """Return a constant."""
        return np.asarray(value, self.dtype.numpy)

    def attr(self, name: str, default: float) -> Any:
        """Return a float attribute as a constant in the element type of the parameter."""
        return self.number(float(self.n.attr(name, default)))


def optimiser(name: str, n_states: int, step: Step) -> None:
    """Register an optimiser: `step` updates each parameter; results are in the order of ONNX."""

    @add.onnx(f"{DOMAIN}:{name}")
    def _(n: OnnxCall) -> tuple[Operand, ...] | None:
        tensors = [t for t in n.operands[2:] if t is not None]
        count = len(tensors) // (2 + n_states)
        rows = [tensors[i::count] for i in range(count)]
        if not rows or len({t.dtype for t in tensors}) > 1:
            return None
        first = tensors[0]
        if first.dtype not in (DType.f32, DType.f64):
            return None
        made = [step(Scalars(n, first), r[0], r[1], list(r[2:])) for r in rows]
        return tuple(parts[i] for i in range(1 + n_states) for parts in made)


def _regularised(s: Scalars, x: Any, gradient: Any, default: float = 0.0) -> Operand:
    """Add L2 regularisation to a gradient."""
    factor = s.attr("norm_coefficient", default)
    return gradient if factor == 0 else add(gradient, mul(factor, x)).out(0)


def _adagrad(s: Scalars, x: Any, gradient: Any, states: list[Any]) -> tuple[Operand, ...]:
    """Compute an Adagrad step. Source: Duchi et al. 2011; ONNX Adagrad-1."""
    decay = s.attr("decay_factor", 0.0)
    rate = div(s.rate, add(s.number(1), mul(s.count, decay)))
    slope = _regularised(s, x, gradient)
    total = add(states[0], mul(slope, slope)).out(0)
    scaled = div(slope, add(sqrt(total), s.attr("epsilon", 1e-6)))
    return sub(x, mul(rate, scaled)), total


def _momentum(s: Scalars, x: Any, gradient: Any, states: list[Any]) -> tuple[Operand, ...]:
    """Compute a momentum step. Source: Polyak 1964, Nesterov 1983; ONNX Momentum-1."""
    alpha, beta = s.attr("alpha", 0.0), s.attr("beta", 0.0)
    slope = _regularised(s, x, gradient)
    later = where(s.is_first, beta, s.number(1))
    velocity = add(mul(alpha, states[0]), mul(later, slope)).out(0)
    if s.n.attr("mode") == "nesterov":
        ahead = add(slope, mul(alpha, velocity))
        return sub(x, mul(s.rate, ahead)), velocity
    return sub(x, mul(s.rate, velocity)), velocity


def _adam(s: Scalars, x: Any, gradient: Any, states: list[Any]) -> tuple[Operand, ...]:
    """Compute an Adam step. Source: Kingma and Ba 2014, arXiv:1412.6980; ONNX Adam-1."""
    alpha, beta, one = s.attr("alpha", 0.9), s.attr("beta", 0.999), s.number(1)
    slope = _regularised(s, x, gradient)
    mean = add(mul(alpha, states[0]), mul(one - alpha, slope)).out(0)
    square = add(mul(beta, states[1]), mul(one - beta, mul(slope, slope))).out(0)
    later = div(mul(s.rate, sqrt(sub(one, pow_(beta, s.count)))), sub(one, pow_(alpha, s.count)))
    rate = where(s.is_first, later, s.rate)
    moved = sub(x, mul(rate, div(mean, add(sqrt(square), s.attr("epsilon", 1e-6))))).out(0)
    after = s.attr("norm_coefficient_post", 0.0)
    return (moved if after == 0 else mul(one - after, moved)), mean, square


optimiser("Adagrad", 1, _adagrad)
optimiser("Momentum", 1, _momentum)
optimiser("Adam", 2, _adam)
