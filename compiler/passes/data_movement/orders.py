"""Operators on transposed operands: changes of axes and attributes.

A permutation `perm` of a value `v` means that nodes read `v'` instead, with `v = transpose(v',
perm)`. Many operators can compute a permuted result from permuted operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from compiler.dataclass import dataclass
from compiler.ir.editor import Editor
from compiler.ir.graph import Node
from compiler.ir.operator import OPERATORS, Array, with_trait
from compiler.ir.types import Dim, TensorType
from compiler.passes.rules.views.shapes import numbers

Perm = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reordered:
    """A node with permuted axes: the permutations of changed operands, and of the results."""

    reads: Mapping[int, Perm]
    gives: Perm
    attrs: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[int, Array] = field(default_factory=dict)
    """New elements of constant operands, by operand number."""
    exact: bool = True
    """Whether results are bit-identical: reordered sums are not."""


def inverse(perm: Perm) -> Perm:
    """Return the inverse permutation."""
    return tuple(int(i) for i in np.argsort(perm))


def composed(first: Perm, second: Perm) -> Perm:
    """Return the permutation of two successive transposes."""
    return tuple(first[i] for i in second)


def is_identity(perm: Perm) -> bool:
    """Whether all axes keep their positions."""
    return list(perm) == sorted(perm)


def is_view(dims: Sequence[Dim], perm: Perm) -> bool:
    """Whether a transpose of a tensor of these sizes only moves axes of size 1."""
    return is_identity(tuple(a for a in perm if dims[a] != 1))


def lifted(dims: Sequence[Dim], rank: int) -> tuple[Dim, ...]:
    """Prepend axes of size 1 to the sizes, as broadcasting does."""
    return (1,) * (rank - len(dims)) + tuple(dims)


def reorder(ed: Editor, node: Node, perm: Perm) -> Reordered | str:
    """Return the node with its main operand permuted, or the reason against the permutation."""
    if len(perm) < 2:
        return f"a tensor of {len(perm)} axes has no other permutation"
    types = [*node.types, *(ed.type(i) for i in node.inputs if i)]
    if not all(isinstance(t, TensorType) and t.is_ranked for t in types):
        return f"{node.output} or one of its operands is not a tensor of known rank"
    if node.regions or node.op not in OPERATORS:
        return f"{node.op} has no axes that can be permuted"
    if OPERATORS[node.op].kind == "elementwise":
        return _elementwise(ed, node, perm)
    how = _HOW.get(node.op)
    if how is None:
        return f"{node.op} requires the original order of axes"
    return how(ed, node, perm)


def reorder_back(ed: Editor, node: Node, perm: Perm) -> Reordered | str:
    """Return the node with its results permuted, or the reason against the permutation."""
    if not node.inputs or not all(isinstance(t, TensorType) for t in node.types):
        return f"the results of {node.op} are not tensors"
    main = next((i for i in node.inputs if i and len(_dims(ed, i)) == len(perm)), "")
    if not main:
        return f"no operand of {node.output} has {len(perm)} axes"
    found = reorder(ed, node, perm)
    if isinstance(found, Reordered) and found.gives != perm:
        return f"the axes of the results of {node.op} have a fixed order"
    return found


def _dims(ed: Editor, value: str) -> tuple[Dim, ...]:
    t = ed.type(value)
    return t.shape or () if isinstance(t, TensorType) else ()


POSITIONAL = with_trait("positional")
"""Elementwise operators that compute elements by position, or that change sizes."""


def _elementwise(ed: Editor, node: Node, perm: Perm) -> Reordered | str:
    if node.op in POSITIONAL:
        return f"{node.op} depends on the positions of elements"
    if len(node.tensor.dims) != len(perm):
        return f"{node.output} has {len(node.tensor.dims)} axes, but {len(perm)} are permuted"
    reads: dict[int, Perm] = {}
    for i, value in enumerate(node.inputs):
        if not value or all(d == 1 for d in _dims(ed, value)):
            continue
        if node.op in ("quantize", "dequantize") and i:
            return f"the scales of {node.output} are per axis"
        reads[i] = perm
    for i, value in enumerate(node.inputs):
        if value and i not in reads and len(_dims(ed, value)) == len(perm) > 1:
            reads[i] = perm
    return Reordered(reads, perm)


def _axis(ed: Editor, node: Node, perm: Perm) -> Reordered | str:
    """Permute the axes of an operator that works along a single axis."""
    at = perm[node.attrs["axis"] % len(perm)]
    reads = {i: perm for i, v in enumerate(node.inputs) if v}
    return Reordered(reads, perm, {"axis": at})


def _softmax(ed: Editor, node: Node, perm: Perm) -> Reordered | str:
    last = len(perm) - 1
    axis = node.attrs["axis"] % len(perm)
    if axis == last and perm[axis] != last:
        return f"{node.op} would no longer run along the last axis, which is contiguous in memory"
    return replace(_only_first(perm, {"axis": perm[axis]}), exact=False)


def _only_first(perm: Perm, attrs: Mapping[str, Any]) -> Reordered:
    return Reordered({0: perm}, perm, attrs)


def _reduction(ed: Editor, node: Node, perm: Perm) -> Reordered | str:
    axes = node.attrs["axes"]
    moved = tuple(sorted(perm[a] for a in axes))
    gives = perm if node.attrs["keepdims"] else without(perm, axes)
    return Reordered({0: perm}, gives, {"axes": moved}, exact=OPERATORS[node.op].exact)


def _arg(ed: Editor, node: Node, perm: Perm) -> Reordered | str:
    axis = node.attrs["axis"] % len(perm)
    gives = perm if node.attrs["keepdims"] else without(perm, (axis,))
    return Reordered({0: perm}, gives, {"axis": perm[axis]})


def _named_axes(ed: Editor, node: Node, n: Dim) -> list[int] | None:
    """Return the axes of a slice or pad: the listed ones, else the first n; None if unknown."""
    given = node.inputs[3] if len(node.inputs) > 3 else ""
    if given:
        return numbers(ed.tensor(given))
    return list(range(n)) if isinstance(n, int) else None


def _slice(ed: Editor, node: Node, perm: Perm) -> Reordered | str:
    n_listed = _dims(ed, node.inputs[1])[:1]
    axes = _named_axes(ed, node, n_listed[0] if n_listed else 0)
    if axes is None:
        return f"the axes that {node.output} slices are not known"
    moved = np.array([perm[a % len(perm)] for a in axes], np.int64)
    return Reordered({0: perm}, perm, parameters={3: moved})


def _pad(ed: Editor, node: Node, perm: Perm) -> Reordered | str:
    axes = _named_axes(ed, node, len(perm))
    if axes is None:
        return f"the axes that {node.output} pads are not known"
    moved = np.array([perm[a % len(perm)] for a in axes], np.int64)
    return Reordered({0: perm}, perm, parameters={3: moved})


def _squeeze(ed: Editor, node: Node, perm: Perm) -> Reordered | str:
    axes = [a % len(perm) for a in node.attrs["axes"]]
    return Reordered({0: perm}, without(perm, axes), {"axes": tuple(sorted(perm[a] for a in axes))})


def _unsqueeze(ed: Editor, node: Node, perm: Perm) -> Reordered | str:
    rank = len(perm) + len(node.attrs["axes"])
    new = {a % rank for a in node.attrs["axes"]}
    old = [a for a in range(rank) if a not in new]
    gives = list(range(rank))
    for i, at in enumerate(old):
        gives[at] = old[perm[i]]
    return Reordered({0: perm}, tuple(gives), {"axes": tuple(sorted(new))})


def _gather(ed: Editor, node: Node, perm: Perm) -> Reordered | str:
    axis = node.attrs["axis"] % len(perm)
    rank = len(_dims(ed, node.inputs[1]))
    if rank > 1:
        return f"{node.output} replaces an axis with {rank} axes"
    gives = perm if rank else without(perm, (axis,))
    return Reordered({0: perm}, gives, {"axis": perm[axis]})


def without(perm: Perm, axes: Iterable[int]) -> Perm:
    """Return the permutation of the axes that remain after removal of some axes."""
    gone = set(axes)
    left = [perm[a] for a in range(len(perm)) if a not in gone]
    rank_of = {a: i for i, a in enumerate(sorted(left))}
    return tuple(rank_of[a] for a in left)


_HOW: dict[str, Callable[[Editor, Node, Perm], Reordered | str]] = {
    **dict.fromkeys(with_trait("axis_reduction"), _reduction),
    **dict.fromkeys(("softmax", "log_softmax"), _softmax),
    **dict.fromkeys(("argmax", "argmin"), _arg),
    "concat": _axis,
    "split": _axis,
    "identity": lambda ed, node, perm: _only_first(perm, {}),
    "slice": _slice,
    "pad": _pad,
    "squeeze": _squeeze,
    "unsqueeze": _unsqueeze,
    "gather": _gather,
}
