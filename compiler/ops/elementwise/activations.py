"""Activation functions: a table row if the function has no parameters, else a declaration."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from typing import Any

import numpy as np

from compiler.compute.numbers import normal_cdf, normal_cdf_tanh
from compiler.errors import require
from compiler.ir.operator import OnnxCall, Operand, Operator, Tensor, Trait, standard
from compiler.ir.types import DType, TensorType
from compiler.ops.elementwise.arithmetic import mul
from compiler.ops.elementwise.cast import cast
from compiler.ops.elementwise.table import (
    SPECIAL,
    attributes_of,
    elementwise,
    unary,
    unary_samples,
    with_trailing_ones,
)
from compiler.ops.type_rules.requirements import broadcast_type, require_elements

relu = unary(
    "relu",
    "max(x, 0): positive elements stay, negative elements become 0; NaN stays NaN.",
    traits=("increasing", "integer_preserving"),
    numpy=lambda x: np.maximum(x, 0),
    scalar=lambda k, x: k.max(x, 0),
    onnx="Relu",
    elements="signed",
    exact=True,
)
sigmoid = unary(
    "sigmoid",
    "1/(1+exp(-x)): map any number to the range 0 to 1.",
    traits=("expensive", "nearly_increasing"),
    value_range=(0.0, 1.0),
    numpy=lambda x: 1 / (1 + np.exp(-x)),
    scalar=lambda k, x: k.sigmoid(x),
    onnx="Sigmoid",
    flops=4,
)
softplus = unary(
    "softplus",
    "log(1+exp(x)), computed without overflow as max(x,0)+log(1+exp(-|x|)).",
    traits=("expensive", "nearly_increasing"),
    value_range=(0.0, math.inf),
    numpy=lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
    scalar=lambda k, x: k.max(x, 0) + k.log1p(k.exp(-k.abs(x))),
    onnx="Softplus",
    flops=7,
)
softsign = unary(
    "softsign",
    "x/(1+|x|).",
    traits=("expensive",),
    value_range=(-1.0, 1.0),
    numpy=lambda x: x / (1 + np.abs(x)),
    scalar=lambda k, x: x / (k.abs(x) + 1),
    onnx="Softsign",
    flops=3,
)


def _mish(x: Any) -> Any:
    return x * np.tanh(np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))))


def _mish_scalar(k: Any, x: Any) -> Any:
    """Compute x*(e*e+2*e)/(e*e+2*e+2), e = exp(x), from exp(-|x|), which does not overflow."""
    e = k.exp(-k.abs(x))
    negative = k.lt(x, 0)
    above = k.where(negative, e * e + e * 2, e * 2 + 1)  # each alternative is rounded once
    below = above + k.where(negative, 2.0, e * e * 2)
    return x * (above / below)


mish = unary(
    "mish",
    """x*tanh(softplus(x)).

    Source: Misra 2019, arXiv:1908.08681.
    """,
    traits=("expensive",),
    numpy=_mish,
    scalar=_mish_scalar,
    onnx="Mish",
    flops=9,
)
hard_swish = unary(
    "hard_swish",
    "x*min(max(x/6+0.5, 0), 1).",
    numpy=lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    scalar=lambda k, x: x * k.min(k.max((x + 3) * (1 / 6), 0), 1),
    flops=5,
)


def activation(
    onnx: str,
    *attrs: dict[str, Any],
    numpy: Callable[..., Any],
    scalar: Callable[..., Any],
    flops: int,
    traits: Collection[Trait] = (),
    value_range: tuple[float, float] | None = None,
) -> Callable[[Callable[..., Any]], Operator]:
    """Declare an activation with ONNX's attributes; operands and results are floats."""

    def samples() -> Iterator[tuple[Any, ...]]:
        for operands, _ in unary_samples("float"):
            yield operands, {}
        for given in attrs:
            yield ["f32[2,3,5]"], given
            yield [SPECIAL], given

    def declare(rule: Callable[..., Any]) -> Operator:
        operator = elementwise(
            numpy=numpy,
            scalar=scalar,
            flops=flops,
            exact=False,
            traits=traits,
            value_range=value_range,
            samples=samples,
        )(rule)
        operator.onnx(onnx)(lambda n: operator(n.operand(0), **attributes_of(n, operator)))
        operator.exports_as(onnx)
        return operator

    return declare


def _floating(name: str, x: Tensor) -> TensorType:
    require_elements(name, "float", x)
    return x.type.logical


@activation(
    "LeakyRelu",
    {"alpha": 0.25},
    traits=("increasing",),
    numpy=lambda x, alpha: np.where(x < 0, alpha * x, x),
    scalar=lambda k, x, alpha: k.where(k.lt(x, 0), x * alpha, x),
    flops=2,
)
def leaky_relu(x: Tensor, *, alpha: float = 0.01) -> TensorType:
    """x for positive elements, else alpha*x."""
    return _floating("leaky_relu", x)


@leaky_relu.increases_if
def _(*, alpha: float) -> bool:
    return 0 < alpha < math.inf


@activation(
    "Elu",
    {"alpha": 2.0},
    traits=("expensive", "nearly_increasing"),
    numpy=lambda x, alpha: np.where(x < 0, alpha * np.expm1(x), x),
    scalar=lambda k, x, alpha: k.where(k.lt(x, 0), k.expm1(x) * alpha, x),
    flops=4,
)
def elu(x: Tensor, *, alpha: float = 1.0) -> TensorType:
    """x for positive elements, else alpha*(exp(x)-1)."""
    return _floating("elu", x)


@elu.increases_if
def _(*, alpha: float) -> bool:
    return 0 < alpha < math.inf


@activation(
    "Selu",
    {"alpha": 2.0, "gamma": 3.0},
    traits=("expensive", "nearly_increasing"),
    numpy=lambda x, alpha, gamma: gamma * np.where(x > 0, x, alpha * np.expm1(x)),
    scalar=lambda k, x, alpha, gamma: k.where(k.gt(x, 0), x, k.expm1(x) * alpha) * gamma,
    flops=5,
)
def selu(
    x: Tensor, *, alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875
) -> TensorType:
    """gamma*x for positive elements, else gamma*(alpha*exp(x)-alpha).

    Source: Klambauer et al. 2017, arXiv:1706.02515; the constants are those of ONNX Selu-6.
    """
    return _floating("selu", x)


@selu.increases_if
def _(*, alpha: float, gamma: float) -> bool:
    return 0 < alpha < math.inf and 0 < gamma < math.inf


@activation(
    "Celu",
    {"alpha": 0.5},
    traits=("expensive", "nearly_increasing"),
    numpy=lambda x, alpha: np.maximum(x, 0) + np.minimum(alpha * np.expm1(x / alpha), 0),
    scalar=lambda k, x, alpha: k.max(x, 0) + k.min(k.expm1(x / alpha) * alpha, 0),
    flops=7,
)
def celu(x: Tensor, *, alpha: float = 1.0) -> TensorType:
    """max(x, 0) + min(alpha*(exp(x/alpha)-1), 0)."""
    return _floating("celu", x)


@celu.increases_if
def _(*, alpha: float) -> bool:
    return 0 < alpha < math.inf


@activation(
    "HardSigmoid",
    {"alpha": 0.5, "beta": 0.25},
    traits=("increasing",),
    value_range=(0.0, 1.0),
    numpy=lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1),
    scalar=lambda k, x, alpha, beta: k.min(k.max(x * alpha + beta, 0), 1),
    flops=4,
)
def hard_sigmoid(x: Tensor, *, alpha: float = 0.2, beta: float = 0.5) -> TensorType:
    """min(max(alpha*x+beta, 0), 1)."""
    return _floating("hard_sigmoid", x)


@hard_sigmoid.increases_if
def _(*, alpha: float, beta: float) -> bool:
    return 0 < alpha < math.inf and math.isfinite(beta)


@hard_swish.onnx("HardSwish")
def _(n: OnnxCall) -> Operand:
    """In f64, follow the function body of the standard, in which the slope is an f32 attribute."""
    x = n.operand(0)
    assert x is not None
    if x.dtype is not DType.f64:
        return hard_swish(x)
    return mul(x, hard_sigmoid(x, alpha=float(np.float32(1 / 6)), beta=0.5))


hard_swish.exports_as("HardSwish")


@activation(
    "ThresholdedRelu",
    {"alpha": 0.25},
    numpy=lambda x, alpha: np.where(x > alpha, x, np.zeros_like(x)),
    scalar=lambda k, x, alpha: k.where(k.gt(x, alpha), x, 0.0),
    flops=1,
)
def thresholded_relu(x: Tensor, *, alpha: float = 1.0) -> TensorType:
    """x for elements larger than `alpha`, else 0."""
    return _floating("thresholded_relu", x)


@activation(
    "Swish",
    {"alpha": 0.5},
    traits=("expensive",),
    numpy=lambda x, alpha: x / (1 + np.exp(-alpha * x)),
    scalar=lambda k, x, alpha: x * k.sigmoid(x * alpha),
    flops=6,
)
def swish(x: Tensor, *, alpha: float = 1.0) -> TensorType:
    """x*sigmoid(alpha*x)."""
    return _floating("swish", x)


@swish.export
def _(x: Tensor, *, alpha: float) -> Operand:
    """Export to a product: few runtimes have kernels for Swish-24."""
    scaled = x if alpha == 1 else standard("Mul", x, np.asarray(alpha, x.dtype.numpy))
    return standard("Mul", x, standard("Sigmoid", scaled))


def _gelu(x: Any, approximate: str) -> Any:
    return x * (normal_cdf(x) if approximate == "none" else normal_cdf_tanh(x))


def _gelu_scalar(k: Any, x: Any, approximate: str) -> Any:
    return x * (k.normal_cdf(x) if approximate == "none" else k.normal_cdf_tanh(x))


@activation(
    "Gelu",
    {"approximate": "tanh"},
    traits=("expensive",),
    numpy=_gelu,
    scalar=_gelu_scalar,
    flops=5,
)
def gelu(x: Tensor, *, approximate: str = "none") -> TensorType:
    """x times the normal cumulative distribution: x/2*(1+erf(x/sqrt(2))).

    With approximate="tanh", the distribution is approximated by tanh.
    Source: Hendrycks and Gimpel 2016, arXiv:1606.08415; ONNX Gelu-20.
    """
    require(
        approximate in ("none", "tanh"),
        "E-OP-ATTRIBUTE",
        f"gelu needs approximate as none or tanh, got {approximate!r}",
    )
    return _floating("gelu", x)


def _shrink(x: Any, lambd: float, bias: float) -> Any:
    return np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, np.zeros_like(x)))


@elementwise(
    numpy=_shrink,
    scalar=lambda k, x, lambd, bias: k.where(
        k.lt(x, -lambd), x + bias, k.where(k.gt(x, lambd), x - bias, 0.0)
    ),
    flops=4,
    samples=lambda: (
        (operands, {"lambd": 0.4, "bias": 0.25}) for operands, _ in unary_samples("float")
    ),
)
def shrink(x: Tensor, *, lambd: float = 0.5, bias: float = 0.0) -> TensorType:
    """Move elements by `bias` towards 0; set elements within `lambd` of 0 to 0."""
    return _floating("shrink", x)


@shrink.onnx("Shrink")
def _(n: OnnxCall) -> Operand | None:
    x = n.operand(0)
    assert x is not None
    given = attributes_of(n, shrink)
    if x.dtype.is_float:
        return shrink(x, **given)
    # Attributes are f32: runtimes add them to integers in f32, and truncate the result.
    return cast(shrink(cast(x, to=DType.f32), **given), to=x.dtype)


shrink.exports_as("Shrink")


def _prelu_samples() -> Iterator[tuple[Any, ...]]:
    yield ["f32[2,3,5]", "f32[3,1]"], {}
    yield ["f32[2,3,5]", "f32[]"], {}
    yield ["f16[2,3]", "f16[3]"], {}
    yield ["i32[2,3]", "i32[1]"], {}
    yield ["f32[0,3]", "f32[3]"], {}
    yield [SPECIAL, SPECIAL[::-1].copy()], {}


@elementwise(
    numpy=lambda x, slope: np.where(x < 0, slope * x, x),
    scalar=lambda k, x, slope: k.where(k.lt(x, 0), x * slope, x),
    flops=2,
    samples=_prelu_samples,
)
def prelu(x: Tensor, slope: Tensor) -> TensorType:
    """x for positive elements, else x times a learned slope.

    Shapes: slope broadcasts to x.
    Source: He et al. 2015, arXiv:1502.01852; ONNX PRelu-16.
    """
    dtype = require_elements("prelu", "number", x, slope)
    made = broadcast_type("prelu", dtype, x, slope)
    if made.shape is not None and x.type.shape is not None:
        require(
            made.rank == x.rank,
            "E-OP-SHAPE",
            f"prelu cannot broadcast the slope {slope.type} to {x.type}",
        )
    return made


@prelu.onnx("PRelu")
def _(n: OnnxCall) -> Operand | None:
    """Before opset 7, a slope of rank 1 varies along axis 1, not along the last axis."""
    x, slope = n.operand(0), n.operand(1)
    assert x is not None
    assert slope is not None
    if x.type.shape is None or slope.type.shape is None:
        return None
    if n.opset < 7 and slope.rank == 1 and slope.shape != (1,):
        return prelu(x, with_trailing_ones(slope, x.rank - 2))
    return prelu(x, slope)


prelu.exports_as("PRelu")
