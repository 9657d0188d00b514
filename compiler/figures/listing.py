"""All figures, in the order of their declaration."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.figures import costs, errors, execution, memory, models, passes, times
from compiler.figures.figure import FIGURES, Figure

MODULES = (models, costs, passes, execution, memory, times, errors)
"""The modules that declare figures; importing them declares all figures."""


def figures() -> Mapping[str, Figure]:
    """Return all figures by name, grouped by module."""
    homes = [f"{m.__name__.replace('.', '/')}.py" for m in MODULES]
    ordered = sorted(FIGURES.values(), key=lambda f: homes.index(f.source))
    return {f.name: f for f in ordered}
