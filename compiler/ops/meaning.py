"""What nodes and graphs compute, by the operators' references: the judge of generated code."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from compiler.errors import CompileError, Where
from compiler.ir.graph import Graph, Node
from compiler.ir.operator import OPERATORS
from compiler.ir.types import TensorType
from compiler.ops.carried import evaluate_carried
from compiler.ops.control import Run, evaluate
from compiler.targets.memory import machine_bytes

WITHOUT_MEMORY = {"fill", "expand", "onnx.If"}
"""Their references give views of one element, or what they give is counted elsewhere."""


def evaluate_graph(
    graph: Graph,
    inputs: Mapping[str, Any],
    outer: Mapping[str, Any] | None = None,
    keep: Collection[str] = (),
) -> dict[str, Any]:
    """The values of a graph's results, and of those named in `keep`, by value name.

    `outer` holds what a region captures. Other values are freed after their last use.
    Errors: E-RUN-OPERATOR and E-RUN-MEMORY, with the node as place.
    """
    values = {name: outer[name] for name in graph.free_names} if outer else {}
    values.update(inputs)
    for name, c in graph.constants.items():
        values[name] = c.array()
    wanted = {r.value for r in graph.results} | set(keep)
    for node, dying in zip(graph.nodes, graph.last_uses, strict=True):
        operands = [values[i] if i else None for i in node.inputs]
        made = evaluate_node(node, operands, values)
        del operands
        for name, value in zip(node.outputs, made, strict=False):
            if name:
                values[name] = value
        for name in dying:
            if name not in wanted:
                values.pop(name, None)
    return {name: values[name] for name in wanted if name in values}


def evaluate_node(
    node: Node,
    operands: Sequence[Any],
    outer: Mapping[str, Any] | None = None,
    run: Run | None = None,
) -> tuple[Any, ...]:
    """The outputs of one node for these operands (None for one left out).

    `run` says how the regions of control flow run, if not by reference.
    Errors: E-RUN-OPERATOR, E-RUN-MEMORY, with the node as place.
    """
    where = Where(node=node.name)
    _check_memory(node, where)
    try:
        return _meaning(node, operands, outer or {}, run)
    except CompileError as e:
        raise e.at(where) from e.__cause__
    except MemoryError as e:
        raise CompileError("E-RUN-MEMORY", f"{node.op} needs more memory", where=where) from e
    except RecursionError:
        raise
    except Exception as e:  # the operands are the user's: a reference may refuse them in any way
        reason = f"{type(e).__name__}: {e}"[:300]
        raise CompileError("E-RUN-OPERATOR", f"{node.op}: {reason}", where=where) from e


def _meaning(
    node: Node, operands: Sequence[Any], outer: Mapping[str, Any], run: Run | None
) -> tuple[Any, ...]:
    if run is not None:
        return evaluate(node, operands, outer, run)
    if node.op == "fusion":
        body = node.regions["body"]
        inputs = {v.name: value for v, value in zip(body.inputs, operands, strict=True)}
        found = evaluate_graph(body, inputs)
        return tuple(found[r.value] for r in body.results)
    operator = OPERATORS.get(node.op)
    if operator is None:
        return evaluate_carried(node, operands, outer)
    assert operator.reference_fn is not None, f"{node.op} has no reference"
    with np.errstate(all="ignore"):
        made = operator.reference_fn(*operands, **node.attrs)
    results = made if isinstance(made, tuple) else (made,)
    return tuple(np.asarray(r) for r in results)


def _check_memory(node: Node, where: Where) -> None:
    """Refuse what cannot fit before numpy asks for it: the system might grant it and then kill."""
    if node.op in WITHOUT_MEMORY:
        return
    needed = sum(t.nbytes for t in node.types if isinstance(t, TensorType) and t.is_static)
    if needed > machine_bytes():
        raise CompileError(
            "E-RUN-MEMORY",
            f"{node.op} gives {needed:,} bytes, this machine has {machine_bytes():,}",
            where=where,
        )
