"""Reverse-mode differentiation: nodes that compute the gradient of a value, put into its graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from compiler.errors import CompileError, Where
from compiler.ir.editor import Editor
from compiler.ir.graph import Node
from compiler.ir.operator import OPERATORS, Tensor
from compiler.ir.types import TensorType
from compiler.ops.elementwise import add
from compiler.ops.gradients import unbroadcast
from compiler.ops.shape import fill, shape


def gradients(
    editor: Editor,
    y: str,
    xs: Sequence[str],
    at: Mapping[str, str],
    origins: tuple[str, ...] = (),
) -> list[str]:
    """The values of dy/dx for each of xs, summed over the elements of y.

    `at` says for independent values (those of xs, and others) which values to take in their place;
    what depends on them is then computed once more.
    Source: ONNX Gradient-1. Errors: E-OP-GRADIENT where an operator between has no gradient.
    """
    order = _between(editor, y, {*xs, *at})
    now = _moved(editor, order, at, origins)
    there = {x: now.get(x, x) for x in xs}
    found = {now.get(y, y): _ones(editor, now.get(y, y), origins)}
    depends = set(there.values())
    path: list[Node] = []
    for old in order:
        node = editor.producer(now.get(old.output, old.output)) or old
        if depends & set(node.inputs):
            depends.update(filter(None, node.outputs))
            path.append(node)
    for node in reversed(path):
        _go_back(editor, node, found, depends, origins)
    return [found.get(there[x]) or _zeros(editor, there[x], origins) for x in xs]


def _between(editor: Editor, y: str, stops: set[str]) -> list[Node]:
    """The nodes behind y, in order, up to values at which the computation is cut."""
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
        pending.extend((i, False) for i in node.inputs if i)
    return list(found.values())


def _moved(
    editor: Editor, order: Sequence[Node], at: Mapping[str, str], origins: tuple[str, ...]
) -> dict[str, str]:
    """Compute once more what depends on values that others take the place of."""
    now = {old: new for old, new in at.items() if old != new}
    for node in order:
        if any(i in now for i in node.inputs):
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
    """Add what the result of one node hands back to its operands."""
    g = found.get(node.output)
    if g is None:
        return
    operator = OPERATORS.get(node.op)
    if operator is None or operator.gradient_fn is None or len(node.outputs) != 1:
        raise CompileError(
            "E-OP-GRADIENT", f"{node.op} has no gradient rule", where=Where(node=node.name)
        )
    operands = [editor.tensor(i) if i else None for i in node.inputs]
    out = editor.tensor(node.output)
    parts = operator.gradient_fn(editor.tensor(g), out, *operands, **node.attrs)
    for operand, part in zip(operands, parts, strict=True):
        if operand is None or part is None or operand.name not in depends:
            continue
        hint = f"d_{operand.name}"
        value = editor.build(part, hint=hint, origins=origins)
        summed = unbroadcast(editor.tensor(value), operand)
        if operand.name in found:
            summed = add(editor.tensor(found[operand.name]), summed)
        found[operand.name] = editor.build(summed, hint=hint, origins=origins)


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
