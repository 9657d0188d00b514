"""Random inputs of several kinds, by seed: ordinary numbers, and numbers that expose errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from compiler.errors import CompileError
from compiler.ir import affine
from compiler.ir.graph import Graph
from compiler.ir.operator import Array
from compiler.ir.types import DType, SequenceType, TensorType, Type
from compiler.runtime.assumed import assumed_shapes
from compiler.runtime.inputs import random_array

SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -3.0, 3.0, 6.5, -7.25, 1e-3, *2 * (np.nan, np.inf, -np.inf))
"""Special values (signed zeros, infinities, NaN) and ordinary numbers."""

EXTREME = (0.0, -0.0, 1.0, -1.0, 1e-40, -1e-40, 1e-30, -2e-25, 1e30, -3e30, 2e25, 3e38, -3e38)
"""Denormal, very small and very large f32 numbers, some of which overflow in narrower types."""

MAY_BE_SIZES = 16
"""The maximum length of an integer list that may contain sizes, counts or axes."""

Sizes = Mapping[str, int]


def _normal(dtype: DType, shape: tuple[int, ...], chance: np.random.Generator) -> Array:
    """Draw floats around zero, or one-digit integers, of both signs if the type is signed."""
    if dtype.is_integer:
        low = 0 if dtype.label[0] == "u" else -9
        return chance.integers(max(low, _least(dtype)), min(10, _most(dtype) + 1), shape)
    return 3 * chance.standard_normal(shape)


def _special(dtype: DType, shape: tuple[int, ...], chance: np.random.Generator) -> Array:
    """Draw signed zeros, infinities and NaN among ordinary floats; or the extreme integers."""
    if dtype.is_integer:
        return chance.choice(_ends(dtype), shape)
    return np.where(
        chance.random(shape) < 0.75, chance.choice(SPECIAL, shape), chance.standard_normal(shape)
    )


def _extreme(dtype: DType, shape: tuple[int, ...], chance: np.random.Generator) -> Array:
    """Draw denormal, tiny and huge floats; for integer types, integers of the full range."""
    if dtype.is_integer:
        return chance.integers(
            _least(dtype), _most(dtype), shape, dtype=_wide_integer(dtype), endpoint=True
        )
    return chance.choice(EXTREME, shape)


def _divisor(dtype: DType, shape: tuple[int, ...], chance: np.random.Generator) -> Array:
    """Draw special values other than zero, since integers cannot be divided by zero."""
    if dtype.is_integer:
        ends = _ends(dtype)
        return chance.choice(ends[ends != 0], shape)
    return chance.choice([v for v in SPECIAL if v != 0], shape)


def _positive(dtype: DType, shape: tuple[int, ...], chance: np.random.Generator) -> Array:
    """Draw floats from 0.1 to 4, where roots and logarithms are defined, or integers 0 and 1."""
    if dtype.is_integer:
        return chance.integers(0, 2, shape)
    return chance.uniform(0.1, 4, shape)


def _small(dtype: DType, shape: tuple[int, ...], chance: np.random.Generator) -> Array:
    """Draw small multiples of 0.5 or small integers; many are equal, and many are rounding ties."""
    if dtype.is_integer:
        return chance.integers(0, min(4, _most(dtype) + 1), shape)
    return chance.integers(-6, 7, shape) / 2


Draw = Callable[[DType, tuple[int, ...], np.random.Generator], Array]

KINDS: Mapping[str, Draw] = {
    "normal": _normal,
    "special": _special,
    "positive": _positive,
    "divisor": _divisor,
    "extreme": _extreme,
    "small": _small,
}
"""Generators by name, in order of decreasing power to expose errors."""

OUT_OF_RANGE = ("special", "divisor", "extreme")
"""The kinds of inputs for which a reordered product may overflow or underflow."""


def turns(graph: Graph, most: int) -> list[tuple[str, int]]:
    """Return kinds and seeds to try; small tensors get more seeds, as each draw has few values.

    Every kind occurs once before any kind occurs again.
    """
    types = [v.type for v in graph.inputs]
    if not types:
        return [("normal", 0)]
    whole = any(isinstance(t, TensorType) and t.dtype.is_integer for t in types)
    kinds = [k for k in KINDS if whole or k != "divisor"]
    static = (t.n_elements for t in types if isinstance(t, TensorType) and t.is_static)
    again = max(1, min(most, 96 // max((*static, 1))))
    first = [(k, 0) for k in kinds]
    return first + [(k, seed) for seed in range(1, again) for k in kinds if k in OUT_OF_RANGE]


def make_feeds(
    graph: Graph, kind: str, seed: int = 0, sizes: Sizes | None = None
) -> dict[str, Any]:
    """Draw values of one kind for all inputs. Errors: E-INPUT-DTYPE for an unsupported type.

    `sizes` maps the open dimensions to sizes. If `sizes` is None, the graph is a complete model,
    and its open dimensions get the sizes of `assumed_shapes`. In a complete model, short integer
    lists have small elements for all kinds, since the lists may be trip counts or sizes.
    """
    chance = np.random.default_rng([seed, *kind.encode()])
    shapes = assumed_shapes(graph) if sizes is None else {}
    return {
        v.name: _drawn(v.name, v.type, KINDS[kind], chance, sizes, shapes.get(v.name))
        for v in graph.inputs
    }


def _drawn(
    name: str,
    t: Type,
    draw: Draw,
    chance: np.random.Generator,
    sizes: Sizes | None,
    shape: Sequence[int] | None,
) -> Any:
    if isinstance(t, SequenceType):
        return [_drawn(name, t.element, draw, chance, sizes, None) for _ in range(2)]
    if not isinstance(t, TensorType):
        raise CompileError("E-INPUT-DTYPE", f"{name!r} is {t}: this type has no random values")
    dims = tuple(shape) if shape is not None else sized(t, sizes or {})
    return draw_array(t.dtype, dims, draw, chance, careful=sizes is None)


def draw_array(
    dtype: DType,
    shape: tuple[int, ...],
    draw: Draw,
    chance: np.random.Generator,
    careful: bool = False,
) -> Array:
    """Draw an array with `draw`; strings and booleans are drawn in the same way for all kinds."""
    if not (dtype.is_float or dtype.is_integer):
        return np.asarray(random_array(dtype, shape, chance))
    if careful and dtype.is_integer and math.prod(shape) <= MAY_BE_SIZES:
        draw = _small
    with np.errstate(all="ignore"):
        return np.asarray(draw(dtype, shape, chance)).astype(dtype.numpy)


def sized(t: TensorType, sizes: Sizes) -> tuple[int, ...]:
    """Return the shape with sizes for its symbols; an unknown size of axis i becomes 3 + i."""
    found: list[int] = []
    for axis, d in enumerate(t.shape or ()):
        value = affine.substitute(d, sizes)
        found.append(max(value, 0) if isinstance(value, int) else 3 + axis)
    return tuple(found)


def _least(dtype: DType) -> int:
    return -(2 ** (dtype.bits - 1)) if dtype.label[0] == "i" else 0


def _most(dtype: DType) -> int:
    return 2 ** (dtype.bits - (dtype.label[0] == "i")) - 1


def _wide_integer(dtype: DType) -> Any:
    return (
        dtype.numpy if dtype.bits >= 8 else np.dtype(np.int8 if dtype.label[0] == "i" else np.uint8)
    )


def _ends(dtype: DType) -> Array:
    low, high = _least(dtype), _most(dtype)
    some = {low, low + 1, -1, 0, 1, 2, high - 1, high}
    return np.array([v for v in sorted(some) if low <= v <= high], _wide_integer(dtype))
