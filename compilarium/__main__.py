"""Entry point of `python -m compilarium`: the command line."""

from compilarium.group import main

main()
