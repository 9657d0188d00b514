"""The group of commands: imports a command's module on use, and reports each error once."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from typing import Any

import click

from compilarium.output import print_json, wants_json
from compiler import __version__
from compiler.errors import CompileError

COMMANDS = {
    "serve": "serve",
    "work": "work",
    "inspect": "inspect",
    "compile": "compile",
    "run": "run",
    "bench": "bench",
    "tune": "tune",
    "check": "check",
    "bisect": "bisect",
    "why": "why",
    "report": "report",
    "conformance": "conformance",
    "plan": "plan",
    "place": "place",
    "lesson": "lesson",
    "data": "data",
    "doctor": "doctor",
}
"""The module of each command; every module defines a click command, or a group of commands, named
`command`."""


class Commands(click.Group):
    """A group that imports a command's module on use, so that `--help` is fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of this name."""
        if cmd_name not in COMMANDS:
            return None
        return importlib.import_module(f"compilarium.{COMMANDS[cmd_name]}").command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; report a `CompileError` once, with exit code 1."""
        try:
            return super().invoke(ctx)
        except CompileError as e:
            if wants_json(ctx):
                print_json({"ok": False, "error": e.to_json()})
            else:
                click.echo(str(e), err=True)
            ctx.exit(1)
        except MemoryError:
            click.echo("E-RUN-MEMORY: the machine has too little memory for this command", err=True)
            ctx.exit(1)


def declared() -> Mapping[str, click.Command]:
    """Return all commands by the words that run them; the commands of a group replace the group."""
    found: dict[str, click.Command] = {}
    for name in COMMANDS:
        command = commands.get_command(click.Context(commands), name)
        assert command is not None, f"the command {name} has no declaration"
        if isinstance(command, click.Group):
            found |= {f"{name} {part}": each for part, each in command.commands.items()}
        else:
            found[name] = command
    return found


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="compilarium")
def commands() -> None:
    """A graph compiler for deep learning that shows every step."""


def main() -> None:
    """Run `compilarium` or `python -m compiler`."""
    # Names in models may contain any characters; a terminal may be unable to print some of them.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    commands(prog_name="compilarium")
