"""Operator samples with symbols as sizes, and inputs for any values of these symbols."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from compiler.errors import CompileError
from compiler.ir.affine import symbol
from compiler.ir.constant import Array, Constant
from compiler.ir.graph import Graph, Node, Result, Value
from compiler.ir.infer import infer, opened
from compiler.ir.operator import Operator, Sample
from compiler.ir.types import TensorType, parse_type
from tests.operator_samples import operands_of, random_array, tensors_of

WEIGHTS: Mapping[str, tuple[int, ...]] = {"rnn": (1, 2), "gru": (1, 2), "lstm": (1, 2)}
"""Operands whose sizes stay known: the weights of a recurrent layer, which determine the size of
its state."""


def size_symbol(n: int) -> str:
    """Return the symbol for axes of this size."""
    return f"D{n}"


@dataclass(frozen=True)
class OpenSample:
    """A node of one operator over inputs of open sizes; equal sizes share a symbol."""

    operator: Operator
    graph: Graph
    sizes: tuple[int, ...]

    def inputs(self, grown: int, seed: int = 0) -> dict[str, Array]:
        """Return arrays for all inputs, with each size increased by this number."""
        values = {size_symbol(n): max(n + grown, 0) for n in self.sizes}
        rng = np.random.default_rng(seed)
        return {v.name: random_array(with_sizes(v.type, values), rng) for v in self.graph.inputs}


def with_sizes(t: object, values: Mapping[str, int]) -> TensorType:
    """Return a tensor type with numbers for its symbols."""
    assert isinstance(t, TensorType), f"{t} is not a tensor"
    return replace(t, shape=tuple(values.get(str(d), d) for d in t.dims))


def open_samples(operator: Operator) -> Iterator[OpenSample]:
    """Yield the samples of an operator with open sizes, if type rules accept these.

    The sizes of weights stay known.
    """
    for number, sample in enumerate(operator.all_samples()):
        made = _opened(operator, sample, f"{operator.name}{number}")
        if made is not None:
            yield made


def _opened(operator: Operator, sample: Sample, prefix: str) -> OpenSample | None:
    arrays = operands_of(operator, sample)
    inputs: list[Value] = []
    constants: dict[str, Constant] = {}
    names: list[str] = []
    for position, (given, array) in enumerate(zip(sample.operands, arrays, strict=True)):
        name = "" if array is None else f"{prefix}.{position}"
        names.append(name)
        if isinstance(given, str):
            inputs.append(Value(name, parse_type(given)))
        elif array is not None:
            constants[name] = Constant.of(array)
    sizes = {d for v in inputs for d in with_sizes(v.type, {}).static_shape}
    weights = [arrays[i] for i in WEIGHTS.get(operator.name, ())]
    sizes -= {d for w in weights if w is not None for d in w.shape}
    symbols = {n: symbol(size_symbol(n)) for n in sizes}
    inputs = [Value(v.name, _symbolic(v.type, symbols)) for v in inputs]
    attrs = operator.bind(sample.attrs)
    try:
        types = _result_types(operator, sample, arrays)
        outputs = tuple(f"{prefix}.y{i}" for i in range(len(types)))
        node = Node(operator.name, tuple(names), outputs, types, attrs, prefix)
        results = tuple(Result(o, o) for o in outputs)
        graph = infer(Graph("g", tuple(inputs), results, (node,), constants))[0]
    except CompileError:
        return None
    return OpenSample(operator, graph, tuple(sorted(sizes))) if sizes else None


def _result_types(
    operator: Operator, sample: Sample, arrays: Iterable[Array | None]
) -> tuple[TensorType, ...]:
    made = operator.infer(tensors_of(operator, sample, list(arrays)), operator.bind(sample.attrs))
    return tuple(opened(t) for t in made)  # type: ignore[misc]


def _symbolic(t: object, symbols: Mapping[int, object]) -> TensorType:
    assert isinstance(t, TensorType), f"{t} is not a tensor"
    return replace(t, shape=tuple(symbols.get(d, d) for d in t.static_shape))  # type: ignore[misc]


def together(samples: Iterable[OpenSample]) -> Graph:
    """Return a graph that computes all samples from separate inputs."""
    graphs = [s.graph for s in samples]
    constants = {k: c for g in graphs for k, c in g.constants.items()}
    return Graph(
        "samples",
        tuple(v for g in graphs for v in g.inputs),
        tuple(r for g in graphs for r in g.results),
        tuple(n for g in graphs for n in g.nodes),
        constants,
    )
