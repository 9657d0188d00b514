from __future__ import annotations

import os
import signal
import time

import numpy as np

from compiler.bisect.child import Died, in_child


def test_an_answer_comes_back() -> None:
    assert in_child(lambda: {"a": (1, 2.5)}, 10) == {"a": (1, 2.5)}


def test_a_crash_takes_only_the_child() -> None:
    assert in_child(lambda: os.kill(os.getpid(), signal.SIGSEGV), 10) == Died(
        "the child died of SIGSEGV"
    )


def test_what_never_ends_is_ended() -> None:
    assert in_child(lambda: time.sleep(60), 0.2) == Died("the child did not end within 0.2 seconds")


def test_memory_has_a_limit() -> None:
    found = in_child(lambda: np.ones(2**28).sum(), 20, megabytes=200)
    assert found == Died("the child ended with exit code 3")


def test_an_answer_larger_than_a_pipe_comes_back() -> None:
    assert in_child(lambda: b"x" * 1_000_000, 10) == b"x" * 1_000_000
