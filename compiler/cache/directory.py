"""Folders in the user's cache folder, for reproducible data that processes share."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Literal, get_args

Kind = Literal["measured", "models", "objects", "programs", "searches"]
"""The kinds of cached files, each with a folder of its own."""

KINDS: tuple[Kind, ...] = get_args(Kind)


def kept_directory(kind: Kind) -> Path | None:
    """Return the cache folder for one kind of data; None if caching is disabled.

    `COMPILARIUM_CACHE` replaces the system's cache folder; an empty value disables caching.
    """
    named = os.environ.get("COMPILARIUM_CACHE")
    if named is None:
        return _user_cache() / "compilarium" / kind
    return Path(named) / kind if named else None


def _user_cache() -> Path:
    """Return the cache folder that the operating system provides for the user."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
