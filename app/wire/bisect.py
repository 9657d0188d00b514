"""Payloads of a minimal set of rewrites that changes a model's numerical results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.wire import VERSION
from app.wire.shapes.bisect import BisectedRewrite, Bisection, ReducedModel
from app.wire.shapes.jobs import Result
from app.wire.texts import cut_text
from compiler.bisect.repro import Repro
from compiler.bisect.search import Answer
from compiler.trace import Decision

Places = dict[Decision, tuple[int, int]]
"""Maps each rewrite of a compilation to its stage and its step."""


def found(request: Mapping[str, Any], answer: Answer, places: Places, kept: Result) -> Bisection:
    """Return the findings of the search; the reduced model is added later."""
    return {
        "version": VERSION,
        "job": request["job"],
        "seed": request["seed"],
        "moved": request["moved"],
        "kind": answer.kind,
        "detail": answer.detail,
        "is_stable": answer.stable,
        "rewrites": [_rewrite(d, answer, places) for d in answer.decisions],
        "rules": list(answer.rules),
        "passes": list(answer.passes),
        "first": None if answer.last is None else _rewrite(answer.last, answer, places),
        "n_before_first": answer.n_before_last,
        "n_runs": answer.n_runs,
        "seconds": answer.seconds,
        "n_nodes": kept["model"]["n_nodes"],
        "reduced": None,
    }


def _rewrite(d: Decision, answer: Answer, places: Places) -> BisectedRewrite:
    stage, step = places.get(d, (-1, -1))
    return {
        "pass_name": d.pass_name,
        "rule": d.rule,
        "at": d.at,
        "stage": stage,
        "step": step,
        "is_wrong_alone": d.rule in answer.wrong_alone,
    }


def reduced(repro: Repro, text: str, *, opens: bool, n_bytes: int) -> ReducedModel:
    """Return the reduced model.

    `opens` states whether its text is complete; `n_bytes` is the size of its ONNX file.
    """
    shown, n_cut = cut_text(text.split("\n"))
    return {
        "n_nodes": len(repro.case.graph.nodes),
        "text": shown,
        "n_cut": n_cut,
        "opens": opens and not n_cut,
        "pipeline": str(repro.settings.pipeline),
        "onnx_bytes": n_bytes,
    }
