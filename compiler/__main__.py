"""Entry point of `python -m compiler`: the command line."""

from compilarium import main

main()
