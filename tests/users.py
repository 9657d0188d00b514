"""The users as whom tests start programs: root, if the tests run as root, and an ordinary user."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from sandbox import staging
from sandbox.view import system_binds

REPOSITORY = Path(__file__).resolve().parents[1]
ORDINARY_UID = 61_100
"""A user id without an account; tests create none."""

USERS = ("root", "ordinary") if os.geteuid() == 0 else ("ordinary",)


def start_as(user: str) -> list[str]:
    """Return the start of a command that runs as a user; an ordinary user sees the clone."""
    if user == "root" or os.geteuid() != 0:
        return []
    shown = [bind.source for bind in system_binds()] + [str(REPOSITORY)]
    words = [*(f"show={path}" for path in shown), f"user={ORDINARY_UID}"]
    return [sys.executable, "-I", "-S", "-c", staging.CODE, str(REPOSITORY), *words, "--"]


def environment() -> dict[str, str]:
    """Return the environment of such a program, which imports the modules of the clone."""
    return {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONDONTWRITEBYTECODE": "1"}
