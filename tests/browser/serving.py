"""A playground server like that of `make serve`, with its own data and a free port."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
START_LIMIT_S = 60


@contextmanager
def served(folder: Path, repository: Path = REPOSITORY) -> Generator[str]:
    """Yield the URL of a server that runs as long as the block; its log and data go to `folder`.

    `repository` has the code and the page: this repository, or a copy.

    Errors: AssertionError if the server does not start, or if its log reports a bug.
    """
    log_path = folder / "log.txt"
    # With port 0 the system chooses a free port; the first printed line has its number.
    command = [sys.executable, "-m", "compiler", "serve", "--host", "127.0.0.1", "--port", "0"]
    with log_path.open("w") as log:
        process = subprocess.Popen(
            [*command, "--data-folder", str(folder / "data")],
            cwd=repository,
            env={
                **os.environ,
                "PYTHONPATH": str(repository),
                "COMPILARIUM_LOG_FORMAT": "text",  # with tracebacks
            },
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        yield _address(process, log_path)
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    said = log_path.read_text()
    assert "Traceback" not in said, said


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    end = time.monotonic() + START_LIMIT_S
    while time.monotonic() < end:
        assert process.poll() is None, f"the server ended: {log.read_text()}"
        found = re.search(r"http://127\.0\.0\.1:\d+", log.read_text())
        if found:
            return found[0]
        time.sleep(0.05)  # pause between reads of the log, until the server has printed its port
    raise AssertionError(f"the server does not answer after {START_LIMIT_S} s: {log.read_text()}")
