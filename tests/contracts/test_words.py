"""Tests that docs/words.md has an entry for every pass, with its declared description."""

from __future__ import annotations

import re
from pathlib import Path

from compiler.passes import PASSES, RULES
from compiler.passes.glossary import table

PAGE = Path(__file__).resolve().parents[2] / "docs" / "words.md"


def test_the_table_of_passes_is_that_of_the_declarations() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert table() in text, "run `make tables` to update it"


def test_a_title_is_one_short_sentence() -> None:
    """The page shows it next to the name of the pass."""
    for declared in PASSES.values():
        assert declared.title.endswith("."), declared.name
        assert len(declared.title.split()) <= 17, declared.title


def test_the_readme_counts_rules_and_passes(repository: Path) -> None:
    text = (repository / "README.md").read_text(encoding="utf-8")
    found = re.search(r"Some (\d+) rules and (\d+) passes", text)
    assert found
    assert abs(int(found[1]) - len(RULES)) <= 10
    assert int(found[2]) == len(PASSES), "run `make tables` to update it"


def test_a_former_name_is_not_written_any_more(repository: Path) -> None:
    """Declarations and tests of aliases may contain former names."""
    written = [*(repository / "docs").glob("*.md"), repository / "README.md"]
    former = {a for p in PASSES.values() for a in p.aliases if "_" in a}
    for path in written:
        text = path.read_text(encoding="utf-8").replace(table(), "")
        assert not [name for name in former if f"`{name}`" in text or f"{name}," in text], path.name
