"""Verdicts on results: equal to those of ONNX Runtime, up to rounding.

Results that differ from ONNX Runtime's beyond the margins are compared with onnx.reference, in f64
and in the model's types. If onnx.reference agrees with Compilarium in either, the verdict is
`disputed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import ModelProto

from compiler.check.margins import unit
from tests.outside.case import drop_unused
from tests.outside.margins import FEW_RUNS, MANY_RUNS, Margin, Place, margins, parts, wide_results
from tests.outside.peer import run_onnx_reference
from tests.outside.values import FLOATS, Array, label_of


@dataclass(frozen=True)
class Objection:
    """The error of a result, and whether onnx.reference agrees with Compilarium."""

    result: str
    text: str
    disputed: bool = False


class Judge:
    """Judges results of a model on one set of inputs."""

    def __init__(
        self, model: ModelProto, feeds: Mapping[str, Any], expected: Mapping[str, Any]
    ) -> None:
        self.model, self.feeds, self.expected = model, feeds, dict(expected)

        self._margins: dict[int, dict[Place, Margin]] = {}

    def _margin(self, place: Place, n_runs: int) -> Margin | None:
        if n_runs not in self._margins:
            self._margins[n_runs] = margins(self.model, self.feeds, self.expected, n_runs)
        return self._margins[n_runs].get(place)

    def _wide(self, place: Place) -> Any:
        return _at(place, wide_results(_for_one(self.model, place[0]), self.feeds))

    def _reference(self, place: Place) -> Any:
        return _at(place, run_onnx_reference(_for_one(self.model, place[0]), self.feeds))

    def objection(self, made: Mapping[str, Any]) -> Objection | None:
        """Return the first wrong result; None if all are right."""
        for name, wanted in self.expected.items():
            given = made.get(name)
            if isinstance(wanted, list) and (
                not isinstance(given, list) or len(given) != len(wanted)
            ):
                return Objection(name, "another sequence")
            pairs = zip(parts(name, given), parts(name, wanted), strict=True)
            for (place, a), (_, b) in pairs:
                if self._objection(place, a, b, FEW_RUNS):
                    if found := self._objection(place, a, b, MANY_RUNS):
                        return found
        return None

    def _objection(self, place: Place, made: Any, wanted: Any, n_runs: int) -> Objection | None:
        name = place[0]
        text = mismatch(made, wanted)
        if not text and nearly(made, wanted):
            return None
        if text and self._depends_on_rounding(place, made, wanted, n_runs):
            return None
        if text:
            theirs = self._reference(place)
            same = not mismatch(made, theirs) and nearly(made, theirs)
            return Objection(name, text, disputed=same)
        margin = self._margin(place, n_runs)
        if margin is None:
            theirs = self._reference(place)
            return Objection(
                name, "another value", not mismatch(made, theirs) and nearly(made, theirs)
            )
        wrong = margin.certain & ~within(made, wanted, margin)
        if (wide := self._wide(place)) is not None and np.shape(wide) == made.shape:
            wrong &= ~within(made, np.asarray(wide), margin)
        if not wrong.any():
            return None
        at = tuple(int(i) for i in np.argwhere(wrong)[0])
        text = f"{wrong.sum()} of {wrong.size} at {list(at)}: {made[at]} for {wanted[at]}"
        theirs = self._reference(place)
        same = theirs is not None and not mismatch(made, theirs)
        same = same and bool(within(made, np.asarray(theirs), margin)[wrong].all())
        return Objection(name, text, disputed=same)

    def _depends_on_rounding(self, place: Place, made: Any, wanted: Any, n_runs: int) -> bool:
        """Return whether only the shape of a result differs, and noise changes the shape too."""
        if label_of(made) != label_of(wanted) or not label_of(wanted):
            return False
        margin = self._margin(place, n_runs)
        return made.ndim == wanted.ndim and margin is not None and not margin.shape_is_certain


def _at(place: Place, results: Mapping[str, Any] | None) -> Any:
    """Return the tensor at a place of the results; None if there is none."""
    name, index = place
    value = (results or {}).get(name)
    if index is None:
        return value
    return value[index] if isinstance(value, list) and index < len(value) else None


def _for_one(model: ModelProto, result: str) -> ModelProto:
    """Return the nodes for one result, which onnx.reference may be able to run."""
    part = ModelProto.FromString(model.SerializeToString())
    for k in reversed(range(len(part.graph.output))):
        if part.graph.output[k].name != result:
            del part.graph.output[k]
    drop_unused(part)
    return part


def mismatch(made: Any, wanted: Any) -> str:
    """Return the difference in kind, element type or shape; "" for none."""
    if not isinstance(made, np.ndarray) or not isinstance(wanted, np.ndarray):
        return "" if made is wanted else f"{type(made).__name__} for {type(wanted).__name__}"
    if (made.dtype, made.shape) != (wanted.dtype, wanted.shape):
        return f"{made.dtype}{list(made.shape)} for {wanted.dtype}{list(wanted.shape)}"
    return ""


def nearly(made: Any, wanted: Any) -> bool:
    """Return whether results are equal, or so close that no margins are needed."""
    if made is None:
        return True
    if label_of(made) not in FLOATS:
        return bool(np.array_equal(made, wanted))
    few = 8 * unit(made.dtype)
    with np.errstate(all="ignore"):
        a, b = made.astype(np.float64), wanted.astype(np.float64)
        return bool((np.abs(a - b) <= few * np.abs(b))[a != b].all() | np.array_equal(a, b))


def within(made: Array, wanted: Array, margin: Margin) -> Array:
    """Return which elements are within the margin of the expected elements."""
    if label_of(made) not in FLOATS:
        return np.asarray(made == wanted)
    with np.errstate(all="ignore"):
        a, b = made.astype(np.float64), wanted.astype(np.float64)
        return np.asarray((a == b) | (np.abs(a - b) <= margin.allowed) | np.isinf(margin.allowed))
