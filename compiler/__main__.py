"""Entry point of `python -m compiler`: the command line."""

from compiler.cli import main

main()
