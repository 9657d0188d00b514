"""Tests that the quick check runs existing contracts and the tests of changed files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quick import (
    CONTRACTS,
    PAGE,
    REPOSITORY,
    TESTS_OF_FOLDERS,
    commands,
    fix_of,
    mirror_of,
)


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
        ("static/js/main.js", None),
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


def test_files_that_no_folder_of_types_has_are_not_typed() -> None:
    found = commands([Path("app/report/report.html"), Path("samples/README.md")], 2)
    assert not any("pyright" in command[0] for command in found)


def test_each_named_folder_and_test_is_there() -> None:
    for folder in (*PAGE, *TESTS_OF_FOLDERS):
        assert (REPOSITORY / folder).is_dir()
    for tests in TESTS_OF_FOLDERS.values():
        assert [t for t in tests if not (REPOSITORY / t).is_file()] == []


@pytest.mark.parametrize(
    "path", ["static/js/main.js", "templates/words/panes.html", "tests/static/wire.test.js"]
)
def test_scripts_are_checked_if_the_page_changed(path: str) -> None:
    ran = [command[-2:] for command in commands([Path(path)], 2)]
    assert ["run", "check"] in ran
    assert ["npm", "test"] in ran
    ran = [command[-2:] for command in commands([Path("tests/models.py")], 2)]
    assert ["npm", "test"] not in ran


def test_a_change_in_a_folder_needs_the_tests_of_the_folder() -> None:
    *_, tests = commands([Path("app/wire/shapes/jobs.py")], 2)
    assert {*TESTS_OF_FOLDERS["app"]} <= {*tests}
    assert not {*TESTS_OF_FOLDERS["compiler/passes/rules"]} & {*tests}
    *_, tests = commands([Path("compiler/passes/rules/signs.py")], 2)
    assert {*TESTS_OF_FOLDERS["compiler/passes/rules"]} <= {*tests}


def test_a_failed_format_check_names_the_fix() -> None:
    check = next(c for c in commands([], 2) if "--check" in c)
    printed = (
        "Would reformat: compiler/a.py\nWould reformat: tests/b.py\n2 files would be reformatted\n"
    )
    assert fix_of(check, printed) == f"{check[0]} format compiler/a.py tests/b.py"
    assert fix_of(check, "error: no such file\n") == ""
    assert fix_of(commands([], 2)[0], printed) == ""
