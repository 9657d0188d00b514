"""Many cases: each outcome at once, a summary, and the reduced model of each kind of failure."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from onnx import printer, save

from tests.outside.case import Case, draw_case
from tests.outside.children import Died, each_in_child, in_child
from tests.outside.reduce import reduced
from tests.outside.trial import Outcome, try_case

FAILURES = ("wrong", "crash", "refused", "disputed")


@dataclass
class Summary:
    """Outcomes by kind, and the failing cases by signature."""

    kinds: Counter[str] = field(default_factory=Counter)
    failures: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    def add(self, seed: int, index: int, outcome: Outcome) -> None:
        self.kinds[outcome.kind] += 1
        if outcome.kind in FAILURES:
            self.failures.setdefault(outcome.signature, []).append((seed, index))

    def __str__(self) -> str:
        counts = ", ".join(f"{n} {kind}" for kind, n in self.kinds.most_common())
        lines = [f"{self.kinds.total()} graphs: {counts}"]
        ordered = sorted(self.failures.items(), key=lambda f: -len(f[1]))
        lines += [f"{len(where):5d}  {name}  {where[:4]}" for name, where in ordered]
        return "\n".join(lines)


def sweep(
    cases: list[tuple[int, int]],
    seconds: float,
    tell: Callable[[str], None],
    nodes: tuple[int, int] = (5, 60),
) -> dict[tuple[int, int], Outcome]:
    """Return the outcome of each (seed, index)."""
    found: dict[tuple[int, int], Outcome] = {}

    def work(where: tuple[int, int]) -> Outcome:
        return try_case(draw_case(*where, nodes))

    began = time.monotonic()
    for where, answer in zip(cases, each_in_child(work, cases, seconds), strict=True):
        outcome = _of_the_dead(where, nodes, answer) if isinstance(answer, Died) else answer
        found[where] = outcome
        if outcome.kind != "right":
            tell(f"{where[0]}/{where[1]} {outcome.kind} ({outcome.way}) {outcome.detail}")
        if len(found) % 50 == 0:
            tell(f"{len(found)} of {len(cases)} in {time.monotonic() - began:.0f} s")
    return found


def _of_the_dead(where: tuple[int, int], nodes: tuple[int, int], death: Died) -> Outcome:
    """Return a crash of Compilarium, unless ONNX Runtime crashed during generation."""
    try:
        in_child(lambda: bool(draw_case(*where, nodes)))
    except Died:
        return Outcome("peer", detail="ONNX Runtime crashes while the model is drawn")
    return Outcome("crash", detail=str(death))


def show_reduced(seed: int, index: int, outcome: Outcome, folder: Path, seconds: float) -> str:
    """Write the reduced model of a failure and its inputs; return the text of the model."""
    try:
        case = in_child(lambda: draw_case(seed, index))
    except Died as e:
        return f"cannot be drawn: {e}"
    smaller = reduced(case, outcome, seconds)
    return _written(smaller, folder / f"{seed}-{index}", outcome)


def _written(case: Case, folder: Path, outcome: Outcome) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    save(case.model, folder / "model.onnx")
    for k, feeds in enumerate(case.feeds):
        arrays: dict[str, Any] = {n: np.asarray(v) for n, v in feeds.items()}
        np.savez(folder / f"feeds-{k}.npz", allow_pickle=True, **arrays)
    text = printer.to_text(case.model)
    (folder / "model.txt").write_text(text)
    told = {"kind": outcome.kind, "way": outcome.way, "detail": outcome.detail}
    (folder / "outcome.json").write_text(json.dumps(told, indent=1))
    return text
