"""The evaluation of a graph by numpy, and the input check before every kind of run."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from types import ModuleType
from typing import Any

import numpy as np

import compiler.ops
from compiler.errors import CompileError
from compiler.ir import affine
from compiler.ir.affine import axis_symbol
from compiler.ir.graph import Graph, Value
from compiler.ir.operator import Array
from compiler.ir.types import DType, OptionalType, SequenceType, TensorType, Type
from compiler.limits import Limits, limited
from compiler.ops.evaluation.meaning import evaluate_graph

assert compiler.ops.__doc__, "importing the operators registers them"


def reference(
    graph: Graph,
    inputs: Mapping[str, Any],
    *,
    keep: Collection[str] | None = None,
    limits: Limits | None = None,
) -> dict[str, Any]:
    """Return a graph's results by name, in graph order, followed by the values named in `keep`.

    Shapes: tensors are arrays, sequences are lists, an absent optional is None.
    Errors: E-INPUT-* when the inputs do not fit, E-RUN-* when a node cannot be computed,
    E-LIMIT-* beyond `limits`.
    """
    given = check_inputs(graph, inputs)
    kept = tuple(keep or ())
    unknown = [name for name in kept if name not in graph.types]
    if unknown:
        raise CompileError("E-INPUT-NAME", f"the graph has no value {unknown[0]!r} to keep")
    with limited(limits):
        values = evaluate_graph(graph, given, keep=kept)
    found = {r.name: values[r.value] for r in graph.results}
    found.update((name, values[name]) for name in kept)
    return found


def check_inputs(graph: Graph, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Check the inputs; return them in graph order, with lists converted to arrays.

    Arrays must have the input's element type. Different values of one symbolic size are accepted:
    `sizes_apart` finds them.
    Errors: E-INPUT-NAME, E-INPUT-SHAPE, E-INPUT-DTYPE.
    """
    given: object = inputs
    if not isinstance(given, Mapping):
        raise CompileError(
            "E-INPUT-NAME",
            f"inputs must map names to arrays, got {type(given).__name__}",
            hint='pass a dictionary, for example {"x": array}',
        )
    names = [v.name for v in graph.inputs]
    listed = ", ".join(names) or "none"
    for name in inputs:
        if name not in names:
            raise CompileError("E-INPUT-NAME", f"no input is named {name!r}; inputs: {listed}")
    sizes: dict[str, int] = {}
    found: dict[str, Any] = {}
    for v in graph.inputs:
        if v.name not in inputs:
            raise CompileError("E-INPUT-NAME", f"the input {v.name!r}: {v.type} is missing")
        found[v.name] = _checked(v, v.type, inputs[v.name], sizes)
    return found


def sizes_apart(graph: Graph, inputs: Mapping[str, Any]) -> str:
    """Return a symbolic size that has different values in these inputs, or "" if none has.

    ONNX Runtime runs inputs with different values as if each dimension had a distinct symbol.
    """
    sizes: dict[str, int] = {}
    for v in graph.inputs:
        if not isinstance(v.type, TensorType) or v.type.shape is None:
            continue
        for dim, size in zip(v.type.shape, np.shape(inputs[v.name]), strict=True):
            name = axis_symbol(dim)
            if name is not None and sizes.setdefault(name, size) != size:
                return name
    return ""


def _checked(v: Value, t: Type, value: Any, sizes: dict[str, int]) -> Any:
    match t:
        case TensorType():
            array = _array(v, t, value)
            _check_shape(v, t, array, sizes)
            return array
        case SequenceType(element):
            if not isinstance(value, list | tuple):
                raise CompileError("E-INPUT-DTYPE", f"{v.name!r} is {v.type}: pass a list")
            # A symbol inside a sequence may have a different value in each element.
            return [_checked(v, element, part, dict(sizes)) for part in value]
        case OptionalType(element):
            return None if value is None else _checked(v, element, value, sizes)
        case _:
            return value


def _array(v: Value, t: TensorType, value: Any) -> Array:
    """Return the value as an array of the input's element type."""
    needed = t.dtype.numpy
    if not isinstance(value, np.ndarray | np.generic):
        return _from_numbers(v, t, value)
    array = np.asarray(value)
    if t.dtype is DType.string and array.dtype.kind in "UOT":
        return array.astype(np.object_)
    if array.dtype != needed:
        raise CompileError(
            "E-INPUT-DTYPE",
            f"{v.name!r} is {t}, got an array of {array.dtype}",
            hint=f"convert the array with array.astype({needed.name!r})",
        )
    return array


def _from_numbers(v: Value, t: TensorType, value: Any) -> Array:
    """Convert nested lists of Python numbers to an array; reject fractions for integer types."""
    try:
        plain = np.asarray(value)
    except ValueError as e:
        raise CompileError("E-INPUT-SHAPE", f"{v.name!r}: the lists differ in length") from e
    if t.dtype is DType.string:
        return plain.astype(np.object_)
    fits = plain.size == 0 or {
        "b": True,
        "i": t.dtype is not DType.bool,
        "u": t.dtype is not DType.bool,
        "f": not t.dtype.is_integer and t.dtype is not DType.bool,
        "c": t.dtype in (DType.c64, DType.c128),
    }.get(plain.dtype.kind, False)
    if not fits:
        raise CompileError("E-INPUT-DTYPE", f"{v.name!r} is {t}, got {plain.dtype} values")
    return plain.astype(t.dtype.numpy)


def _check_shape(v: Value, t: TensorType, array: Array, sizes: dict[str, int]) -> None:
    if t.shape is None:
        return
    got = f"{v.name!r} is {t}, got the shape {list(array.shape)}"
    if array.ndim != len(t.shape):
        raise CompileError("E-INPUT-SHAPE", got)
    for dim, size in zip(t.shape, array.shape, strict=True):
        name = axis_symbol(dim)
        if name is not None:
            sizes.setdefault(name, size)
            continue
        value = affine.substitute(dim, sizes)
        if isinstance(value, int) and value != size:
            raise CompileError("E-INPUT-SHAPE", got)


class _Door(ModuleType):
    """A callable module: `compiler.reference` is both this module and its function."""

    def __call__(self, *args: Any, **options: Any) -> dict[str, Any]:
        return reference(*args, **options)


sys.modules[__name__].__class__ = _Door
