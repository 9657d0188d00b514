"""Quantities of numerics: the reference evaluates the graph on random inputs."""

from __future__ import annotations

import numpy as np

from compiler.check.errors import errors_of
from compiler.check.margins import evaluated, wide_results
from course.quantities.quantity import quantity
from course.quantities.subject import Subject


@quantity("error", needs="numbers")
def error(subject: Subject) -> float:
    """The largest error of a result of the reference on random inputs, relative to its scale.

    The yardstick is the graph before all passes, computed in f64.
    """
    wide = wide_results(subject.source or subject.graph, subject.feeds)[1]
    return max((e.relative for e in errors_of(subject.results, wide)), default=0.0)


@quantity("share", needs="numbers")
def changed(subject: Subject) -> float:
    """The share of elements of results whose bits differ from those before all passes."""
    before = evaluated(subject.source or subject.graph, subject.feeds)
    after = subject.results
    pairs = [(np.asarray(before[name]), np.asarray(after[name])) for name in before]
    different = sum(int(((a != b) & ~((a != a) & (b != b))).sum()) for a, b in pairs)
    return different / max(sum(a.size for a, _ in pairs), 1)
