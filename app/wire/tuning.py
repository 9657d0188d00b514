"""Payloads of a search for faster schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from app.wire import VERSION
from app.wire.shapes.tuning import TunedKernel, TunedModel, TuneTrial, Tuning
from compiler.machine.name import machine_name
from compiler.runtime.profile import median_interval
from compiler.tuning.explore import Trial
from compiler.tuning.report import KernelReport
from compiler.tuning.task import Task


def empty(request: Mapping[str, Any]) -> Tuning:
    """Return the payload of a search before its first candidate."""
    return {
        "version": VERSION,
        "job": request["job"],
        "kernel": request["kernel"],
        "search": request["search"],
        "budget_seconds": request["budget_seconds"],
        "searching_seconds": 0.0,
        "machine": machine_name(),
        "kernels": [],
        "trials": [],
        "model": None,
    }


def kernel_row(task: Task, numbers: Mapping[str, int]) -> TunedKernel:
    """Return the row of a computation before its search."""
    return {
        "name": task.kernels[0].name,
        "kernels": [numbers[k.name] for k in task.kernels if k.name in numbers],
        "share": task.share,
        "policy": task.schedule,
        "schedule": "",
        "untuned_s": None,
        "tuned_s": None,
        "kept": False,
        "because": "",
        "why_stopped": "",
    }


def trial_row(trial: Trial, place: int) -> TuneTrial:
    """Return a candidate: its time relative to the policy's time, or the reason for rejection."""
    ratio = trial.verdict.ratio
    return {
        "kernel": place,
        "number": trial.number,
        "outcome": trial.verdict.outcome,
        "words": trial.verdict.words,
        "ratio": ratio if isfinite(ratio) else None,
        "expected": trial.expected,
        "best": trial.best,
        "schedule": trial.schedule,
    }


def judged(row: TunedKernel, report: KernelReport) -> TunedKernel:
    """Return a computation's row after the best candidates were timed again, alone and in runs."""
    return {
        **row,
        "schedule": report.schedule or row["schedule"],
        "untuned_s": report.untuned_seconds or None,
        "tuned_s": report.seconds or None,
        "kept": report.kept,
        "because": report.because,
        "why_stopped": report.why_stopped,
    }


def model_row(untuned: float, tuned: float, ratios: Sequence[float]) -> TunedModel:
    """Return the interleaved times of untuned and tuned runs: minima, and the median ratio."""
    middle = sorted(ratios)[len(ratios) // 2] if ratios else None
    low, high = median_interval(ratios) if ratios else (None, None)
    return {
        "untuned_s": untuned,
        "tuned_s": tuned,
        "ratio": middle,
        "low": low,
        "high": high,
        "rounds": len(ratios),
    }
