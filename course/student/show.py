"""Values that a `python` block reports: `show("kept", 3)` feeds `{{block.kept}}`."""

from __future__ import annotations

import math

from compiler.errors import CompileError
from compiler.figures.figure import TEXTS, Unit
from course.format.kind import NAME
from course.quantities.amount import Amount

_shown: dict[str, Amount] = {}


def show(name: str, value: float, unit: Unit = "count") -> None:
    """Report a number under a name, for references of the prose.

    Errors: E-ANSWER-FORM for a name that is no word, a value that is no number, or an unknown unit.
    """
    number = isinstance(value, int | float) and math.isfinite(value)
    if not (NAME.match(str(name)) and number and unit in TEXTS):
        message = f"show({name!r:.40}, {value!r:.40}, {unit!r:.20}) needs a word, a number, a unit"
        raise CompileError("E-ANSWER-FORM", message, hint=f"units: {', '.join(TEXTS)}")
    _shown[name] = Amount(float(value), unit)


def collected() -> dict[str, Amount]:
    """Return the reported values, and clear them."""
    found = dict(_shown)
    _shown.clear()
    return found
