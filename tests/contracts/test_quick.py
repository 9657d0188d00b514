"""Tests that the quick check runs existing contracts and the tests of changed files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quick import CONTRACTS, REPOSITORY, commands, mirror_of


@pytest.mark.parametrize("name", CONTRACTS)
def test_each_contract_is_there(name: str) -> None:
    assert (REPOSITORY / "tests" / "contracts" / f"test_{name}.py").is_file()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("compiler/compute/calculations.py", "tests/compiler/compute/test_calculations.py"),
        (
            "compiler/memory/planners/exact/__init__.py",
            "tests/compiler/memory/planners/exact/test_exact.py",
        ),
        ("app/jobs/fork_server.py", "tests/app/test_fork_server.py"),
        ("tests/app/test_jobs.py", "tests/app/test_jobs.py"),
        ("tests/app/conftest.py", None),
        ("samples/train.py", None),
    ],
)
def test_a_file_has_the_tests_that_mirror_it(path: str, expected: str | None) -> None:
    assert mirror_of(Path(path)) == (None if expected is None else Path(expected))


def test_types_are_checked_of_what_changed_and_has_some() -> None:
    files = [Path("compiler/errors.py"), Path("tests/models.py")]
    *_, types, tests = commands(files, 2)
    assert "pyright" in types[0]
    assert types[-1] == "compiler/errors.py"
    assert "tests/contracts/test_words.py" in tests
    assert not any("pyright" in command[0] for command in commands(files[1:], 2))
