"""Tests that indices far out of range never access memory outside a program's buffers."""

from __future__ import annotations

import subprocess
import sys

import pytest


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize("place", ["at_end(a)[3:]", "at_start(a)[:1]"])
@pytest.mark.parametrize("beyond", [0, 1])
def test_a_guard_page_ends_the_process(place: str, beyond: int) -> None:
    """An access one element after the end, or before the beginning, ends the process."""
    step = beyond if "end" in place else -beyond
    code = (
        "import ctypes, numpy as np; from tests.guard_pages import at_end, at_start\n"
        f"a = np.ones(4); b = {place}\n"
        f"ctypes.c_double.from_address(b.ctypes.data + {8 * step}).value"
    )
    assert (run("-c", code).returncode != 0) == bool(beyond)


@pytest.mark.parametrize("sizes", ["known", pytest.param("open", marks=pytest.mark.slow)])
def test_positions_outside_stay_inside_of_all_buffers(sizes: str) -> None:
    done = run("-m", "tests.guarded_programs", sizes)
    assert done.returncode == 0, (done.stdout.splitlines()[-1:], done.stderr[-2000:])
    assert done.stdout.endswith("done\n")
