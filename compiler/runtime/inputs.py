"""Inputs for measurements and checks: random arrays of a graph's input types."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from compiler.errors import CompileError
from compiler.ir.graph import Graph, Value
from compiler.ir.types import DType, SequenceType, TensorType, Type
from compiler.runtime.assumed import ASSUMED_LENGTH, assumed_shapes
from compiler.targets.memory import machine_bytes


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
