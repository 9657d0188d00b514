"""How much memory this machine has."""

from __future__ import annotations

import os
from functools import cache


@cache
def machine_bytes() -> int:
    """Bytes of memory that this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
