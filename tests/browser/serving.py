"""The playground served as `make serve` serves it, with data of its own, on a free port."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
START_LIMIT_S = 60


@contextmanager
def served(folder: Path) -> Generator[str]:
    """The address of a server that lives as long as the block; its log and data go into `folder`.

    Errors: AssertionError when it does not come up, or when it had a bug while it was there.
    """
    port = _free_port()
    address = f"http://127.0.0.1:{port}"
    log_path = folder / "log.txt"
    command = [
        sys.executable,
        "-m",
        "compiler",
        "serve",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    with log_path.open("w") as log:
        process = subprocess.Popen(
            [*command, "--data-folder", str(folder / "data")],
            cwd=REPOSITORY,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait_until_served(address, process, log_path)
        yield address
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    said = log_path.read_text()
    assert "Traceback" not in said, said


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_until_served(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_LIMIT_S
    while time.monotonic() < end:
        assert process.poll() is None, f"the server ended: {log.read_text()}"
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)  # between two questions, until there is an answer
    raise AssertionError(f"nothing is served after {START_LIMIT_S} s: {log.read_text()}")
