"""Every operator with each of its attributes and small operands set to unusual values."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, helper, numpy_helper

from compiler.conformance.cases import Case, collect
from tests.malformed.hostile import Maker, family

BIG = 2**63 - 1
INTS = (-1, 0, 7, 2**31, 2**62, BIG, -BIG - 1)
FLOATS = (float("nan"), float("inf"), float("-inf"), -1.0, 0.0, 1e20, 1e-40)
STRINGS = (b"", b"nonsense", b"\xff\0", b"a" * 100_000)
SMALL = 16
"""Operands of at most this many elements may be sizes, axes or scales."""


@family
def attributes() -> Iterator[tuple[str, Maker]]:
    """Yield unusual numbers and strings for each attribute of each operator."""
    for case, node, place in first_cases():
        schema = onnx.defs.get_schema(node.op_type, domain=node.domain)
        for name, attribute in schema.attributes.items():
            for k, odd in enumerate(odd_attributes(node, name, attribute)):
                what = f"{node.domain}{node.op_type}.{name}.{k}"
                yield what, partial(with_attribute, case, place, odd)


@family
def operands() -> Iterator[tuple[str, Maker]]:
    """Yield unusual numbers for each small operand of each operator, as a constant."""
    for case, node, _ in first_cases():
        inputs = case.read()[0][0]
        for position, given in enumerate(inputs):
            is_small = isinstance(given, np.ndarray) and given.size <= SMALL and given.ndim < 2
            if not is_small or given.dtype.kind not in "if":
                continue
            for k, odd in enumerate(odd_arrays(given)):
                what = f"{node.domain}{node.op_type}.{position}.{k}"
                yield what, partial(with_constant, case, position, odd)


def first_cases() -> Iterator[tuple[Case, onnx.NodeProto, int]]:
    """Yield for each operator the first published case of a single node.

    They are created before any child process, so their memory is not counted for children.
    """
    seen: set[tuple[str, str]] = set()
    for case in collect("node"):
        nodes = case.model.graph.node
        if len(nodes) == 1 and (nodes[0].domain, nodes[0].op_type) not in seen:
            key = nodes[0].domain, nodes[0].op_type
            try:
                onnx.defs.get_schema(key[1], domain=key[0])
            except onnx.defs.SchemaError:
                continue
            seen.add(key)
            yield case, nodes[0], 0


def odd_attributes(node: onnx.NodeProto, name: str, schema: Any) -> Iterator[AttributeProto]:
    given = next((a for a in node.attribute if a.name == name), None)
    kinds = onnx.defs.OpSchema.AttrType
    match schema.type:
        case kinds.INT:
            yield from (helper.make_attribute(name, v) for v in INTS)
        case kinds.FLOAT:
            yield from (helper.make_attribute(name, v) for v in FLOATS)
        case kinds.STRING:
            yield from (helper.make_attribute(name, v) for v in STRINGS)
        case kinds.INTS:
            n = len(given.ints) if given is not None else 2
            yield from (_list(name, AttributeProto.INTS, [v] * n) for v in INTS)
            yield from (_list(name, AttributeProto.INTS, [1] * k) for k in (0, n + 1, 100_000))
        case kinds.FLOATS:
            n = len(given.floats) if given is not None else 2
            yield from (_list(name, AttributeProto.FLOATS, [v] * n) for v in FLOATS)
            yield from (_list(name, AttributeProto.FLOATS, [1.0] * k) for k in (0, n + 1, 100_000))
        case _:
            return


def _list(name: str, kind: Any, values: Sequence[Any]) -> AttributeProto:
    made = AttributeProto(name=name, type=kind)
    (made.ints if kind == AttributeProto.INTS else made.floats).extend(values)
    return made


def odd_arrays(given: np.ndarray) -> Iterator[np.ndarray]:
    odd = FLOATS if given.dtype.kind == "f" else INTS
    for v in odd:
        with np.errstate(all="ignore"):
            yield np.full(given.shape, np.array(v).astype(given.dtype))
    yield np.zeros(0, given.dtype)
    yield np.ones(given.size + 1, given.dtype)


def with_attribute(case: Case, place: int, odd: AttributeProto) -> bytes:
    made = copy.deepcopy(case.model)
    node = made.graph.node[place]
    kept = [a for a in node.attribute if a.name != odd.name]
    del node.attribute[:]
    node.attribute.extend([*kept, odd])
    return _fixed(made, case, set())


def with_constant(case: Case, position: int, odd: np.ndarray) -> bytes:
    made = copy.deepcopy(case.model)
    given = made.graph.input[position]
    made.graph.initializer.append(numpy_helper.from_array(odd, given.name))
    return _fixed(made, case, {given.name})


def _fixed(made: onnx.ModelProto, case: Case, constants: set[str]) -> bytes:
    """Return the model without the sizes of its results, which change; inputs keep theirs."""
    kept = [v for v in made.graph.input if v.name not in constants]
    del made.graph.input[:]
    made.graph.input.extend(kept)
    for v in made.graph.output:
        if v.type.HasField("tensor_type"):
            v.type.tensor_type.ClearField("shape")
    del made.graph.value_info[:]
    return made.SerializeToString()
