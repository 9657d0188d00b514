"""Regenerate the tables, counts and samples that declarations determine: `make tables`.

python -m setup.tables
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from app.glossary import SECTIONS
from compiler.passes import PASSES, RULES
from compiler.passes.glossary import families_table, passes_table
from compiler.passes.pipeline.presets.page import page
from compiler.schedule.language import replay
from compiler.schedule.language.move import moves_table
from setup.command_line import commands_table, options_table
from setup.course import lessons_table
from setup.diagnosis import causes_table
from setup.figures import figures_table
from setup.glossary import levels_table, panes_table, terms_table
from setup.jobs import kinds_table, places_table
from setup.settings import sample

assert replay.__doc__, "importing replay declares all moves"

ROOT = Path(__file__).resolve().parents[1]

TABLES: Mapping[str, tuple[Callable[[], str], ...]] = {
    "docs/words.md": (
        *(partial(terms_table, section) for section in SECTIONS),
        passes_table,
        families_table,
        levels_table,
        panes_table,
    ),
    "docs/command-line.md": (commands_table, options_table),
    "docs/schedules.md": (moves_table,),
    "docs/figures.md": (figures_table,),
    "docs/diagnosis.md": (causes_table,),
    "docs/jobs.md": (kinds_table, places_table),
    "docs/course.md": (lessons_table,),
}
"""The generators of the tables of each document."""

_COUNTS = r"Some \d+ rules and \d+ passes"


def written() -> dict[Path, str]:
    """Return the text of each document with regenerated tables and counts."""
    found = {ROOT / name: _with_tables(ROOT / name, makers) for name, makers in TABLES.items()}
    readme = ROOT / "README.md"
    counts = f"Some {round(len(RULES), -1)} rules and {len(PASSES)} passes"
    found[readme] = re.sub(_COUNTS, counts, readme.read_text(encoding="utf-8"))
    pages = {ROOT / "docs/pipelines.md": page(), ROOT / "deploy/compilarium.toml": sample()}
    return {**found, **pages}


def _with_tables(path: Path, makers: tuple[Callable[[], str], ...]) -> str:
    """Return the text of a document with regenerated tables."""
    text = path.read_text(encoding="utf-8")
    for made in makers:
        text = _with_table(text, made())
    return text


def _with_table(text: str, made: str) -> str:
    """Return the text with a table replaced: the table after the same heading and header row."""
    head = made.partition("|---")[0]
    before, found, rest = text.partition(head)
    assert found, f"no table has the header row {head}"
    lines = rest.splitlines(keepends=True)
    end = next((i for i, line in enumerate(lines) if not line.startswith("|")), len(lines))
    return before + made + "".join(lines[end:])


def main() -> None:
    """Write each document whose text changes, and print its name."""
    for path, text in written().items():
        if path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
