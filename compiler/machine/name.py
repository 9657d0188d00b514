"""The name of this machine, which is stored with every measured time."""

from __future__ import annotations

import platform


def give(name: str) -> None:
    """Use this name in this process, whose sandbox hides the name of the machine."""
    global _given
    _given = name


_given = ""


def machine_name() -> str:
    """Return the name of this machine."""
    return _given or platform.node()[:80] or "unnamed"
