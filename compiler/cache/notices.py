"""Warnings about the cache, each written once per process."""

from __future__ import annotations

from pathlib import Path

from compiler.cache.trust import Refusal

_said: set[str] = set()


def say_once(words: str) -> None:
    """Log a warning, unless this process has logged it already."""
    if words not in _said:
        _said.add(words)
        import logging  # imported only here, since most processes have nothing to say

        logging.getLogger("compilarium.cache").warning("%s", words)


def say_refused(directory: Path, refused: Refusal) -> None:
    """Log that the files of a folder are not used."""
    say_once(f"nothing is cached in {directory}: {refused}; remedy: {refused.remedy}")
