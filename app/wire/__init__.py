"""Payloads of the API: `shapes` declares the payload types, and other modules build payloads from
compiler objects.

`requests`, `asked` and `fields` parse the requests of clients. `contract` generates the types of
the page from the shapes; `docs/wire.md` explains the format.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

import compiler

VERSION: Final = 1


@cache
def form() -> str:
    """Return a digest of the format of stored results; results with another digest are not shown.

    New fields do not change VERSION, but a page that needs new fields cannot show older results.
    Therefore the digest covers the declarations of all payload types and the version of the
    compiler.
    """
    digest = hashlib.sha256(f"{VERSION} {compiler.__version__}".encode())
    for path in sorted((Path(__file__).parent / "shapes").glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
