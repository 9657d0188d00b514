"""The size of this machine's memory."""

from __future__ import annotations

import os
from functools import cache


@cache
def machine_bytes() -> int:
    """Return the size of this machine's memory, in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
