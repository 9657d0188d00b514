"""The group of commands: loads a command when it is called, and shows errors once, in words."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import click

from compiler import __version__
from compiler.cli.output import print_json, wants_json
from compiler.errors import CompileError

COMMANDS = {
    "serve": "serve",
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
    "doctor": "doctor",
}
"""Command -> module of this package; each module has a click command named `command`."""


class Commands(click.Group):
    """Imports a command's module only when it is needed: `--help` stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name."""
        if cmd_name not in COMMANDS:
            return None
        return importlib.import_module(f"compiler.cli.{COMMANDS[cmd_name]}").command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; what its user caused is told once, and the exit code is 1."""
        try:
            return super().invoke(ctx)
        except CompileError as e:
            if wants_json(ctx):
                print_json({"ok": False, "error": e.to_json()})
            else:
                click.echo(str(e), err=True)
            ctx.exit(1)
        except MemoryError:
            click.echo("E-RUN-MEMORY: the machine has too little memory for this", err=True)
            ctx.exit(1)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="compilarium")
def commands() -> None:
    """A graph compiler for deep learning that one can see through."""


def main() -> None:
    """The entry point of `compilarium` and `python -m compiler`."""
    # Names in models may be in any script; a terminal without it must not stop us.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    commands(prog_name="compilarium")
