"""Unique for rows of strings, and in order of first occurrence along any axis."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from onnx.reference.op_run import OpRun


class Unique(OpRun):
    """Unique by comparing rows as tuples of numbers or strings; NaN equals NaN and sorts last."""

    def _run(self, x: Any, axis: int | None = None, sorted: int = 1) -> tuple[Any, ...]:
        if axis is None:
            x, axis = x.reshape(-1), 0
        groups: dict[tuple[Any, ...], list[int]] = {}
        for i, row in enumerate(np.moveaxis(x, axis, 0)):
            groups.setdefault(_key(row), []).append(i)
        keys = _in_order(groups) if sorted else groups
        members = [groups[k] for k in keys]
        first = np.array([m[0] for m in members], np.int64)
        inverse = np.zeros(x.shape[axis], np.int64)
        for group, m in enumerate(members):
            inverse[m] = group
        counts = np.array([len(m) for m in members], np.int64)
        made = (np.take(x, first, axis), first, inverse, counts)
        return made[: len(self.onnx_node.output)]


def _key(row: Any) -> tuple[Any, ...]:
    return tuple((v != v, 0 if v != v else v) for v in np.ravel(row).tolist())


def _in_order(keys: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(keys)  # in `_run`, the attribute `sorted` hides this function
