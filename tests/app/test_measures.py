"""Tests of the message of a compilation whose program cannot be run."""

from __future__ import annotations

import pytest

from app.jobs.measures import why_not_run
from compiler.errors import CompileError


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("E-RUN-MEMORY", "needs 9 bytes"),  # for any inputs
        ("E-OP-SHAPE", "the model refused random inputs: needs 9 bytes"),
    ],
)
def test_random_inputs_are_blamed_only_for_what_others_would_mend(code, says):
    assert why_not_run(CompileError(code, "needs 9 bytes")) == says
