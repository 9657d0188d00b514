"""The glossary has an entry for each declaration, in its words: docs/words.md, command-line.md.

Passes, rule families, levels of a program, panes of the playground, commands and their options.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import click
import pytest

from app.wire.programs import DOWNLOADS
from app.wire.shapes.stages import KernelPart
from compilarium.group import commands, declared
from compiler.passes import PASSES, RULES
from compiler.passes.glossary import families_table, passes_table
from compiler.passes.rules.families import KNOWN_AS, PACKAGE, families
from compiler.runtime.emit import KINDS
from compiler.runtime.levels import LEVELS
from setup.command_line import commands_table, options_table
from setup.glossary import levels_table, panes, panes_table
from setup.tables import TABLES, written

REPOSITORY = Path(__file__).resolve().parents[2]
RULES_FOLDER = REPOSITORY / "compiler" / "passes" / "rules"
DECLARERS = {"rule", "folds_to_operand"}
MAKE = "`make tables` writes it"

HEADS = {
    made.partition("\n")[0]: made
    for made in (
        passes_table(),
        families_table(),
        levels_table(),
        panes_table(),
        commands_table(),
        options_table(),
    )
}

_CELL = re.compile(r"(?<!\\)\|")


def text_of(name: str) -> str:
    return (REPOSITORY / name).read_text(encoding="utf-8")


def entries(page: str, head: str) -> list[list[str]]:
    """The rows of the table with this first column, as cells without marks of code."""
    lines = iter(text_of(page).splitlines())
    for line in lines:
        if line.startswith(f"| {head} | definition |"):
            break
    next(lines)
    return [list(_cells(line)) for line in iter(lambda: next(lines, ""), "")]


def _cells(line: str) -> Iterator[str]:
    for cell in _CELL.split(line)[1:-1]:
        yield cell.strip().replace("\\|", "|").replace("\\*", "*").strip("`")


def definitions(page: str, head: str) -> dict[str, str]:
    return {name: definition for name, definition, *_ in entries(page, head)}


def is_short_sentence(text: str, limit: int = 25) -> bool:
    return text.endswith(".") and text[0].isupper() and len(text.split()) <= limit


@pytest.mark.parametrize("head", HEADS)
def test_a_table_is_that_of_the_declarations(head: str) -> None:
    pages = [page for page in TABLES if head in text_of(page)]
    assert len(pages) == 1, f"one page has the table {head}"
    assert HEADS[head] in text_of(pages[0]), MAKE


def test_all_that_declarations_say_is_written() -> None:
    old = [path.name for path, text in written().items() if path.read_text("utf-8") != text]
    assert not old, MAKE


def test_every_pass_has_an_entry() -> None:
    found = definitions("docs/words.md", "pass")
    assert found == {p.name: p.title for p in PASSES.values()}, MAKE


def test_a_title_of_a_pass_is_one_short_sentence() -> None:
    """The page shows it beside the name of the pass."""
    for each in PASSES.values():
        assert is_short_sentence(each.title, limit=17), each.title


def declares_rules(path: Path) -> bool:
    """Whether a module calls a declarer, as a decorator or in a function that makes rules."""
    calls = (n for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.Call))
    return any(isinstance(call.func, ast.Name) and call.func.id in DECLARERS for call in calls)


def modules_with_rules() -> dict[str, Path]:
    """The modules of the package that declare rules, by the names of their families."""
    paths = (path for path in RULES_FOLDER.rglob("*.py") if declares_rules(path))
    return {".".join(p.relative_to(RULES_FOLDER).with_suffix("").parts): p for p in paths}


def test_every_rule_family_has_an_entry() -> None:
    """The modules are read here as files: a family that nothing imports would be missing too."""
    found = definitions("docs/words.md", "rule family")
    modules = modules_with_rules()
    assert found.keys() == modules.keys(), MAKE
    for name, path in modules.items():
        words = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        assert words.startswith(found[name]), f"{name}: {MAKE}"
        assert is_short_sentence(found[name]), found[name]


def test_rules_are_declared_in_families_only() -> None:
    for family in families().values():
        assert not family.name.startswith("compiler."), f"{family.name} is not in {PACKAGE}"
    assert sum(len(family.rules) for family in families().values()) == len(RULES)


def test_every_rule_family_says_what_other_systems_call_it() -> None:
    assert KNOWN_AS.keys() == modules_with_rules().keys(), "families.py: a row for each, or {}"
    assert list(KNOWN_AS) == sorted(KNOWN_AS), "families.py: the rows are in alphabetical order"


def test_every_level_has_an_entry() -> None:
    found = definitions("docs/words.md", "level")
    assert found == {name: LEVELS[name].title for name in KINDS}, MAKE
    for title in found.values():
        assert is_short_sentence(title), title


def test_what_the_page_shows_of_a_program_is_a_level() -> None:
    of_all_kernels = {"schedule": "schedules"}
    shown = {*DOWNLOADS, *(of_all_kernels.get(p, p) for p in get_args(KernelPart))}
    assert shown <= LEVELS.keys()


def test_every_pane_has_an_entry() -> None:
    """Each registration says how the pane is mounted, which tells it from other objects."""
    registered = re.findall(
        r'\{ id: "(.+?)".*?(?:mount|works|finds): ', text_of("static/js/panes/index.js")
    )
    assert len(registered) > 15
    rows = {id_: definition for _, definition, _, id_ in entries("docs/words.md", "pane")}
    assert [*rows] == registered, MAKE
    assert rows == {pane.id: pane.title for pane in panes()}, MAKE
    for title in rows.values():
        assert is_short_sentence(title), title


def test_every_command_has_an_entry() -> None:
    found = definitions("docs/command-line.md", "command")
    assert [*found] == list(declared()), MAKE
    for name, command in all_commands():
        words = re.sub(r"\s+", " ", command.help or "")
        assert name == "compilarium" or words.startswith(found[name]), f"{name}: {MAKE}"


def all_commands() -> Iterator[tuple[str, click.Command]]:
    yield "compilarium", commands
    yield from declared().items()


def all_options() -> Iterator[tuple[str, click.Option]]:
    for name, command in all_commands():
        parameters = command.get_params(click.Context(command))
        yield from ((name, p) for p in parameters if isinstance(p, click.Option))


def test_every_option_has_an_entry() -> None:
    rows = entries("docs/command-line.md", "option")
    missing = []
    for command, option in all_options():
        for spelling in (*option.opts, *option.secondary_opts):
            same = [
                users
                for names, words, users in rows
                if spelling in re.split(r"[ ,]+", names) and words == option.help
            ]
            if not any(accepts(users, command) for users in same):
                missing.append(f"{command} {spelling}")
    assert not missing, f"{missing}: {MAKE}"


def accepts(users: str, command: str) -> bool:
    """Whether the last cell of an option's row names the command."""
    if "all commands except" in users:
        return users != f"all commands except `{command}"
    return "all commands" in users or command in re.split(r"`, `|`", users)


def test_an_option_without_an_owner_is_not_accepted() -> None:
    assert accepts("all commands except `serve", "run")
    assert not accepts("all commands except `serve", "serve")
    assert accepts("compile`, `run", "run")
    assert not accepts("compile`, `run", "check")


def test_every_option_has_a_help_text() -> None:
    for command, option in all_options():
        assert option.help, f"{command} {option.opts}"
        assert option.help.endswith("."), f"{command} {option.opts}: {option.help}"


def test_the_readme_counts_rules_and_passes(repository: Path) -> None:
    text = (repository / "README.md").read_text(encoding="utf-8")
    found = re.search(r"Some (\d+) rules and (\d+) passes", text)
    assert found
    assert abs(int(found[1]) - len(RULES)) <= 10
    assert int(found[2]) == len(PASSES), MAKE


def test_a_former_name_is_not_written_any_more(repository: Path) -> None:
    """Outside of declarations and tests of aliases."""
    written_pages = [*(repository / "docs").glob("*.md"), repository / "README.md"]
    former = {a for p in PASSES.values() for a in p.aliases if "_" in a}
    for path in written_pages:
        text = path.read_text(encoding="utf-8").replace(passes_table(), "")
        assert not [name for name in former if f"`{name}`" in text or f"{name}," in text], path.name
