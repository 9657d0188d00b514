"""Counter-based random numbers: a hash of the seed and the element's index, without state.

No element depends on the order of computation or on the machine; equal seeds give equal numbers. If
a node has no seed, ONNX lets the runtime choose a seed. Here, the import draws the seed and stores
it in the graph, so all runs give the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from secrets import randbits
from typing import Any

import numpy as np

from compiler.compute.builder import Handle, Lowering
from compiler.compute.scalar import Scalar
from compiler.errors import require
from compiler.ir import affine
from compiler.ir.affine import Expr
from compiler.ir.operator import OPERATORS, Array, Cost, OnnxCall, Operand, Tensor, op, standard
from compiler.ir.types import DType, TensorType
from compiler.ops.data_movement.reshape import unsqueeze
from compiler.ops.data_movement.slice import slice_
from compiler.ops.elementwise.arithmetic import exp, mul, sub
from compiler.ops.elementwise.cast import cast
from compiler.ops.elementwise.compare import less_equal
from compiler.ops.reductions.reduce import reduce_max, reduce_sum
from compiler.ops.type_rules.dims import length, open_dims, parameter, sizes_of
from compiler.ops.type_rules.requirements import n_elements, wide

GOLDEN, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
"""Constants of SplitMix64. Source: Steele, Lea and Flood 2014; Vigna's splitmix64.c."""


def _signed(n: int) -> int:
    """Reinterpret the lowest 64 bits of an integer as an i64."""
    n &= (1 << 64) - 1
    return n - (1 << 64) if n >> 63 else n


def _shape(shape: Tensor, dtype: DType, what: str) -> TensorType:
    parameter(shape, f"the shape of {what}")
    require(
        dtype.is_float and dtype.bits >= 16,
        "E-OP-DTYPE",
        f"{what} must be floating point, got {dtype}",
    )
    if shape.value is None:
        n = length(shape)
        return TensorType(dtype, None if n is None else open_dims(n, shape))
    return TensorType(dtype, tuple(sizes_of(shape.value)))


def _words(seed: int, count: int, stream: int) -> Array:
    """Hash the indices below `count`, in one of several independent streams of a seed."""
    with np.errstate(over="ignore"):
        z = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(GOLDEN)
        z = z + np.uint64(_start(seed, stream) & ((1 << 64) - 1))
        z = (z ^ (z >> np.uint64(30))) * np.uint64(FIRST)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(SECOND)
        return z ^ (z >> np.uint64(31))


def _start(seed: int, stream: int) -> int:
    """Return the first counter of a seed's stream, far from those of all other streams."""
    return _signed((seed + 1) * 0xD1342543DE82EF95 + stream * 0x2545F4914F6CDD1D)


def _fractions(seed: int, shape: tuple[int, ...], dtype: DType, stream: int) -> Array:
    """Draw numbers in [0, 1) with 24 random bits; in f64, with 53 random bits."""
    z = _words(seed, int(np.prod(shape, dtype=np.int64)), stream)
    bits = 53 if dtype is DType.f64 else 24
    return (z >> np.uint64(64 - bits)).astype(dtype.numpy).reshape(shape) * dtype.numpy.type(
        2.0**-bits
    )


def _fraction(k: Lowering, number: Expr, seed: int, dtype: DType, stream: int) -> Scalar:
    """Build the scalar expression of the number that `_fractions` has at an index."""

    def word(value: int) -> Scalar:
        return k.number(value & ((1 << 64) - 1), DType.u64)

    def mixed(z: Scalar, shift: int, factor: int) -> Scalar:
        return k.apply("mul", k.apply("xor", z, k.apply("shr", z, word(shift))), word(factor))

    z: Scalar = k.convert(k.index(number + 1), DType.u64) * word(GOLDEN)
    z = mixed(mixed(z + word(_start(seed, stream)), 30, FIRST), 27, SECOND)
    z = k.apply("xor", z, k.apply("shr", z, word(31)))
    bits = 53 if dtype is DType.f64 else 24
    # i64 is exact, and processors convert signed numbers faster.
    whole = k.convert(k.apply("shr", z, word(64 - bits)), DType.i64)
    return k.convert(whole, dtype) * 2.0**-bits


def _number_of(index: list[Expr], shape: tuple[int, ...]) -> Expr:
    number: Expr = 0
    for i, n in zip(index, shape, strict=True):
        number = number * n + i
    return affine.simplify(number, {})


@op(traits=("positional", "random"), kind="elementwise", exact=False)
def random_uniform(
    shape: Tensor, *, low: float = 0.0, high: float = 1.0, dtype: DType = DType.f32, seed: int = 0
) -> TensorType:
    """Uniform random numbers between `low` and `high`, hashed from the seed and the index.

    Shapes: `shape` is a list of sizes.
    Errors: E-OP-DTYPE unless the element type is a float of 16 bits or more.
    Source: ONNX RandomUniform-22; SplitMix64 for the hash.
    """
    return _shape(shape, dtype, "random_uniform")


@random_uniform.reference
def _(shape: Array, *, low: float, high: float, dtype: DType, seed: int) -> Array:
    sizes = tuple(int(n) for n in shape)
    drawn = _fractions(seed, sizes, wide(dtype), 0)
    return np.asarray(drawn * (high - low) + low).astype(dtype.numpy)


@random_uniform.lower
def _(
    k: Lowering, shape: Handle, out: Handle, *, low: float, high: float, dtype: DType, seed: int
) -> None:
    index = k.axes(out.shape)
    drawn = _fraction(k, _number_of(index, out.shape), seed, wide(dtype), 0)
    k.assign(out[index], k.convert(drawn * (high - low) + low, dtype))


@op(traits=("positional", "random"), kind="elementwise", exact=False)
def random_normal(
    shape: Tensor, *, mean: float = 0.0, scale: float = 1.0, dtype: DType = DType.f32, seed: int = 0
) -> TensorType:
    """Normal random numbers, hashed from the seed and the index.

    Shapes: `shape` is a list of sizes.
    Errors: E-OP-DTYPE unless the element type is a float of 16 bits or more.
    Source: ONNX RandomNormal-22; Box and Muller 1958, with one number from each pair.
    """
    return _shape(shape, dtype, "random_normal")


@random_normal.reference
def _(shape: Array, *, mean: float, scale: float, dtype: DType, seed: int) -> Array:
    sizes, t = tuple(int(n) for n in shape), wide(dtype)
    radius = np.sqrt(-2 * np.log(1 - _fractions(seed, sizes, t, 1)))
    angle = _fractions(seed, sizes, t, 2) * t.numpy.type(2 * np.pi)
    return np.asarray(radius * np.cos(angle) * scale + mean).astype(dtype.numpy)


@random_normal.lower
def _(
    k: Lowering, shape: Handle, out: Handle, *, mean: float, scale: float, dtype: DType, seed: int
) -> None:
    index, t = k.axes(out.shape), wide(dtype)
    number = _number_of(index, out.shape)
    radius = k.sqrt(k.log(1.0 - _fraction(k, number, seed, t, 1)) * -2.0)
    turned = k.cos(_fraction(k, number, seed, t, 2) * (2 * np.pi))
    k.assign(out[index], k.convert(radius * turned * scale + mean, dtype))


def _cost(shape: TensorType, *, out: TensorType, **_: Any) -> Cost:
    return Cost(20 * n_elements(out), 0, out.nbytes)


random_uniform.cost(_cost)
random_normal.cost(_cost)


def _samples(**attrs: Any) -> Iterator[tuple[Any, ...]]:
    yield [np.array([2, 3, 5])], {"seed": 7}
    yield [np.array([33])], {"seed": -(2**40), **attrs}
    yield [np.array([], np.int64)], {}
    yield [np.array([4, 3])], {"dtype": DType.f64, **attrs}
    yield [np.array([4, 3])], {"dtype": DType.f16, "seed": 1}
    yield [np.array([3, 0])], {}


@random_uniform.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield from _samples(low=-2.0, high=5.0)


@random_normal.samples
def _() -> Iterator[tuple[Any, ...]]:
    yield from _samples(mean=-2.0, scale=3.0)


# ONNX


def seed_of(n: OnnxCall) -> int:
    """Return the node's seed as an integer; draw a seed if the node has none."""
    given = n.attr("seed")
    if given is None:
        return randbits(62)
    return int(np.float32(given).view(np.int32))


def _of_shape(n: OnnxCall) -> tuple[Operand, DType]:
    """Return the operand that states the shape, and the element type."""
    stated = n.attr("dtype")
    if not n.op_type.endswith("Like"):
        dtype = DType.f32 if stated is None else DType.from_onnx(int(stated))
        return np.array(n.attr("shape", ()), np.int64), dtype
    x = n.operand(0)
    assert x is not None
    return OPERATORS["shape"](x), x.dtype if stated is None else DType.from_onnx(int(stated))


@random_uniform.onnx("RandomUniform", "RandomUniformLike")
def _(n: OnnxCall) -> Operand | None:
    shape, dtype = _of_shape(n)
    low, high = float(n.attr("low", 0.0)), float(n.attr("high", 1.0))
    return random_uniform(shape, low=low, high=high, dtype=dtype, seed=seed_of(n))


@random_normal.onnx("RandomNormal", "RandomNormalLike")
def _(n: OnnxCall) -> Operand | None:
    shape, dtype = _of_shape(n)
    mean, scale = float(n.attr("mean", 0.0)), float(n.attr("scale", 1.0))
    return random_normal(shape, mean=mean, scale=scale, dtype=dtype, seed=seed_of(n))


@random_normal.export
def _(shape: Tensor, *, mean: float, scale: float, dtype: DType, seed: int) -> Operand:
    """Export; the runtime will draw other numbers, because ONNX specifies no generator."""
    return _drawn("RandomNormal", shape, dtype=dtype, mean=mean, scale=scale, seed=seed)


@random_uniform.onnx("Multinomial")
def _(n: OnnxCall) -> Operand | None:
    """Import Multinomial by inversion: count the cumulative probabilities below a random number."""
    x = n.operand(0)
    assert x is not None
    if not x.type.is_static or x.rank != 2 or x.dtype not in (DType.f32, DType.f64):
        return None
    batch, classes = x.type.static_shape
    weights = exp(sub(x, reduce_max(x, axes=(1,), keepdims=True)))
    sums = OPERATORS["cumsum"](weights, np.array(1)).out(0)
    total = slice_(sums, np.array([classes - 1]), np.array([classes]), np.array([1]))
    shape = np.array([batch, int(n.attr("sample_size", 1))])
    drawn = mul(random_uniform(shape, dtype=x.dtype, seed=seed_of(n)), total)
    behind = less_equal(unsqueeze(sums, axes=(1,)), unsqueeze(drawn, axes=(2,)))
    to = DType.from_onnx(int(n.attr("dtype", DType.i32.onnx)))
    return reduce_sum(cast(behind, to=to), axes=(2,), keepdims=False)


@random_uniform.export
def _(shape: Tensor, *, low: float, high: float, dtype: DType, seed: int) -> Operand:
    """Export; the runtime will draw other numbers, because ONNX specifies no generator."""
    return _drawn("RandomUniform", shape, dtype=dtype, low=low, high=high, seed=seed)


def _drawn(op_type: str, shape: Tensor, *, seed: int, **attrs: Any) -> Operand:
    """Export random numbers with the seed rounded to a float, as ONNX requires."""
    attrs["seed"] = float(np.float32(seed % (1 << 20)))
    if shape.value is not None and shape.value.dtype != np.object_:
        return standard(op_type, shape=shape.known.tolist(), **attrs)
    return standard(f"{op_type}Like", standard("ConstantOfShape", shape), **attrs)
