"""Evaluation of nodes and graphs by the operators' references: the oracle for programs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from compiler.errors import CompileError, Where
from compiler.ir.graph import Graph, Node
from compiler.ir.infer import KNOWN_LIMIT, node_types
from compiler.ir.operator import OPERATORS
from compiler.ir.types import DType, OpaqueType, TensorType, Type
from compiler.limits import check, check_bytes, check_work, has_deadline
from compiler.ops.control_flow.control import Run, evaluate
from compiler.ops.evaluation.foreign import as_array, evaluate_foreign
from compiler.ops.onnx_import.declared import declared_for

WITHOUT_MEMORY = {"fill", "expand", "onnx.If"}
"""Operators without a memory check: their results are views of one element, or their regions' nodes
are checked."""


TEXT_COPIES = 8
"""The assumed memory of an operator on strings, as a multiple of its operands' memory."""


def evaluate_graph(
    graph: Graph,
    inputs: Mapping[str, Any],
    outer: Mapping[str, Any] | None = None,
    keep: Collection[str] = (),
) -> dict[str, Any]:
    """Evaluate a graph; return its results and the values in `keep`, by value name.

    `outer` holds captured values. Values other than results and `keep` are freed after their last
    use.
    Errors: E-RUN-OPERATOR and E-RUN-MEMORY, located at the node.
    """
    values = {name: outer[name] for name in graph.free_names} if outer else {}
    values.update(inputs)
    for name, c in graph.constants.items():
        values[name] = c.array()
    wanted = {r.value for r in graph.results if r.value} | set(keep)
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
    """Evaluate one node for these operands (None if omitted).

    `run` evaluates the regions of control flow, by default with the operators' references.
    Errors: E-RUN-OPERATOR, E-RUN-MEMORY, located at the node.
    """
    where = Where(node=node.name)
    try:
        check(node.op)
        check_node(node, operands)
        return _meaning(node, operands, outer or {}, run)
    except CompileError as e:
        raise e.at(where) from e.__cause__
    except MemoryError as e:
        message = f"{node.op} needs more memory than is available"
        raise CompileError("E-RUN-MEMORY", message, where=where) from e
    except RecursionError:
        raise
    except Exception as e:  # the operands come from the user: a reference may raise any exception
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
        declared = declared_for(node, operands)
        if declared is None:
            return evaluate_foreign(node, operands, outer)
        inputs = {v.name: operands[int(v.name)] for v in declared.inputs}
        found = evaluate_graph(declared, inputs)
        return tuple(found[r.value] if r.value else None for r in declared.results)
    assert operator.reference_fn is not None, f"{node.op} has no reference"
    with np.errstate(all="ignore"):
        made = operator.reference_fn(*operands, **node.attrs)
    results = made if isinstance(made, tuple) else (made,)
    return tuple(map(as_array, results))


def check_node(node: Node, operands: Sequence[Any]) -> None:
    """Check a node's memory and time before evaluation; else the system might kill the process.

    Errors: E-RUN-MEMORY for the memory of the node's results, E-LIMIT-SECONDS for the time of its
    operations.
    """
    operator = OPERATORS.get(node.op)
    types: list[Type | None] = [_type_of(v) for v in operands]
    results = node.types
    if operator is not None and not all(map(_is_known, results)):
        results = _types_now(node, types, operands)
    texts = sum(map(_text_bytes, operands))
    check_bytes(TEXT_COPIES * texts, f"{node.op} on {texts:,} characters", "E-RUN-MEMORY")
    if node.op not in WITHOUT_MEMORY:
        needed = sum(t.nbytes for t in results if _is_known(t) and isinstance(t, TensorType))
        check_bytes(needed, f"the result of {node.op}", "E-RUN-MEMORY")
    if operator is None or operator.cost_fn is None or not all(map(_is_known, results)):
        return
    if has_deadline() and all(t is None or _is_known(t) for t in types):
        out = results[0] if len(results) == 1 else results
        check_work(operator.cost_fn(*types, out=out, **node.attrs).flops, node.op)


def _text_bytes(value: Any) -> int:
    """Return the number of characters in an array of strings; its type does not give the number."""
    if not isinstance(value, np.ndarray) or value.dtype != np.object_:
        return 0
    return sum(len(v) for v in value.reshape(-1) if isinstance(v, str | bytes))


def _types_now(
    node: Node, types: Sequence[Type | None], operands: Sequence[Any]
) -> tuple[Type, ...]:
    """Infer the result types for these operands; if inference fails, use the recorded types."""
    few = [isinstance(v, np.ndarray) and v.size <= KNOWN_LIMIT for v in operands]
    known = [v if is_few else None for v, is_few in zip(operands, few, strict=True)]
    try:
        return node_types(node, types, known, {})
    except CompileError:
        return node.types  # the reference will raise the error


def _type_of(value: Any) -> Type | None:
    if value is None:
        return None
    if not isinstance(value, np.ndarray | np.generic):
        return OpaqueType()
    return TensorType(DType.from_numpy(value.dtype), value.shape)


def _is_known(t: Type | None) -> bool:
    return isinstance(t, TensorType) and t.is_static
