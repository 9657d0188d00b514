"""What tuning did: kernel by kernel, and the whole model before and after."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from typing import Any

from compiler.dataclass import dataclass
from compiler.tuning.judge import Verdict


@dataclass
class KernelReport:
    """One computation: how often it runs, what was tried, and what came of it.

    `seconds` and `untuned_seconds` are of one call, timed interleaved; `kept` is whether its best
    schedule is used, and `because` why not, or why the search stopped.
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
        """Candidates that were looked at."""
        return sum(self.outcomes.values())

    @property
    def speedup(self) -> float:
        """How many times faster the kernel is than the policy's; 1 where that one is kept."""
        return self.untuned_seconds / self.seconds if self.kept and self.seconds else 1.0

    def count(self, verdict: Verdict) -> None:
        """One more candidate."""
        self.outcomes[verdict.outcome] += 1

    def to_json(self) -> dict[str, Any]:
        """All of it. Units: seconds of one call."""
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
    """A tuning run. `untuned_seconds` and `tuned_seconds` are of whole runs, timed interleaved."""

    kernels: list[KernelReport]
    search: str
    seed: int
    database: str
    untuned_seconds: float = 0.0
    tuned_seconds: float = 0.0
    seconds: float = 0.0
    interrupted: bool = False
    ratios: tuple[float, ...] = ()
    """How many times faster each run of the tuned model was than the untuned one before it."""

    @property
    def n_kept(self) -> int:
        """Computations that have a better schedule now."""
        return sum(k.kept for k in self.kernels)

    @property
    def speedup(self) -> float:
        """How many times faster a whole run is; 1 where nothing is kept."""
        return self.untuned_seconds / self.tuned_seconds if self.tuned_seconds else 1.0

    def to_json(self) -> dict[str, Any]:
        """All of it. Units: seconds."""
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
