"""Tests that following each page docs/adding-*.md in a copy of the repository succeeds.

The tests run the commands of the pages: the additions must pass the contract of their registry.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest

import compiler.ops
from compiler.ir.operator import OPERATORS
from compiler.memory.planners.all import PLANNERS
from compiler.passes import PASSES, RULES
from compiler.passes.fusion.policies import POLICIES
from compiler.schedule.language import replay
from compiler.schedule.language.move import MOVES
from tests.contracts import test_import_arrows as arrows
from tests.tutorials import PAGES, REPOSITORY, Tutorial, changed, run, scratch_copy

assert compiler.ops.__doc__
assert replay.__doc__, "all moves are declared once it is imported"

TUTORIALS = {page.stem: Tutorial(page) for page in PAGES}
PYTEST = [".venv/bin/python", "-m", "pytest"]
MOST = 0.6
"""A file whose tests name at least this share of a registry is a contract of it."""

REGISTRIES: Mapping[str, Mapping[str, object]] = {
    "adding-a-fusion-policy": POLICIES,
    "adding-a-move": MOVES,
    "adding-a-pass": PASSES,
    "adding-a-planner": PLANNERS,
    "adding-a-rule": RULES,
    "adding-an-operator": OPERATORS,
}


@dataclass(frozen=True)
class Chosen:
    """The pytest runs of a page: files or folders, and words that select tests."""

    files: list[str]
    words: list[str]


def chosen_by(tutorial: Tutorial) -> Chosen:
    files: list[str] = []
    words: list[str] = []
    for command in tutorial.commands:
        if command[:3] == PYTEST:
            *named, flag, expression = command[3:]
            assert flag == "-k", f"the tests of {tutorial.page.name} are selected by the new name"
            files += named
            words += expression.split(" or ")
    return Chosen(files, words)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with the files and changes of all pages."""
    root = scratch_copy(tmp_path_factory.mktemp("scratch"))
    for tutorial in TUTORIALS.values():
        tutorial.follow(root)
    return root


Commands = Mapping[tuple[str, ...], str]


@pytest.fixture(scope="module")
def commands(scratch: Path) -> Commands:
    """All commands of the pages except pytest, with the output of those that failed."""
    asked = [tuple(c) for t in TUTORIALS.values() for c in t.commands if c[:3] != PYTEST]
    said: dict[tuple[str, ...], str] = {}
    for command in dict.fromkeys(asked):
        done = run(scratch, command)
        said[command] = done.stdout if done.returncode else ""
    return said


@pytest.mark.parametrize("name", TUTORIALS)
def test_the_commands_of_a_page_succeed(name: str, commands: Commands) -> None:
    for command in TUTORIALS[name].commands:
        said = commands.get(tuple(command), "")
        assert not said, f"{command}\n{said}"


@dataclass(frozen=True)
class Tried:
    """The tests of all pages in a single run: its output, and whether each test passed."""

    printed: str
    passed: dict[str, bool]

    def about(self, words: list[str]) -> dict[str, bool]:
        return {name: ok for name, ok in self.passed.items() if any(w in name for w in words)}


@pytest.fixture(scope="module")
def tried(scratch: Path, commands: Commands) -> Tried:
    """The tests of all pages in one process, because collecting them takes longer than running.

    The tables of the documents are generated before.
    """
    assert commands
    parts = [chosen_by(t) for t in TUTORIALS.values()]
    files = dict.fromkeys(f for p in parts for f in p.files)
    words = dict.fromkeys(w for p in parts for w in p.words)
    command = [*PYTEST, "-q", "-p", "no:cacheprovider", "-o", "junit_family=xunit1"]
    done = run(scratch, [*command, "--junitxml=tried.xml", *files, "-k", " or ".join(words)])
    assert (scratch / "tried.xml").is_file(), done.stdout
    return Tried(done.stdout, dict(_cases(scratch / "tried.xml")))


def _cases(path: Path) -> Iterator[tuple[str, bool]]:
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        yield f"{case.get('classname')}::{case.get('name')}", not list(case)


@pytest.mark.parametrize("name", TUTORIALS)
def test_what_a_page_adds_keeps_the_contract(name: str, tried: Tried) -> None:
    words = chosen_by(TUTORIALS[name]).words
    for word in words:
        assert tried.about([word]), f"no test has {word} in its name\n{tried.printed}"
    assert all(tried.about(words).values()), tried.printed


def test_nothing_else_is_wrong_in_the_copy(tried: Tried) -> None:
    assert all(tried.passed.values()), tried.printed


def test_what_a_page_adds_imports_only_what_its_room_may(scratch: Path) -> None:
    for file in (f for t in TUTORIALS.values() for f in t.files if f.startswith("compiler/")):
        module = file.removesuffix(".py").replace("/", ".")
        rooms = {room for _, room in arrows.rooms_imported(module, scratch / file)}
        assert rooms <= arrows.allowed(arrows.room_of(module)), file


def test_the_code_of_the_pages_is_formatted_and_typed(scratch: Path) -> None:
    files = [f for t in TUTORIALS.values() for f in t.files if f.endswith(".py")]
    files += [f for t in TUTORIALS.values() for f in t.changes if f.endswith(".py")]
    tools = Path(".venv/bin")
    for command in (
        [tools / "ruff", "check", *files],
        [tools / "ruff", "format", "--check", *files],
        [tools / "pyright", "--pythonpath", tools / "python", *files],
    ):
        done = run(scratch, [str(word) for word in command])
        assert done.returncode == 0, done.stdout


def test_the_copy_runs_its_own_code(scratch: Path) -> None:
    done = run(scratch, [".venv/bin/python", "-c", "import compiler; print(compiler.__file__)"])
    assert Path(done.stdout.strip()).parent.samefile(scratch / "compiler"), done.stdout
    assert Path(sys.prefix).samefile(scratch / ".venv")


@pytest.mark.parametrize("name", REGISTRIES)
def test_the_tests_of_a_page_are_all_that_the_registry_has(
    name: str, request: pytest.FixtureRequest
) -> None:
    """Only collected tests count: in `make test`, the tests of every file."""
    registry = REGISTRIES[name]
    found: dict[Path, set[str]] = {}
    for item in request.session.items:
        if (call := getattr(item, "callspec", None)) and item.path != Path(__file__):
            found.setdefault(item.path, set()).update(registry.keys() & set(call.id.split("-")))
    named = [REPOSITORY / f for f in chosen_by(TUTORIALS[name]).files]
    for path, names in found.items():
        if len(names) >= MOST * len(registry):
            place = path.relative_to(REPOSITORY)
            assert any(n in (path, *path.parents) for n in named), f"{name} does not run {place}"


def test_a_change_fits_at_one_place_only() -> None:
    text = "one\ntwo\ntwo\nthree\n"
    assert changed(text, " one\n+and\n@@\n-three\n", "a file") == "one\nand\ntwo\ntwo\n"
    with pytest.raises(AssertionError, match="a file has 2 positions"):
        changed(text, "-two\n", "a file")
    with pytest.raises(AssertionError, match="a file has 0 positions"):
        changed(text, " two\n-one\n", "a file")
