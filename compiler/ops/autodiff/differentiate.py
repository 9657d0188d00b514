"""Reverse-mode differentiation, which adds nodes for gradients to the graph of the value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from compiler.errors import CompileError, Where
from compiler.ir.editor import Editor
from compiler.ir.graph import Graph, Node, Result
from compiler.ir.operator import OPERATORS, Regioned, Tensor
from compiler.ir.types import TensorType, Type
from compiler.ops.autodiff.gradients import unbroadcast
from compiler.ops.data_movement.shape import fill, shape
from compiler.ops.elementwise.arithmetic import add


def gradients(
    editor: Editor,
    y: str,
    xs: Sequence[str],
    at: Mapping[str, str],
    origins: tuple[str, ...] = (),
) -> list[str]:
    """Add the gradients dy/dx of a value y for each x in xs, summed over the elements of y.

    `at` maps independent values (xs and others) to values that replace them; all values that depend
    on a replaced value are recomputed.
    Source: ONNX Gradient-1. Errors: E-OP-GRADIENT for an operator without a gradient.
    """
    order = _between(editor, y, {*xs, *at})
    now = _moved(editor, order, at, origins)
    there = {x: now.get(x, x) for x in xs}
    found = {now.get(y, y): _ones(editor, now.get(y, y), origins)}
    nodes = [editor.producer(now.get(n.output, n.output)) or n for n in order]
    _back(editor, nodes, found, set(there.values()), origins)
    return [found.get(there[x]) or _zeros(editor, there[x], origins) for x in xs]


def _back(
    editor: Editor,
    nodes: Sequence[Node],
    found: dict[str, str],
    independent: set[str],
    origins: tuple[str, ...],
) -> None:
    """Propagate the gradients in `found` back through nodes to the independent values."""
    depends = set(independent)
    path: list[Node] = []
    for node in nodes:
        if depends.intersection(node.reads):
            depends.update(filter(None, node.outputs))
            path.append(node)
    for node in reversed(path):
        if any(o in found for o in node.outputs):
            _go_back(editor, node, found, depends, origins)


def _between(editor: Editor, y: str, stops: set[str]) -> list[Node]:
    """Return the nodes on which y depends, back to the values in `stops`, in topological order."""
    found: dict[str, Node] = {}

    pending = [(y, False)]
    while pending:
        value, is_done = pending.pop()
        node = editor.producer(value)
        if value in stops or node is None or node.output in found:
            continue
        if is_done:
            found[node.output] = node
            continue
        pending.append((value, True))
        pending.extend((i, False) for i in node.reads)
    return list(found.values())


def _moved(
    editor: Editor, order: Sequence[Node], at: Mapping[str, str], origins: tuple[str, ...]
) -> dict[str, str]:
    """Recompute the nodes that depend on substituted values; return the new names of values."""
    now = {old: new for old, new in at.items() if old != new}
    for node in order:
        if any(i in now for i in node.reads):
            outputs = tuple(editor.fresh(o) if o else "" for o in node.outputs)
            moved = replace(node.with_inputs(now), outputs=outputs, origins=origins)
            editor.add(replace(moved, types=editor.infer(moved)))
            now.update((o, n) for o, n in zip(node.outputs, outputs, strict=True) if o)
    return now


def _go_back(
    editor: Editor,
    node: Node,
    found: dict[str, str],
    depends: set[str],
    origins: tuple[str, ...],
) -> None:
    """Accumulate the gradients of a node's operands and captured values.

    Loops have no gradient rule, because a rule would need to store the values of every iteration.
    """
    if node.op == "onnx.If":
        handed = _through_branches(editor, node, found, depends, origins)
    else:
        handed = _through_operator(editor, node, found, depends, origins)
    for operand, value in handed:
        if operand in found:
            both = add(editor.tensor(found[operand]), editor.tensor(value))
            value = editor.build(both, hint=f"d_{operand}", origins=origins)
        found[operand] = value


def _through_operator(
    editor: Editor,
    node: Node,
    found: Mapping[str, str],
    depends: set[str],
    origins: tuple[str, ...],
) -> Iterator[tuple[str, str]]:
    """Return the gradients of those operands of a node that depend on independent values."""
    operator = OPERATORS.get(node.op)
    if operator is None or operator.gradient_fn is None or len(node.outputs) != 1:
        raise _no_rule(node)
    operands = [editor.tensor(i) if i else None for i in node.inputs]
    g, out = editor.tensor(found[node.output]), editor.tensor(node.output)
    parts = operator.gradient_fn(g, out, *operands, **node.attrs)
    for operand, part in zip(operands, parts, strict=True):
        if operand is None or operand.name not in depends or not operand.dtype.is_float:
            continue
        if part is None:
            raise _no_rule(node, f" for {operand.name!r}")
        hint = f"d_{operand.name}"
        value = editor.build(part, hint=hint, origins=origins)
        summed = unbroadcast(editor.tensor(value), operand)
        yield operand.name, editor.build(summed, hint=hint, origins=origins)


def _no_rule(node: Node, of: str = "") -> CompileError:
    return CompileError(
        "E-OP-GRADIENT", f"{node.op} has no gradient rule{of}", where=Where(node=node.name)
    )


def _through_branches(
    editor: Editor,
    node: Node,
    found: Mapping[str, str],
    depends: set[str],
    origins: tuple[str, ...],
) -> list[tuple[str, str]]:
    """Add an If with the same condition whose branches compute gradients of captured values.

    The new If recomputes the branch that the original If took. Nodes with other regions have no
    gradient rule: see `_go_back`.
    """
    captured = dict.fromkeys(n for g in node.regions.values() for n in g.free_names)
    wanted = [n for n in captured if n in depends and _is_float(editor.type(n))]
    if not wanted:
        return []
    given = [found.get(o) if o else None for o in node.outputs]
    regions = {
        key: _branch(editor, region, given, wanted, origins) for key, region in node.regions.items()
    }
    types = tuple(editor.type(n) for n in wanted)
    made = Regioned(node.op, (editor.tensor(node.inputs[0]),), node.attrs, regions, types)
    hint = f"d_{node.output}"
    return [(n, editor.build(made.out(k), hint=hint)) for k, n in enumerate(wanted)]


def _branch(
    around: Editor,
    region: Graph,
    given: Sequence[str | None],
    wanted: Sequence[str],
    origins: tuple[str, ...],
) -> Graph:
    """Create a branch that maps gradients of the If's outputs to gradients of captured values."""
    editor = Editor(region, around.facts)
    found: dict[str, str] = {}
    for result, g in zip(region.results, given, strict=True):
        if g is None or not _is_float(editor.type(result.value)):
            continue
        if result.value in found:
            both = add(editor.tensor(found[result.value]), editor.tensor(g))
            g = editor.build(both, hint=f"d_{result.value}", origins=origins)
        found[result.value] = g
    _back(editor, region.nodes, found, set(wanted), origins)
    values = [found.get(n) or _zeros(editor, n, origins) for n in wanted]
    editor.results = [Result(f"d{k}", v) for k, v in enumerate(values)]
    return editor.graph()


def _is_float(t: Type) -> bool:
    return isinstance(t, TensorType) and t.dtype.is_float


def _ones(editor: Editor, value: str, origins: tuple[str, ...]) -> str:
    return _filled(editor, editor.tensor(value), 1.0, origins)


def _zeros(editor: Editor, value: str, origins: tuple[str, ...]) -> str:
    return _filled(editor, editor.tensor(value), 0.0, origins)


def _filled(editor: Editor, like: Tensor, number: float, origins: tuple[str, ...]) -> str:
    t = like.type
    if isinstance(t, TensorType) and t.is_static:
        ones = np.full(t.static_shape, number, t.dtype.numpy)
        return editor.add_constant(ones, f"d_{like.name}", origins)
    made = fill(shape(like), value=number, dtype=like.dtype)
    return editor.build(made, hint=f"d_{like.name}", origins=origins)
