"""The smallest set of rewrites that moves the numbers of a model."""

from __future__ import annotations

from typing import TypedDict

from app.wire.shapes import Payload


class BisectedRewrite(TypedDict):
    """A rewrite of the set; `stage` and `step` are where the compilation did it, -1 for nowhere."""

    pass_name: str
    rule: str
    at: str
    stage: int
    step: int
    is_wrong_alone: bool


class ReducedModel(TypedDict):
    """A small model that shows the same; `opens` when its text alone is the model.

    `onnx_bytes` is 0 where it has no form in ONNX; `n_cut` counts lines that were left out.
    """

    n_nodes: int
    text: str
    n_cut: int
    opens: bool
    pipeline: str
    onnx_bytes: int


class Bisection(Payload):
    """What was found: `kind` is "" when nothing is wrong, or moves.

    `first` is the rewrite with which it begins in the order of the pipeline, `passes` those that do
    it without any rewrite, `n_nodes` the size of the model before it was reduced.
    """

    job: str
    seed: int
    moved: float | None
    kind: str
    detail: str
    is_stable: bool
    rewrites: list[BisectedRewrite]
    rules: list[str]
    passes: list[str]
    first: BisectedRewrite | None
    n_before_first: int
    n_runs: int
    seconds: float
    n_nodes: int
    reduced: ReducedModel | None
