"""The measurements of a kernel, and the facts about its code and machine that causes examine."""

from __future__ import annotations

from compiler.dataclass import dataclass
from compiler.diagnosis.work import SLOW, Kind, Work
from compiler.figures.times import Times
from compiler.machine.machine import Machine
from compiler.machine.roofline import Prediction
from compiler.runtime.thunks.kernels import KernelInfo


@dataclass(frozen=True, slots=True)
class Facts:
    """A separately called kernel with its measured times.

    `prediction` is None for a kernel without a bound, and `work` for one without Loop IR. `machine`
    has the speeds of all `threads` together. `n_processors` is the number of the machine's cores,
    and `n_inside` the number of kernels in the kernel's regions.
    """

    kernel: KernelInfo
    times: Times
    prediction: Prediction | None
    work: Work | None
    machine: Machine
    threads: int
    n_processors: int
    precision: str
    n_inside: int = 0

    @property
    def call_s(self) -> float:
        """The part of the time that is a separate call. Units: seconds."""
        call = self.prediction.seconds - self.prediction.roof_seconds if self.prediction else 0.0
        return min(call, self.times["median_s"])

    @property
    def busy_s(self) -> float:
        """The time without the call. Units: seconds."""
        return self.times["median_s"] - self.call_s

    @property
    def computing_s(self) -> float:
        """An estimated lower bound of the time without the call. Units: seconds.

        The roofline counts a function as one operation, and an access with a stride as a part of a
        vector; work of these kinds may take longer.
        """
        roof_s = self.prediction.roof_seconds if self.prediction else 0.0
        return max(roof_s, self.work_s(*SLOW))

    def work_s(self, *kinds: Kind) -> float:
        """Return the estimated time of these kinds of work; all threads share it."""
        return self.work.seconds(*kinds) / self.threads if self.work is not None else 0.0

    @property
    def reached(self) -> float:
        """The roofline time divided by the time without the call; 0 for an unknown bound."""
        if self.prediction is None:
            return 0.0
        return self.prediction.roof_seconds / self.busy_s if self.busy_s > 0 else 1.0
