"""Reports of tuning: for each kernel, and for the model before and after tuning."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import Any

from compiler.dataclass import dataclass
from compiler.tuning.judge import Verdict


@dataclass
class KernelReport:
    """The report on one computation: its launches, its candidates, and the outcome.

    `seconds` and `untuned_seconds` are times of one call, from interleaved calls. `kept` states
    whether the best schedule is used. `because` is the reason why the best schedule is not used, or
    why the search ended.
    """

    key: str
    name: str
    origins: tuple[str, ...]
    n_launches: int
    share: float
    untuned_seconds: float = 0.0
    seconds: float = 0.0
    schedule: str = ""
    outcomes: Counter[str] = field(default_factory=Counter)
    why_stopped: str = ""
    kept: bool = False
    because: str = ""

    @property
    def n_tried(self) -> int:
        """Return the total number of examined candidates."""
        return sum(self.outcomes.values())

    @property
    def speedup(self) -> float:
        """Return the speedup over the policy's schedule; 1 if the policy's schedule is retained."""
        return self.untuned_seconds / self.seconds if self.kept and self.seconds else 1.0

    def count(self, verdict: Verdict) -> None:
        """Increment the count of the candidate's outcome."""
        self.outcomes[verdict.outcome] += 1

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON data. Units: seconds of one call."""
        return {
            "kernel": self.name,
            "origins": list(self.origins),
            "n_launches": self.n_launches,
            "share": self.share,
            "untuned_s": self.untuned_seconds,
            "seconds": self.seconds,
            "speedup": self.speedup,
            "kept": self.kept,
            "because": self.because,
            "n_tried": self.n_tried,
            "outcomes": dict(self.outcomes),
            "why_stopped": self.why_stopped,
            "schedule": self.schedule,
        }


@dataclass
class TuningReport:
    """The report on tuning a model; `untuned_seconds`, `tuned_seconds` are times of one run."""

    kernels: list[KernelReport]
    search: str
    seed: int
    database: str
    untuned_seconds: float = 0.0
    tuned_seconds: float = 0.0
    seconds: float = 0.0
    interrupted: bool = False
    ratios: tuple[float, ...] = ()
    """For each run of the tuned model: its speedup over the preceding run of the untuned model."""

    @property
    def n_kept(self) -> int:
        """Return the number of computations for which a better schedule was found."""
        return sum(k.kept for k in self.kernels)

    @property
    def speedup(self) -> float:
        """Return the speedup of a run of the model; 1 if no new schedule is in use."""
        return self.untuned_seconds / self.tuned_seconds if self.tuned_seconds else 1.0

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON data. Units: seconds."""
        return {
            "search": self.search,
            "seed": self.seed,
            "database": self.database,
            "untuned_s": self.untuned_seconds,
            "tuned_s": self.tuned_seconds,
            "speedup": self.speedup,
            "seconds": self.seconds,
            "interrupted": self.interrupted,
            "kernels": [k.to_json() for k in self.kernels],
        }
