"""Regenerate the tables and counts in documents that declarations determine: `make tables`.

python -m setup.tables
"""

from __future__ import annotations

import re
from pathlib import Path

from compiler.passes import PASSES, RULES
from compiler.passes.glossary import table
from compiler.passes.pipeline.presets.page import page
from compiler.schedule.language import replay
from compiler.schedule.language.move import moves_table

assert replay.__doc__, "importing replay declares all moves"

ROOT = Path(__file__).resolve().parents[1]

_COUNTS = r"Some \d+ rules and \d+ passes"


def written() -> dict[Path, str]:
    """Return the text of each document with regenerated tables and counts."""
    words, schedules, readme = (
        (path, path.read_text(encoding="utf-8"))
        for path in (ROOT / "docs/words.md", ROOT / "docs/schedules.md", ROOT / "README.md")
    )
    counts = f"Some {round(len(RULES), -1)} rules and {len(PASSES)} passes"
    return {
        words[0]: _with_table(words[1], table()),
        schedules[0]: _with_table(schedules[1], moves_table()),
        readme[0]: re.sub(_COUNTS, counts, readme[1]),
        ROOT / "docs/pipelines.md": page(),
    }


def _with_table(text: str, made: str) -> str:
    """Return the text with the table of the same header row replaced."""
    head = made.split("\n", 1)[0] + "\n"
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
