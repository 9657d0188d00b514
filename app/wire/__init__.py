"""Payloads: `shapes` declares them, the modules beside it make them from our values.

`requests`, `asked` and `fields` read what clients send. `contract` writes what else knows the
shapes: the types of the page, and the tables of `docs/wire.md`.
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
    """What kept results have the shape of: another text means that other fields may be there.

    A field may be added without another VERSION; a page that needs it cannot show what was kept
    before. So the shapes as they are declared count, and the version of the compiler.
    """
    digest = hashlib.sha256(f"{VERSION} {compiler.__version__}".encode())
    for path in sorted((Path(__file__).parent / "shapes").glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
