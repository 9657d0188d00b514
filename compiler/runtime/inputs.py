"""Inputs for measurements and checks: random arrays of a graph's input types."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from compiler.errors import CompileError
from compiler.ir.graph import Graph, Value
from compiler.ir.infer import specialize
from compiler.ir.types import Dim, DType, SequenceType, TensorType, Type
from compiler.targets.memory import machine_bytes

Shapes = dict[str, tuple[int, ...]]

ASSUMED_CHANNELS = 3
ASSUMED_IMAGE_PIXELS = 224
ASSUMED_LENGTH = 16


def assumed_shapes(graph: Graph, given: Mapping[str, Sequence[int]] | None = None) -> Shapes:
    """Return assumed shapes for the tensor inputs that have open dimensions and no `given` shape.

    Batches have one example; images have 3 channels and 224 x 224 pixels. If only the height is
    fixed, the width is four times the height. Other open dimensions are 16. A named dimension has
    the same size in all inputs.
    Errors: those of `specialize` for given shapes.
    """
    shapes = {name: tuple(int(d) for d in shape) for name, shape in (given or {}).items()}
    known = specialize(graph, shapes) if shapes else graph
    sizes: dict[str, int] = {}
    assumed: Shapes = {}
    for v, decided in zip(graph.inputs, known.inputs, strict=True):
        t = decided.type
        if isinstance(v.type, TensorType) and not v.type.is_static and v.name not in shapes:
            dims = t.shape if isinstance(t, TensorType) and t.shape is not None else ()
            assumed[v.name] = tuple(
                d if isinstance(d, int) else sizes.setdefault(str(d), _assumed(i, dims))
                for i, d in enumerate(dims)
            )
    return assumed


def shape_texts(shapes: Mapping[str, Sequence[int]]) -> list[str]:
    """Return each shape as the option `--shape` takes it: `x=1,3,224,224`."""
    return [f"{name}={','.join(map(str, shape))}" for name, shape in shapes.items()]


def _assumed(axis: int, dims: Sequence[Dim]) -> int:
    """Return a size for one open dimension."""
    if axis == 0:
        return 1
    if len(dims) != 4:
        return ASSUMED_LENGTH
    if axis == 1:
        return ASSUMED_CHANNELS
    other = dims[5 - axis]
    if not isinstance(other, int):
        return ASSUMED_IMAGE_PIXELS
    return 4 * other if axis == 3 and other > 1 else other


def random_inputs(
    graph: Graph, seed: int = 0, shapes: Mapping[str, Sequence[int]] | None = None
) -> dict[str, Any]:
    """Draw random inputs by name: normal floats, small integers, booleans, short strings.

    Open dimensions that `shapes` does not determine have the sizes of `assumed_shapes`.
    """
    chosen = {**assumed_shapes(graph, shapes), **{k: tuple(v) for k, v in (shapes or {}).items()}}
    chance = np.random.default_rng(seed)
    return {v.name: _random(v, v.type, chosen.get(v.name), chance) for v in graph.inputs}


def inputs_of(
    graph: Graph,
    seed: int,
    shapes: Mapping[str, Sequence[int]] | None,
    given: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Return the given inputs, and random inputs (see `random_inputs`) for all other names."""
    known = {k: np.shape(a) for k, a in (given or {}).items()}
    return {**random_inputs(graph, seed, {**known, **(shapes or {})}), **(given or {})}


def _random(v: Value, t: Type, shape: tuple[int, ...] | None, chance: np.random.Generator) -> Any:
    if isinstance(t, SequenceType):
        return [_random(v, t.element, None, chance) for _ in range(2)]
    if not isinstance(t, TensorType):
        raise CompileError("E-INPUT-DTYPE", f"{v.name!r} is {t}: specify a value for this input")
    if shape is None:
        shape = tuple(d if isinstance(d, int) else ASSUMED_LENGTH for d in t.shape or ())
    return random_array(t.dtype, shape, chance)


def random_array(dtype: DType, shape: tuple[int, ...], chance: np.random.Generator) -> Any:
    """Draw an array of elements that most models accept.

    Errors: E-RUN-MEMORY for an array that exceeds this machine's memory.
    """
    needed = math.prod(shape) * max(dtype.nbytes, 8)
    refused = CompileError("E-RUN-MEMORY", f"creating an input needs {needed:,} bytes")
    if needed > machine_bytes():
        raise refused
    try:
        return _random_elements(dtype, shape, chance)
    except MemoryError as e:
        raise refused from e


def _random_elements(dtype: DType, shape: tuple[int, ...], chance: np.random.Generator) -> Any:
    if dtype is DType.string:
        words = np.array(["a", "b", "cat", "dog"], np.object_)
        return words[chance.integers(0, len(words), shape)]
    if dtype is DType.bool:
        return chance.random(shape) < 0.5
    if dtype.is_float:
        return chance.standard_normal(shape, np.float32).astype(dtype.numpy)
    if dtype.is_integer:
        # 0 and 1 are valid for each integer type and as indices into each table.
        return chance.integers(0, 2, shape).astype(dtype.numpy)
    parts = chance.standard_normal((2, *shape))
    return (parts[0] + 1j * parts[1]).astype(dtype.numpy)
