"""A minimal set of rewrites that changes a model's numerical results."""

from __future__ import annotations

from typing import TypedDict

from app.wire.shapes import Payload


class BisectedRewrite(TypedDict):
    """A rewrite of the minimal set, with its `stage` and `step` in the compilation; -1 if the
    compilation did not apply the rewrite."""

    pass_name: str
    rule: str
    at: str
    stage: int
    step: int
    is_wrong_alone: bool


class ReducedModel(TypedDict):
    """A small model with the same fault; `opens` is true if `text` contains the complete model.

    `onnx_bytes` is 0 if ONNX cannot represent the model; `n_cut` counts the omitted lines of
    `text`.
    """

    n_nodes: int
    text: str
    n_cut: int
    opens: bool
    pipeline: str
    onnx_bytes: int


class Bisection(Payload):
    """The findings of a bisection so far; `kind` is "" if no result is wrong or changed.

    `first` is the first responsible rewrite in pipeline order. `passes` are the passes that cause
    the fault even if all their rewrites are disabled. `n_nodes` is the size of the model before its
    reduction.
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
