"""The table of figures in docs/figures.md, from their declarations."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.figures.figure import Figure, Unit
from compiler.figures.listing import figures

UNITS: dict[Unit, str] = {
    "count": "–",
    "flop": "flop",
    "share": "%",
    "ratio": "–",
    "error": "–",
    "names": "–",
}
"""The units of the table, if they differ from the names of the declarations."""


def figures_table() -> str:
    """Return a Markdown table of all figures, grouped by their modules."""
    return "\n".join(_rows()) + "\n"


def _rows() -> Iterator[str]:
    yield "| figure | definition | computation | unit | source | JSON fields |"
    yield "|---|---|---|---|---|---|"
    for f in figures().values():
        source = f"`{f.source}`: `{f.name}`"
        unit = UNITS.get(f.unit, f.unit)
        yield f"| {f.title} | {f.words} | {f.method} | {unit} | {source} | {_places(f)} |"


def _places(f: Figure) -> str:
    groups = (group.split(" = ") for group in f.places)
    return "; ".join(" = ".join(f"`{path}`" for path in group) for group in groups)
