"""The tables of commands and options in docs/command-line.md, from the declarations of click."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping

import click

from compilarium import group
from compilarium.group import commands

PROGRAM = "compilarium"


def declared() -> Mapping[str, click.Command]:
    """Return the program and its commands, each by the text that runs it."""
    return {PROGRAM: commands, **group.declared()}


def options() -> Mapping[tuple[str, str], list[str]]:
    """Return the commands of each option, by its form and its help text, sorted."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, command in declared().items():
        context = _context(name, command)
        for parameter in command.get_params(context):
            if isinstance(parameter, click.Option):
                key = (form(parameter, context), parameter.help or "")
                found.setdefault(key, []).append(name)
    return dict(sorted(found.items(), key=lambda item: (item[0][0].lstrip("-"), item[1])))


def form(option: click.Option, context: click.Context) -> str:
    """Return the names of an option and the form of its value, as `--help` prints them."""
    names = ", ".join(option.opts)
    if option.secondary_opts:
        names += " / " + ", ".join(option.secondary_opts)
    takes_value = not option.is_flag and not option.count
    value = option.make_metavar(context).removesuffix(" RANGE")
    return f"{names} {value}" if takes_value else names


def commands_table() -> str:
    """Return a Markdown table of all commands, in the order of `--help`."""
    return "\n".join(_commands()) + "\n"


def options_table() -> str:
    """Return a Markdown table of all options; commands with the same option share a row."""
    return "\n".join(_options()) + "\n"


def summary(command: click.Command) -> str:
    """Return the first paragraph of the help text of a command."""
    return inspect.cleandoc(command.help or "").split("\n\n")[0].replace("\n", " ")


def _context(name: str, command: click.Command) -> click.Context:
    """Return the context of a command, with the settings that it inherits from the program."""
    program = click.Context(commands, info_name=PROGRAM, **commands.context_settings)
    return program if name == PROGRAM else click.Context(command, parent=program, info_name=name)


def _commands() -> Iterator[str]:
    yield "| command | definition |"
    yield "|---|---|"
    for name, command in declared().items():
        if name != PROGRAM:
            yield f"| `{name}` | {_prose(summary(command))} |"


def _options() -> Iterator[str]:
    yield "| option | definition | commands |"
    yield "|---|---|---|"
    for (names, words), users in options().items():
        yield f"| `{_bars(names)}` | {_prose(words)} | {_users(users)} |"


def _users(names: list[str]) -> str:
    all_names = list(declared())
    if names == all_names:
        return f"`{PROGRAM}` and all commands"
    without = [f"`{name}`" for name in all_names[1:] if name not in names]
    if len(without) == 1:
        return f"all commands except {without[0]}"
    return ", ".join(f"`{name}`" for name in names)


def _bars(text: str) -> str:
    return text.replace("|", "\\|")


def _prose(text: str) -> str:
    return _bars(text).replace("*", "\\*")
