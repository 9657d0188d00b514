"""The checks that a change needs at once: style, types, quick contracts, and its own tests.

    python -m tests.quick [--base REVISION] [--workers N]

A file counts as changed if it differs from the base, by default the last commit. `make test` runs
all other tests.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent

CONTRACTS = (
    *("error_codes", "exports", "import_arrows", "operator_traits"),
    *("order_methods", "repository", "schedule_document", "words"),
)
"""Contracts that read the text of the entire repository, or briefly check each declaration."""

TYPED = ("compiler", "app", "compilarium", "samples")


def changed(base: str) -> list[Path]:
    """Return the Python files that differ from a revision, with new and without removed files."""
    since = _lines("git", "diff", "--name-only", "--diff-filter=d", base)
    new = _lines("git", "ls-files", "--others", "--exclude-standard")
    return [Path(name) for name in sorted({*since, *new}) if name.endswith(".py")]


def mirror_of(path: Path) -> Path | None:
    """Return the tests of a file, if any: itself, or the file at its path below tests/."""
    if path.parts[0] == "tests":
        return path if path.name.startswith("test_") else None
    name = path.parent.name if path.name == "__init__.py" else path.stem
    folders = (path.parent, path.parent.parent, path.parent / path.stem)
    places = (Path("tests", folder, f"test_{name}.py") for folder in folders)
    return next((place for place in places if (REPOSITORY / place).is_file()), None)


def commands(files: Iterable[Path], workers: int) -> list[Sequence[str]]:
    """Return the commands to run, in order."""
    files = list(files)
    own = {str(found) for path in files if (found := mirror_of(path)) is not None}
    tests = sorted(own | {f"tests/contracts/test_{name}.py" for name in CONTRACTS})
    typed = [str(path) for path in files if path.parts[0] in TYPED]
    python, tool = sys.executable, Path(sys.executable).parent
    found: list[Sequence[str]] = [
        [f"{tool}/ruff", "check", "."],
        [f"{tool}/ruff", "format", "--check", "."],
    ]
    if typed:
        found.append([f"{tool}/pyright", "--pythonpath", python, *typed])
    chosen = ["-m", "not slow and not browser", "-n", str(workers), "--dist", "loadfile"]
    return [*found, [python, "-m", "pytest", "-q", *chosen, *tests]]


def _lines(*command: str) -> list[str]:
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", default="HEAD", help="the revision that changes are held against")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    for command in commands(changed(options.base), options.workers):
        code = subprocess.run(command, cwd=REPOSITORY, check=False).returncode
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
