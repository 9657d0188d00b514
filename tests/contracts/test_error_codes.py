"""Tests that every error code in the source is in the table, is raised, and has a test."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from compiler.errors import CODES

REPOSITORY = Path(__file__).resolve().parents[2]
TABLE = REPOSITORY / "compiler" / "errors.py"
THIS = Path(__file__).resolve()

CODE = re.compile(r"E-[A-Z0-9]+-[A-Z0-9]+(?:-[A-Z0-9]+)*")


def sources(*tops: str) -> Iterator[Path]:
    for top in tops:
        yield from sorted((REPOSITORY / top).rglob("*.py"))


def codes_in(path: Path) -> set[str]:
    """Return the string constants of a module that are error codes, without docstrings."""
    text = path.read_text(encoding="utf-8")
    if not CODE.search(text):
        return set()
    tree = ast.parse(text)
    values = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {value for value in values if isinstance(value, str) and CODE.fullmatch(value)}


@cache
def named_by_the_source() -> dict[str, Path]:
    paths = [path for path in sources("compiler", "course", "app", "compilarium") if path != TABLE]
    return {code: path for path in paths for code in codes_in(path)}


def test_every_code_that_the_source_names_is_in_the_table() -> None:
    unknown = {
        c: str(p.relative_to(REPOSITORY))
        for c, p in named_by_the_source().items()
        if c not in CODES
    }
    assert not unknown


def test_every_code_of_the_table_is_used() -> None:
    unused = set(CODES) - set(named_by_the_source())
    assert not unused, f"in the table and never raised: {sorted(unused)}"


def test_every_code_of_the_table_has_a_test() -> None:
    mentioned: set[str] = set()
    for path in sources("tests"):
        if path != THIS:
            mentioned |= set(CODE.findall(path.read_text(encoding="utf-8")))
    untested = set(CODES) - mentioned
    assert not untested, f"no test mentions {sorted(untested)}"


def test_every_code_has_a_meaning_and_a_hint() -> None:
    for code, row in CODES.items():
        assert CODE.fullmatch(code)
        assert row.meaning.endswith("."), f"{code}: the meaning is a sentence"
        assert row.hint, f"{code}: the hint is an action"
        assert not row.hint.endswith("."), f"{code}: the hint is not a sentence"
