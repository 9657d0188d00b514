"""All seeded faults."""

from __future__ import annotations

from tests.faults.arithmetic import ARITHMETIC
from tests.faults.pairs import PAIRS
from tests.faults.passes import PASSES_FAULTS
from tests.faults.places import PLACES

FAULTS = [*ARITHMETIC, *PLACES, *PASSES_FAULTS, *PAIRS]
"""Faults of single rules and passes, and of pairs of rules."""
