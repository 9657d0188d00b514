"""Tests of the machine's measuring slot: one process at a time, and a bounded wait."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from compiler.bench.machine_slot import machine_slot
from tests.platforms import needs_file_locks, needs_user_ids

HOLD = """
import sys
from compiler.bench.machine_slot import machine_slot
with machine_slot() as granted:
    print(granted, flush=True)
    sys.stdin.readline()
"""


@needs_file_locks
def test_another_process_waits_until_the_slot_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPILARIUM_CACHE", str(tmp_path))
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "True\n"
    with machine_slot(0.05) as granted:
        assert not granted
    holder.communicate("\n")
    with machine_slot(0.05) as granted:
        assert granted


def test_without_a_cache_folder_measurements_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPILARIUM_CACHE", "")
    with machine_slot() as granted:
        assert granted


@needs_user_ids
@pytest.mark.parametrize("attack", ["link", "fifo", "folder"])
def test_a_lock_that_another_user_placed_is_not_opened(
    attack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPILARIUM_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "cache" / "measured"
    folder.mkdir(parents=True)
    precious = tmp_path / "precious"
    precious.write_text("kept")
    if attack == "link":
        (folder / "measuring.lock").symlink_to(precious)
    elif attack == "fifo":
        os.mkfifo(folder / "measuring.lock")
    else:
        folder.chmod(0o777)
    with machine_slot(0.05) as granted:
        assert granted
    assert precious.read_text() == "kept"
    if attack == "folder":
        assert list(folder.iterdir()) == []
