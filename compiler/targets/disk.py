"""Where things are kept between processes that can be made again: a folder of the user's cache."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def kept_directory(kind: str) -> Path | None:
    """The folder for things of a kind; None where nothing is to be kept.

    `COMPILARIUM_CACHE` names another place than the system's, or none if it is empty.
    """
    named = os.environ.get("COMPILARIUM_CACHE")
    if named is None:
        return _user_cache() / "compilarium" / kind
    return Path(named) / kind if named else None


def _user_cache() -> Path:
    """Where this system keeps what programs may lose."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
