"""Shifts the clock of a process by the seconds in a file; Python imports this module at its start.

The harness names the file in the environment, and the program whose clock is shifted.
"""

from __future__ import annotations

import os
import sys
import time

_FILE, _PROGRAM = "COMPILARIUM_FAULTS_CLOCK", "COMPILARIUM_FAULTS_CLOCK_OF"


def _shift(file: str) -> None:
    real = time.time

    def shifted() -> float:
        try:
            with open(file) as shift:
                return real() + float(shift.read())
        except (OSError, ValueError):
            return real()

    time.time = shifted


if _FILE in os.environ and os.environ[_PROGRAM] in sys.orig_argv:
    _shift(os.environ[_FILE])
