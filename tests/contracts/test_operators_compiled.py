"""Tests that the machine code of every operator equals its reference, on all samples."""

from __future__ import annotations

import numpy as np
import pytest

import compiler
import compiler.ops
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Result, Value
from compiler.ir.operator import OPERATORS, Array, Operator
from compiler.ir.types import DType, TensorType
from tests.operator_samples import assert_same, operands_of, reference

assert compiler.ops.__doc__

NAMES = sorted(n for n, o in OPERATORS.items() if o.lower_fn or o.decompose_fn)


def graph_of_samples(operator: Operator) -> tuple[Graph, dict[str, Array], dict[str, Array]]:
    """Return a graph that applies an operator to every sample, its inputs and its results."""
    editor = Editor(Graph(operator.name, (), (), ()))
    inputs: list[Value] = []
    feeds: dict[str, Array] = {}
    needed: dict[str, Array] = {}
    results: list[Result] = []
    calls: list[tuple[str, list[str | None], dict[str, object]]] = []
    for number, sample in enumerate(operator.all_samples()):
        names: list[str | None] = []
        arrays = operands_of(operator, sample, number)
        for position, (given, array) in enumerate(zip(sample.operands, arrays, strict=True)):
            name = f"s{number}_{position}"
            if array is None:
                names.append(None)
            elif isinstance(given, str):
                t = TensorType(DType.from_numpy(array.dtype), array.shape)
                inputs.append(Value(name, t))
                feeds[name] = array
                names.append(name)
            else:
                names.append(editor.add_constant(array, name))
        calls.append((f"y{number}", names, dict(sample.attrs)))
        for i, a in enumerate(reference(operator, arrays, sample.attrs)):
            needed[f"y{number}_{i}"] = a
    editor = Editor(Graph(operator.name, tuple(inputs), (), (), editor.constants))
    for name, names, attrs in calls:
        call = operator(*(n and editor.tensor(n) for n in names), **attrs)
        outputs = [f"{name}_{i}" for i in range(len(call.types()))]
        editor.build(call, outputs=outputs)
        results += [Result(o, o) for o in outputs]
    editor.results = results
    return editor.graph(), feeds, needed


@pytest.mark.parametrize("name", NAMES)
def test_the_compiled_operator_computes_the_reference(name: str) -> None:
    operator = OPERATORS[name]
    graph, feeds, needed = graph_of_samples(operator)
    program = compiler.compile(graph, pipeline=[])
    got = program.run(feeds)
    for key, array in needed.items():
        assert_same(np.asarray(got[key]), array, exact=operator.exact)
