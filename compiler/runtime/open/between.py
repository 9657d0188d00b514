"""Steps between the parts of a program: functions that run nodes whose results determine sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from compiler.ir.affine import axis_symbol
from compiler.ir.constant import Constant
from compiler.ir.graph import Graph, Node
from compiler.ops.evaluation.meaning import evaluate_node
from compiler.runtime.executable import own
from compiler.runtime.open.rounds import Rounds
from compiler.runtime.open.sizes import sizes_of_value
from compiler.runtime.thunks.select import is_handed_out

HostStep = Callable[[dict[str, Any], dict[str, int]], None]
"""Function that adds the results of a node, and their sizes, to the values and sizes of a run."""


def host_step(node: Node, graph: Graph, rounds: Rounds | None = None) -> HostStep:
    """Return the step of a node between two parts; `rounds` runs a loop whose end depends on data.

    A value that the step adds may be a view of other values.
    """
    if rounds is not None:
        return _in_rounds(node, graph.constants, rounds)
    return _cut(node, graph.constants) or _by_reference(node, graph.constants)


def _in_rounds(node: Node, constants: Mapping[str, Constant], rounds: Rounds) -> HostStep:
    """Return the step of a loop: generated code, if it exists for the body and operand types."""
    given = {name: constants[name].array() for name in node.reads if name in constants}
    otherwise = _by_reference(node, constants)

    def step(values: dict[str, Any], sizes: dict[str, int]) -> None:
        read = {n: given[n] if n in given else values[n] for n in node.reads}
        made = rounds.run(read)
        if made is None:
            otherwise(values, sizes)
            return
        for name, t, value in zip(node.outputs, node.types, made, strict=False):
            if name:
                values[name] = value
                sizes_of_value(name, t, value, sizes)

    return step


def _by_reference(node: Node, constants: Mapping[str, Constant]) -> HostStep:
    given = {name: constants[name].array() for name in node.reads if name in constants}

    def step(values: dict[str, Any], sizes: dict[str, int]) -> None:
        read = {n: given[n] if n in given else values[n] for n in node.reads}
        made = evaluate_node(node, [read[i] if i else None for i in node.inputs], read)
        for name, t, value in zip(node.outputs, node.types, made, strict=False):
            if name:
                values[name] = own(value)
                sizes_of_value(name, t, value, sizes)

    return step


def _cut(node: Node, constants: Mapping[str, Constant]) -> HostStep | None:
    """Return a step that slices a buffer's filled part, without a copy if the part is contiguous.

    Generated code has already computed the buffer and the size of its filled part. So slicing is
    cheaper than a call of the reference implementation.
    """
    if not is_handed_out(node) or any(i in constants for i in node.inputs):
        return None
    room, count = node.inputs
    at = node.attrs["axis"] % node.tensor.rank
    symbol = axis_symbol(node.tensor.dims[at])
    before, output = (slice(None),) * at, node.output

    def step(values: dict[str, Any], sizes: dict[str, int]) -> None:
        found = values[room][(*before, slice(int(values[count])))]
        values[output] = found if found.flags.c_contiguous else np.array(found, order="C")
        size = found.shape[at]
        if symbol is None or sizes.setdefault(symbol, size) != size:
            sizes_of_value(output, node.tensor, found, sizes)

    return step
