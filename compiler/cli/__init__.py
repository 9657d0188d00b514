"""The command line: one file per command, found by name when it is called."""

from __future__ import annotations

from compiler.cli.group import main

__all__ = ["main"]
