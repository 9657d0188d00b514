"""The result of one check of `doctor`."""

from __future__ import annotations

from typing import Literal

from compiler.dataclass import dataclass

State = Literal["ok", "missing", "broken"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check; the compiler requires that all `needed` checks are ok."""

    topic: str
    state: State
    words: str
    fix: str = ""
    needed: bool = False
