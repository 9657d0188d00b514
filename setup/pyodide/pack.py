"""Packs Python code as bytecode for the page. Runs in Pyodide itself, whose bytecode it is.

The page imports bytecode several times as fast as source text. All entries have the same date, so
equal sources give equal archives.
"""

from __future__ import annotations

import marshal
import re
import zipfile
from collections.abc import Iterator
from importlib.util import MAGIC_NUMBER, source_hash
from pathlib import Path

_USED_OF_NUMPY = re.compile(
    r"(?!numpy/(?:f2py|_pyinstaller|.*/tests)/).*(?:\.py|\.so|LICENSE\.txt)$"
)
"""Code and licence, without headers, stubs and tests."""
_DATE = (1980, 1, 1, 0, 0, 0)
_UNCHECKED_HASH = 1

_ROOMS = ("compiler", "course", "app")
_NOT_IN_THE_PAGE = re.compile(
    r"compiler/(?:bench|conformance|diagnosis|export)/|course/(?:checking|template)/"
    r"|compiler/tuning/(?!(?:__init__|search|space)\.py)"
    r"|app/(?!__init__\.py|textdiff\.py|grouping/|wire/)"
)
"""Parts that need a server, files or other packages. Of the application, the page has payloads."""


def pack_library(archive: str, target: str, previous: str) -> None:
    """Pack the standard library of an archive as bytecode."""
    with zipfile.ZipFile(archive) as source:
        _write(((i.filename, source.read(i)) for i in source.infolist()), target, previous)


def pack_packages(wheel: str, repository: str, target: str, previous: str) -> None:
    """Pack numpy from its wheel, and the compiler and the course from the repository."""

    def entries() -> Iterator[tuple[str, bytes]]:
        with zipfile.ZipFile(wheel) as source:
            for i in source.infolist():
                if _USED_OF_NUMPY.match(i.filename):
                    yield i.filename, source.read(i)
        root = Path(repository)
        yield from ((name, path.read_bytes()) for name, path in files_of_the_page(root))
        substitute = root / "setup" / "pyodide" / "ml_dtypes.py"
        yield substitute.name, substitute.read_bytes()

    _write(entries(), target, previous)


def files_of_the_page(root: Path) -> Iterator[tuple[str, Path]]:
    """Yield the name and the path of each file of the repository that the page contains."""
    for room in _ROOMS:
        for path in sorted((root / room).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix in (".py", ".toml") and not _NOT_IN_THE_PAGE.match(name):
                yield name, path


def _write(entries: Iterator[tuple[str, bytes]], target: str, previous: str) -> None:
    """Write an archive; Python files become bytecode.

    The archive lists all folders, which packages without `__init__.py` require. Bytecode of equal
    sources comes from the previous archive, "" for none.
    """
    known: dict[str, bytes] = {}
    if previous:
        with zipfile.ZipFile(previous) as old:
            known = {n: old.read(n) for n in old.namelist() if n.endswith(".pyc")}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        folders: set[str] = set()
        for name, content in entries:
            for folder in reversed(Path(name).parents):
                if folder.name and (shown := f"{folder.as_posix()}/") not in folders:
                    folders.add(shown)
                    archive.writestr(zipfile.ZipInfo(shown, _DATE), b"")
            if name.endswith("/"):
                continue
            if name.endswith(".py"):
                name, content = f"{name}c", _bytecode(name, content, known.get(f"{name}c", b""))
            archive.writestr(zipfile.ZipInfo(name, _DATE), content, zipfile.ZIP_DEFLATED, 9)


def _bytecode(name: str, source: bytes, known: bytes) -> bytes:
    """Return a file of bytecode with the hash of its source (PEP 552), the known one if equal."""
    digest = source_hash(source)
    if known[:4] == MAGIC_NUMBER and known[8:16] == digest:
        return known
    code = compile(source, name, "exec", dont_inherit=True)
    header = MAGIC_NUMBER + _UNCHECKED_HASH.to_bytes(4, "little") + digest
    return header + marshal.dumps(code)
