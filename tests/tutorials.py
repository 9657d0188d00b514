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

COPIED = {"app", "compilarium", "compiler", "docs", "setup", "static", "templates", "tests"}
"""Folders that a reader may change; in a scratch copy the others are links."""

LEFT_OUT = {".git", ".venv", "var", "build", ".pytest_cache", ".ruff_cache", ".hypothesis"}

LIMIT_S = 380
"""For a command on a busy machine; nothing is timed, this only ends one that hangs."""

_BLOCK = re.compile(r"(?ms)^(?:(?P<line>[^\n]*)\n\n?)?```(?P<language>\w+)\n(?P<text>.*?)^```$")
_PATH = re.compile(r"(?P<change>In )?`(?P<path>[\w./-]+)`:$")


@dataclass(frozen=True)
class Block:
    """A block of code, and the file that it is in or changes; commands belong to none."""

    language: str
    path: str
    text: str


@dataclass(frozen=True)
class Tutorial:
    """One page, and what its blocks say."""

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
        """The files that the page makes."""
        return [b.path for b in self.blocks if b.language not in ("diff", "sh")]

    @property
    def changes(self) -> list[str]:
        """The files that the page changes."""
        return [b.path for b in self.blocks if b.language == "diff"]

    @property
    def commands(self) -> list[list[str]]:
        """The commands of the page, in order."""
        lines = [line for b in self.blocks if b.language == "sh" for line in b.text.splitlines()]
        return [shlex.split(line, comments=True) for line in lines if line]

    def follow(self, root: Path) -> None:
        """Make the files of the page and its changes. Errors: AssertionError where one cannot."""
        for block in self.blocks:
            path = root / block.path
            if block.language == "diff":
                text = path.read_text(encoding="utf-8")
                path.write_text(changed(text, block.text, block.path), encoding="utf-8")
            elif block.language != "sh":
                assert not path.exists(), f"{self.page.name}: there is a {block.path} already"
                path.write_text(block.text, encoding="utf-8")


def changed(text: str, diff: str, name: str) -> str:
    """The text with every hunk of a diff applied; each must fit at exactly one place."""
    for hunk in re.split(r"(?m)^@@.*\n", diff):
        lines = [line or " " for line in hunk.splitlines()]
        old, new = (
            "".join(f"{line[1:]}\n" for line in lines if line[0] in kept) for kept in (" -", " +")
        )
        assert text.count(old) == 1, f"{name} has {text.count(old)} places like\n{old}"
        text = text.replace(old, new)
    return text


def scratch_copy(root: Path) -> Path:
    """A copy of the repository to try things in, with links to what no page changes."""
    for path in REPOSITORY.iterdir():
        if path.name in LEFT_OUT:
            continue
        if path.is_file():
            shutil.copy2(path, root)
        elif path.name in COPIED:
            # With the compiled modules: dates stay, so they are valid in the copy too.
            shutil.copytree(path, root / path.name, ignore=_not_copied)
        else:
            (root / path.name).symlink_to(path)
    (root / "docs" / "images").symlink_to(REPOSITORY / "docs" / "images")
    (root / ".venv").symlink_to(sys.prefix)
    return root


def _not_copied(folder: str, _: list[str]) -> set[str]:
    """Pictures of documents, which are linked, and the bundle of the page, which is made anew."""
    inside = {REPOSITORY / "docs": {"images"}, REPOSITORY / "static": {"dist"}}
    return inside.get(Path(folder), set())


def run(root: Path, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a command in a scratch copy, with the code that is there."""
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
