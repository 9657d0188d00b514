"""Values with their units, and the intervals of measured ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from compiler.dataclass import dataclass
from compiler.figures.figure import TEXTS, Unit


@dataclass(frozen=True, slots=True)
class Amount:
    """A value with its unit; a measured value has an interval."""

    value: float
    unit: Unit = "count"
    low: float | None = None
    high: float | None = None

    @property
    def is_measured(self) -> bool:
        """Whether the value varies from run to run."""
        return self.low is not None

    def text(self, filter: str = "") -> str:
        """Return the value with its unit, and with its interval if it has one."""
        write = FILTERS[filter] if filter else TEXTS[self.unit]
        if self.low is None or self.high is None:
            return write(self.value)
        return f"{write(self.value)} ({write(self.low)} to {write(self.high)})"

    def to_json(self) -> dict[str, Any]:
        """Return the amount as data, with its text."""
        found = {"value": self.value, "unit": self.unit, "text": self.text()}
        return found if self.low is None else {**found, "low": self.low, "high": self.high}


FILTERS: Mapping[str, Callable[[Any], str]] = {
    "bytes": TEXTS["B"],
    "seconds": TEXTS["s"],
    "flops": TEXTS["flop"],
    "rate": TEXTS["flop/s"],
    "count": TEXTS["count"],
    "percent": TEXTS["share"],
    "ratio": TEXTS["ratio"],
    "error": TEXTS["error"],
}
"""The filters of references, by name."""


def median_of(rounds: Sequence[float]) -> Amount:
    """Return the median of times in seconds, with its 95 % confidence interval."""
    from compiler.runtime.profile import median_interval

    return Amount(median(rounds), "s", *median_interval(rounds))


def ratio_of(over: Amount, under: Amount) -> Amount:
    """Return a quotient; its interval, if any, contains all quotients of values in the
    intervals."""
    value = over.value / under.value if under.value else float("inf")
    if over.low is None and under.low is None:
        return Amount(value, "ratio")
    low = (over.low if over.low is not None else over.value) / (
        under.high if under.high is not None else under.value
    )
    high = (over.high if over.high is not None else over.value) / (
        under.low if under.low is not None else under.value
    )
    return Amount(value, "ratio", low, high)
