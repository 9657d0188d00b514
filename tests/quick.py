"""The checks that a change needs at once: style, types, quick contracts, and its own tests.

A change of the page also needs the type check and the tests of its scripts.

    python -m tests.quick [--base REVISION] [--workers N]

A file counts as changed if it differs from the base, by default the last commit. `make test` runs
all other tests.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent

CONTRACTS = (
    *("error_codes", "exports", "import_arrows", "operator_traits", "order_methods"),
    *("presets", "repository", "schedule_document", "words"),
)
"""Contracts that read the text of the entire repository, or briefly check each declaration."""

TESTS_OF_FOLDERS: Mapping[str, Sequence[str]] = {
    "app": (
        "tests/app/test_contract.py",
        "tests/app/test_golden.py",
        "tests/app/test_wire.py",
    ),
    "compiler/passes/rules": ("tests/compiler/passes/test_rule_properties.py",),
}
"""Tests that a change anywhere in a folder needs."""

PAGE = ("static", "templates", "tests/golden", "tests/static")
"""Folders that the type check and the tests of the page's scripts read."""

_WOULD = "Would reformat: "

TYPED = ("compiler", "course", "app", "compilarium", "sandbox", "samples")


def changed(base: str) -> list[Path]:
    """Return the files that differ from a revision, with new and without removed files."""
    since = _lines("git", "diff", "--name-only", "--diff-filter=d", base)
    new = _lines("git", "ls-files", "--others", "--exclude-standard")
    return [Path(name) for name in sorted({*since, *new})]


def mirror_of(path: Path) -> Path | None:
    """Return the tests of a Python file, if any: itself, or the file at its path below tests/."""
    if path.suffix != ".py":
        return None
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
    own |= {t for folder, some in TESTS_OF_FOLDERS.items() if _any_in(files, folder) for t in some}
    tests = sorted(own | {f"tests/contracts/test_{name}.py" for name in CONTRACTS})
    typed = [str(path) for path in files if path.suffix == ".py" and path.parts[0] in TYPED]
    python, tool = sys.executable, Path(sys.executable).parent
    found: list[Sequence[str]] = [
        [f"{tool}/ruff", "check", "."],
        [f"{tool}/ruff", "format", "--check", "."],
    ]
    if typed:
        found.append([f"{tool}/pyright", "--pythonpath", python, *typed])
    if any(_any_in(files, folder) for folder in PAGE):
        npm = [python, "hatch_build.py", "npm"]
        found += [[*npm, "run", "check"], [*npm, "test"]]
    chosen = ["-m", "not slow and not browser", "-n", str(workers), "--dist", "loadfile"]
    return [*found, [python, "-m", "pytest", "-q", *chosen, *tests]]


def fix_of(command: Sequence[str], printed: str) -> str:
    """Return the command that fixes what a failed command printed, or ""."""
    if list(command[1:3]) != ["format", "--check"]:
        return ""
    files = [line.removeprefix(_WOULD) for line in printed.splitlines() if line.startswith(_WOULD)]
    return shlex.join([command[0], "format", *files]) if files else ""


def _any_in(files: Iterable[Path], folder: str) -> bool:
    return any(path.is_relative_to(folder) for path in files)


def _lines(*command: str) -> list[str]:
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def _run(command: Sequence[str]) -> int:
    """Run a command and return its exit code; print the fix if it fails and has one."""
    if command[1] != "format":
        return subprocess.run(command, cwd=REPOSITORY, check=False).returncode
    done = subprocess.run(command, cwd=REPOSITORY, check=False, stdout=subprocess.PIPE, text=True)
    print(done.stdout, end="", flush=True)
    if done.returncode and (fix := fix_of(command, done.stdout)):
        print(f"to format these files: {fix}", flush=True)
    return done.returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", default="HEAD", help="the revision that changes are held against")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    for command in commands(changed(options.base), options.workers):
        if code := _run(command):
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
