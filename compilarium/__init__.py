"""The command line: one module per command, imported by name when the command is called."""

from __future__ import annotations

from compilarium.group import main

__all__ = ["main"]
