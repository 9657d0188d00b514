"""Substitutes for compiling, run by the children of the pool in its tests; `RUNNER` names one."""

from __future__ import annotations

import os
import time
from pathlib import Path

from compiler.conformance.cases import Case
from compiler.conformance.outcome import Outcome

RUNNER = f"{__name__}:misbehave"

DIES = "test_sequence_model2"
HANGS = "test_sequence_model5"

HANGING = "COMPILARIUM_HANGING"
"""The environment variable with the path of a file that reports a hanging child."""


def misbehave(case: Case) -> Outcome:
    """End the process on one case, hang on another, and print text that is not an answer."""
    print("not an answer", flush=True)
    if case.name == DIES:
        os._exit(7)
    if case.name == HANGS:
        Path(os.environ[HANGING]).touch()
        time.sleep(600)
    return Outcome(case.suite, case.name, case.operators, "native", why=str(os.getpid()))
