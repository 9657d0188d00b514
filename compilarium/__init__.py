"""The command line: one file per command, loaded by name when the command is called."""

from __future__ import annotations

from compilarium.group import main

__all__ = ["main"]
