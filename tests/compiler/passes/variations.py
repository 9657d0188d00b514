"""Variations of a graph: other sizes, element types and readers that its operators permit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from compiler.errors import CompileError
from compiler.ir import affine
from compiler.ir.constant import Constant
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, Result, Value
from compiler.ir.operator import OPERATORS
from compiler.ir.types import DType, TensorType
from compiler.passes.engine.pattern import uniform

Shape = tuple[Any, ...]

RESIZED: dict[str, dict[int, int]] = {
    "larger": {2: 4, 3: 7, 5: 6},
    "first of size 1": {2: 1},
    "last of size 1": {3: 1, 5: 1},
    "all of size 1": {2: 1, 3: 1, 5: 1, 4: 1},
    "empty": {2: 0},
    "empty inside": {3: 0},
}
"""New sizes by old size; the parameters of views change accordingly."""

RETYPED: list[dict[str, str]] = [
    {"f32": "f64", "i32": "i64", "f16": "f64"},
    {"f32": "f16", "i32": "i8"},
    {"f32": "bf16", "i32": "u8"},
    {"f32": "i32", "i32": "u64"},
    {"f32": "u8", "i32": "i16"},
    {"f32": "i64"},
]
"""New element types by old type."""


def variations(g: Graph) -> Iterator[tuple[str, Graph]]:
    """Yield every variation that the operators accept, with a name."""
    for name, sizes in RESIZED.items():
        yield from _kept(name, lambda s=sizes: _resized(g, s))
    yield from _kept("open sizes", lambda: _opened(g))
    yield from _kept("open ranks", lambda: _of_open_rank(g))
    for types in RETYPED:
        words = " ".join(f"{a}->{b}" for a, b in types.items())
        yield from _kept(words, lambda t=types: _retyped(g, t))
    for i, v in enumerate(g.inputs):
        if isinstance(v.type, TensorType) and v.type.shape:
            rank = len(v.type.shape)
            ones: Shape = (1, *v.type.shape[1:])
            yield from _kept(f"{v.name} repeats", lambda i=i, s=ones: _reshaped(g, {i: s}))
            if rank > 1:
                less: Shape = v.type.shape[1:]
                yield from _kept(f"{v.name} of less rank", lambda i=i, s=less: _reshaped(g, {i: s}))
            yield from _kept(f"{v.name} of rank 0", lambda i=i: _reshaped(g, {i: ()}))
            more = _more_rank(v.type.shape)
            yield from _kept(f"{v.name} of more rank", lambda i=i, s=more: _reshaped(g, {i: s}))
    for key, c in g.constants.items():
        if key not in _all_parameters(g):
            for words, shape in (("more rank", _more_rank(c.type.static_shape)), ("rank 0", ())):
                filled = {**g.constants, key: _filled(c, shape)}
                yield from _kept(
                    f"{key} of {words}", lambda f=filled: _rebuilt(g, [*g.inputs], f, _same)
                )
    yield from _kept("all of rank 0", lambda: _reshaped(g, dict.fromkeys(range(len(g.inputs)), ())))
    yield from _kept("all of rank 0, without axes", lambda: _of_rank_0(g))
    inner = [n.output for n in g.nodes if n.output not in g.result_values]
    for value in inner:
        yield f"{value} is also a result", _also_a_result(g, value)
        yield from _kept(f"{value} is read twice", lambda v=value: _read_twice(g, v))


def _more_rank(shape: Shape) -> Shape:
    return (4, *(1,) * (2 - len(shape)), *shape)


def _kept(name: str, make: Any) -> Iterator[tuple[str, Graph]]:
    """Yield the variation, unless an operator refuses it."""
    try:
        yield name, make()
    except (CompileError, ValueError, TypeError, OverflowError):
        return


def _rebuilt(
    g: Graph, inputs: list[Value], constants: Mapping[str, Constant], change: Any
) -> Graph:
    """Return the nodes over other inputs and constants, with inferred types."""
    ed = Editor(Graph(g.name, tuple(inputs), (), (), dict(constants)))
    for node in g.nodes:
        changed: Node = change(node)
        ed.add(replace(changed, types=ed.infer(changed)))
    ed.results = list(g.results)
    return ed.graph()


def _same(node: Node) -> Node:
    return node


def _resized(g: Graph, sizes: Mapping[int, int]) -> Graph:
    def size(n: Any) -> Any:
        return sizes.get(n, n)

    inputs = [Value(v.name, _with_shape(v.type, tuple(map(size, v.type.dims)))) for v in g.inputs]
    parameters = _all_parameters(g)
    constants = {name: _sized(c, name in parameters, size) for name, c in g.constants.items()}

    def change(node: Node) -> Node:
        if node.op != "split":
            return node
        pieces = tuple(map(size, node.attrs["sizes"]))
        return replace(node, attrs={**node.attrs, "sizes": pieces})

    return _rebuilt(g, inputs, constants, change)


def _all_parameters(g: Graph) -> set[str]:
    return {i for n in g.nodes for i in _parameters(n)}


def _parameters(node: Node) -> tuple[str, ...]:
    """Return the operands that are sizes."""
    return node.inputs[1:2] if node.op in ("reshape", "expand") else ()


def _sized(c: Constant, is_shape: bool, size: Any) -> Constant:
    if is_shape:
        return Constant.of(np.array([size(int(n)) for n in c.array()], np.int64))
    if c.type.dtype is DType.i64 and c.type.rank == 1:
        return c
    return _filled(c, tuple(map(size, c.type.static_shape)))


def _filled(c: Constant, shape: tuple[int, ...]) -> Constant:
    """Return the elements, repeated to fill another shape."""
    number = uniform(c)
    if number is not None:
        return Constant.splat(number, TensorType(c.type.dtype, shape))
    return Constant.of(np.resize(c.array(), shape), c.type.dtype)


def _with_shape(t: Any, shape: Shape | None) -> TensorType:
    assert isinstance(t, TensorType)
    return TensorType(t.dtype, shape)


def _opened(g: Graph) -> Graph:
    """Return the graph with a symbol for the first size of inputs with several axes."""
    shapes = {
        i: (affine.parse(f"N{v.type.dims[0]}"), *v.type.dims[1:])
        for i, v in enumerate(g.inputs)
        if isinstance(v.type, TensorType) and v.type.rank > 1 and v.type.dims[0] != 1
    }
    return _reshaped(g, shapes)


def _of_open_rank(g: Graph) -> Graph:
    inputs = [Value(v.name, _with_shape(v.type, None)) for v in g.inputs]
    return _rebuilt(g, inputs, g.constants, _same)


def _reshaped(g: Graph, shapes: Mapping[int, Shape]) -> Graph:
    inputs = [
        Value(v.name, _with_shape(v.type, shapes[i])) if i in shapes else v
        for i, v in enumerate(g.inputs)
    ]
    return _rebuilt(g, inputs, g.constants, _same)


def _of_rank_0(g: Graph) -> Graph:
    """Return the graph for scalars; unsqueeze inserts its first axes, and others get no axes."""

    def change(node: Node) -> Node:
        if "axes" not in node.attrs:
            return node
        n = len(node.attrs["axes"]) if node.op == "unsqueeze" else 0
        return replace(node, attrs={**node.attrs, "axes": tuple(range(n))})

    inputs = [Value(v.name, _with_shape(v.type, ())) for v in g.inputs]
    return _rebuilt(g, inputs, g.constants, change)


def _retyped(g: Graph, types: Mapping[str, str]) -> Graph:
    def other(dtype: DType) -> DType:
        return DType.parse(types.get(dtype.label, dtype.label))

    def constant(c: Constant) -> Constant:
        to = other(c.type.dtype)
        if to is c.type.dtype:
            return c
        with np.errstate(all="ignore"):
            values = c.array()
            if not to.is_float and values.dtype.kind == "f" and not np.isfinite(values).all():
                raise ValueError("a value is not an integer")
            return Constant.of(values.astype(to.numpy), to)

    def change(node: Node) -> Node:
        attrs = {k: other(v) if isinstance(v, DType) else v for k, v in node.attrs.items()}
        return replace(node, attrs=attrs)

    inputs = [Value(v.name, TensorType(other(v.type.dtype), v.type.dims)) for v in g.inputs]
    return _rebuilt(g, inputs, {k: constant(c) for k, c in g.constants.items()}, change)


def _also_a_result(g: Graph, value: str) -> Graph:
    return replace(g, results=(*g.results, Result(f"also_{value}", value)))


def _read_twice(g: Graph, value: str) -> Graph:
    ed = Editor(g)
    read = OPERATORS["unsqueeze"](ed.tensor(value), axes=(0,))
    ed.results = [*g.results, Result(f"again_{value}", ed.build(read, hint="again"))]
    return ed.graph()
