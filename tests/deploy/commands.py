"""Command lines and variables in files for operators, compared with their declarations."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from app.configuration import IN_FILE, PREFIX, SECRETS, meanings
from compilarium.group import commands

REPOSITORY = Path(__file__).resolve().parents[2]
DEPLOY = REPOSITORY / "deploy"
UNITS = DEPLOY / "systemd"

OTHER_VARIABLES = frozenset({"COMPILARIUM_CACHE"})
"""Variables that are no settings of the server; compiler/cache/directory.py reads them."""

_VARIABLE = re.compile(rf"\b{PREFIX}[A-Z_]*[A-Z]\b")
_FENCED = re.compile(r"(?ms)^[ ]*```(?:sh)?\n(.*?)^[ ]*```$")
_ENDS = frozenset({"&&", "||", "|", ";", "&"})


def variables() -> set[str]:
    """Return all variables that the program reads."""
    names = {PREFIX + name.upper() for name in meanings()}
    return names | {PREFIX + name.upper() + IN_FILE for name in SECRETS} | OTHER_VARIABLES


def unknown_variables(text: str) -> set[str]:
    """Return the variables of the program in a text that it does not read."""
    return set(_VARIABLE.findall(text)) - variables()


def command_lines(text: str) -> Iterator[list[str]]:
    """Yield the words after `compilarium` of each command line of a shell script."""
    for line in text.replace("\\\n", " ").splitlines():
        if "compilarium" in line and not line.lstrip().startswith("#"):
            yield from _of_programs(_split(line))


def _split(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|")
    lexer.whitespace_split = True
    return list(lexer)


def _of_programs(words: Sequence[str]) -> Iterator[list[str]]:
    current: list[str] | None = None
    former = ""
    for word in [*words, ";"]:
        if word in _ENDS:
            if current:
                yield current
            current = None
        elif current is not None:
            current.append(word)
        elif word.endswith("/bin/compilarium"):
            current = []
        elif word == "compilarium" and not former.startswith("-"):  # else an account or an image
            current = []
        elif " " in word and "compilarium" in word:  # a script for `sh -c`
            yield from command_lines(word)
        former = word


def parse(words: Sequence[str]) -> click.Context:
    """Parse a command line without running it. Errors: click.UsageError."""
    command: click.Command = commands
    parent = click.Context(commands, info_name="compilarium")
    rest = list(words)
    while isinstance(command, click.Group):
        if not rest:
            raise click.UsageError("a command is missing")
        name = rest.pop(0)
        found = command.get_command(parent, name)
        if found is None:
            raise click.UsageError(f"there is no command {name!r}")
        command = found
    return command.make_context(str(command.name), rest, parent=parent)


def fenced(page: str) -> str:
    """Return the text of all code blocks of a document that a shell reads."""
    return "\n".join(_FENCED.findall(page))
