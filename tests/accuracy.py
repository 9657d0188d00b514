"""Errors of functions in generated code, in units of the last place, over the range of numbers.

`python -m tests.accuracy` prints the table of docs/accuracy.md and fails if an error exceeds its
limit. `--step 1` takes all 2**32 f32 numbers. numpy and Python compute the exact results in f64.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import compiler.ops
from compiler.compute.builder import Lowering
from compiler.ir.operator import OPERATORS
from compiler.ir.types import DType, TensorType
from compiler.loops.text import parse_kernel
from compiler.targets.target import Target
from tests.kernel_runs import Array, run_native

assert compiler.ops.__doc__

LANES = 16
CHUNK = 1 << 22

Oracle = Callable[[Any], Any]


@dataclass(frozen=True)
class Subject:
    """A function or an operator with attributes, its exact results, and the permitted error.

    `limit` is the permitted number of f32 steps between a result and the correctly rounded one.
    Results smaller than `floor`, if given, are compared in steps of the floor, because products
    with a denormal factor are rounded twice. `argument` maps a number to the argument of the
    function.
    """

    name: str
    oracle: Oracle
    limit: int = 2
    attrs: Mapping[str, Any] = field(default_factory=dict)
    floor: float = 0.0
    argument: str = "{}"

    def __str__(self) -> str:
        return self.name + "".join(f" {k}={v}" for k, v in self.attrs.items())


_erf = np.frompyfunc(math.erf, 1, 1)
_erfc = np.frompyfunc(math.erfc, 1, 1)


def _normal_cdf(x: Array) -> Array:
    return _erfc(x * -math.sqrt(0.5)).astype(np.float64) / 2


def _sigmoid(x: Any) -> Any:
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


def _normal_cdf_tanh(x: Array) -> Array:
    return _sigmoid(2 * math.sqrt(2 / math.pi) * x * (1 + 0.044715 * x * x))


def _softplus(x: Array) -> Array:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _elu(x: Array, alpha: float = 1.0) -> Array:
    return np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x)


_SELU = (1.67326319217681884765625, 1.05070102214813232421875)

_FLOOR = 2.0**-119

FUNCTIONS = [
    *(Subject(n, getattr(np, n)) for n in ("exp", "expm1", "log", "log1p", "sqrt")),
    *(Subject(n, getattr(np, n)) for n in ("sin", "cos", "tan", "sinh", "cosh", "tanh")),
    *(Subject(n, getattr(np, "arc" + n[1:])) for n in ("asin", "acos", "atan")),
    *(Subject(n, getattr(np, "arc" + n[1:])) for n in ("asinh", "acosh", "atanh")),
    Subject("decay", lambda x: np.exp(-np.abs(x)), 5, argument="neg(abs({}))"),
    Subject("erf", lambda x: _erf(x).astype(np.float64)),
    Subject("rsqrt", lambda x: 1 / np.sqrt(x)),
    Subject("sigmoid", _sigmoid),
    Subject("normal_cdf", _normal_cdf, 4),
    Subject("normal_cdf_tanh", _normal_cdf_tanh, 4),
]
"""Functions of compute/scalar.py."""

COMPOSITIONS = [
    Subject("reciprocal", lambda x: 1 / x, 0),
    Subject("gelu", lambda x: x * _normal_cdf(x), 4, {"approximate": "none"}, _FLOOR),
    Subject("gelu", lambda x: x * _normal_cdf_tanh(x), 4, {"approximate": "tanh"}, _FLOOR),
    Subject("swish", lambda x: x * _sigmoid(x), 4, floor=_FLOOR),
    Subject("mish", lambda x: x * np.tanh(_softplus(x)), 4, floor=_FLOOR),
    Subject("softplus", _softplus),
    Subject("softsign", lambda x: x / (1 + np.abs(x))),
    Subject("elu", _elu),
    Subject("elu", lambda x: _elu(x, 0.5), 2, {"alpha": 0.5}),
    Subject("selu", lambda x: _SELU[1] * _elu(x, _SELU[0]), 4),
    Subject("celu", _elu),
    Subject("hard_swish", lambda x: x * np.clip((x + 3) / 6, 0, 1), 4),
]
"""Operators composed of several functions."""


def patterns(step: int, start: int = 0, stop: int = 1 << 32) -> Iterator[Array]:
    """Yield every `step`-th f32 by its bits, in arrays; the first ends with special numbers."""
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 1e30, -1e30], np.float32)
    special = np.concatenate([special, np.nextafter(special, np.float32(0.5))])
    for low in range(start, stop, CHUNK * step):
        bits = np.arange(low, min(low + CHUNK * step, stop), step, np.uint64).astype(np.uint32)
        x = bits.view(np.float32)
        x = np.concatenate([x, special]) if low == start else x
        yield np.concatenate([x, np.zeros(-len(x) % LANES, np.float32)])


def expression(subject: Subject, dtype: DType, index: str) -> str:
    """Return the scalar expression of a function, or of an operator by its lowering."""
    operator = OPERATORS.get(subject.name)
    if operator is None or operator.lower_fn is None:
        return f"{subject.name}({subject.argument.format(f'x[{index}]')})"
    k = Lowering("f")
    t = TensorType(dtype, (7,))
    x, y = k.input("x", t), k.output("y", t)
    operator.lower_fn(k, x, y, **operator.bind(subject.attrs))
    (stage,) = k.computation().stages
    (axis,) = stage.axes
    return str(stage.value).replace(f"x[{axis}]", f"x[{index}]")


def apply(
    subject: Subject, x: Array, *, vector: bool = True, target: Target | None = None
) -> Array:
    """Return the results of generated code, as vectors or scalars; the length divides by LANES."""
    dtype = DType.from_numpy(x.dtype)
    n = len(x)
    if vector:
        at = f"i + {LANES}*o"
        body = f"vector i in 0..{LANES} {{ y[{at}] = {expression(subject, dtype, at)} }}"
        loop = f"for o in 0..{n // LANES} {{ {body} }}"
    else:
        loop = f"for i in 0..{n} {{ y[i] = {expression(subject, dtype, 'i')} }}"
    kernel = parse_kernel(f"kernel k(x: {dtype}[{n}] input, y: {dtype}[{n}] output) {{ {loop} }}")
    arrays = {"x": x, "y": np.zeros_like(x)}
    run_native(kernel, arrays, target)
    return arrays["y"]


def exact(subject: Subject, x: Array, wide: Any = np.float64) -> Array:
    """Return the exact results, in a wider type."""
    with np.errstate(all="ignore"):
        return np.asarray(subject.oracle(x.astype(wide)))


def errors_in_ulp(found: Array, right: Array, floor: float = 0.0) -> Array:
    """Return distances from exact results in units of the last place of the rounded results.

    A distance is infinite if NaN, an infinity, or the sign of a zero differs.
    """
    dtype = DType.from_numpy(found.dtype)
    with np.errstate(all="ignore"):
        rounded = right.astype(dtype.numpy)
        finite = np.isfinite(rounded.astype(np.float64))
        unit = _spacing(np.maximum(np.abs(right), floor), dtype)
        error = np.abs(found.astype(right.dtype) - right) / unit
        same = (found == rounded) | ((found != found) & (rounded != rounded))
        error = np.where(finite & np.isfinite(found.astype(np.float64)), error, np.inf)
    error = np.where(~finite & same, 0.0, error)
    flipped = (rounded == 0) & (found == 0) & (np.signbit(rounded) != np.signbit(found))
    return np.where(flipped, np.inf, error).astype(np.float64)


def _spacing(x: Array, dtype: DType) -> Array:
    """Return the unit in the last place of numbers of this magnitude in an element type."""
    digits, least = {"f64": (52, -1022), "f32": (23, -126), "f16": (10, -14), "bf16": (7, -126)}[
        str(dtype)
    ]
    _, exponent = np.frexp(x)
    return np.ldexp(np.ones_like(x), np.maximum(exponent - 1, least) - digits)


@dataclass
class Worst:
    """The largest error so far, and its argument."""

    error: float = 0.0
    at: float = 0.0

    def note(self, errors: Array, x: Array) -> None:
        """Include the errors of further numbers."""
        i = int(np.argmax(errors))
        if errors[i] > self.error:
            self.error, self.at = float(errors[i]), float(x[i])


def worst(subject: Subject, arrays: Iterator[Array], **how: Any) -> Worst:
    """Return the largest error over many numbers."""
    found = Worst()
    for x in arrays:
        made = apply(subject, x, **how)
        found.note(errors_in_ulp(made, exact(subject, x), subject.floor), x)
    return found


def is_within(error: float, limit: int) -> bool:
    """Return whether an error is within the limit of the subject."""
    return error <= limit + 0.5


def main() -> int:
    """Print the table; return 1 if an error exceeds its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--step", type=int, default=1009, help="1 for every f32 number")
    parser.add_argument("--only", default="", help="names, with commas")
    options = parser.parse_args()
    only = set(filter(None, options.only.split(",")))
    print("| function | worst error in units of the last place | at |\n|---|---|---|")
    right = True
    for subject in (*FUNCTIONS, *COMPOSITIONS):
        if not only or subject.name in only:
            found = worst(subject, patterns(options.step))
            right = right and is_within(found.error, subject.limit)
            print(f"| {subject} | {found.error:.2f} | {found.at:.9g} |", flush=True)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
