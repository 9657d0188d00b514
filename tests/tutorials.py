"""The instructions in the pages docs/adding-*.md: new files, changes, commands.

A block of code belongs to the file named in the line before the block: `` `path`: `` for a new
file, `` In `path`: `` for a change. A change is a block of `diff` whose hunks have no line numbers.
Blocks of `sh` are commands.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
PAGES = sorted((REPOSITORY / "docs").glob("adding-*.md"))

COPIED = {
    *("app", "compilarium", "compiler", "docs", "lessons", "setup", "static", "templates", "tests")
}
"""Folders that a page may change; a scratch copy has links to all other folders."""

LEFT_OUT = {".git", ".venv", "var", "build", ".pytest_cache", ".ruff_cache", ".hypothesis"}

LIMIT_S = 380
"""Timeout of a command on a busy machine; it only ends a command that hangs."""

_BLOCK = re.compile(r"(?ms)^(?:(?P<line>[^\n]*)\n\n?)?```(?P<language>\w+)\n(?P<text>.*?)^```$")
_PATH = re.compile(r"(?P<change>In )?`(?P<path>[\w./-]+)`:$")


@dataclass(frozen=True)
class Block:
    """A block of code, and the file that it creates or changes; commands have none."""

    language: str
    path: str
    text: str


@dataclass(frozen=True)
class Tutorial:
    """One page with its blocks."""

    page: Path

    @cached_property
    def blocks(self) -> list[Block]:
        """All blocks with a language, in order. Errors: AssertionError for one without a file."""
        return list(self._blocks())

    def _blocks(self) -> Iterator[Block]:
        for found in _BLOCK.finditer(self.page.read_text(encoding="utf-8")):
            language, text = found["language"], found["text"]
            place = _PATH.search(found["line"] or "")
            if language == "sh":
                yield Block(language, "", text)
                continue
            assert place, f"{self.page.name}: no file is named before the block\n{text[:200]}"
            is_change = bool(place["change"])
            assert is_change == (language == "diff"), f"{self.page.name}: {found['line']}"
            yield Block(language, place["path"], text)

    @property
    def files(self) -> list[str]:
        """Return the new files of the page."""
        return [b.path for b in self.blocks if b.language not in ("diff", "sh")]

    @property
    def changes(self) -> list[str]:
        """Return the files that the page changes."""
        return [b.path for b in self.blocks if b.language == "diff"]

    @property
    def commands(self) -> list[list[str]]:
        """Return the commands of the page, in order."""
        lines = [line for b in self.blocks if b.language == "sh" for line in b.text.splitlines()]
        return [shlex.split(line, comments=True) for line in lines if line]

    def follow(self, root: Path) -> None:
        """Create and change the page's files. Errors: AssertionError if a change does not fit."""
        for block in self.blocks:
            path = root / block.path
            if block.language == "diff":
                text = path.read_text(encoding="utf-8")
                path.write_text(changed(text, block.text, block.path), encoding="utf-8")
            elif block.language != "sh":
                assert not path.exists(), f"{self.page.name}: {block.path} exists already"
                path.write_text(block.text, encoding="utf-8")


def changed(text: str, diff: str, name: str) -> str:
    """Return the text after all hunks of a diff; each must fit at exactly one position."""
    for hunk in re.split(r"(?m)^@@.*\n", diff):
        lines = [line or " " for line in hunk.splitlines()]
        old, new = (
            "".join(f"{line[1:]}\n" for line in lines if line[0] in kept) for kept in (" -", " +")
        )
        assert text.count(old) == 1, f"{name} has {text.count(old)} positions like\n{old}"
        text = text.replace(old, new)
    return text


def scratch_copy(root: Path) -> Path:
    """Create a copy of the repository, with links to all files that no page changes."""
    for path in REPOSITORY.iterdir():
        if path.name in LEFT_OUT:
            continue
        if path.is_file():
            shutil.copy2(path, root)
        elif path.name in COPIED:
            # Copy compiled modules too: their dates are preserved, so they are valid in the copy.
            shutil.copytree(path, root / path.name, ignore=_not_copied)
        else:
            (root / path.name).symlink_to(path)
    (root / "docs" / "images").symlink_to(REPOSITORY / "docs" / "images")
    (root / ".venv").symlink_to(sys.prefix)
    return root


def _not_copied(folder: str, _: list[str]) -> set[str]:
    """Return images of documents, which are linked, and the bundle, which is built again."""
    inside = {REPOSITORY / "docs": {"images"}, REPOSITORY / "static": {"dist"}}
    return inside.get(Path(folder), set())


def run(root: Path, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a command in a scratch copy, with the code of the copy."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "COMPILARIUM_"))}
    return subprocess.run(
        command,
        cwd=root,
        env={**kept, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT_S,
    )
