"""Generator of the table of passes in docs/words.md: definitions, and names in other compilers.

python -m compiler.passes.glossary
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.passes import PASSES, Pass


def table() -> str:
    """Return a Markdown table of all passes, sorted by name."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "| pass | definition | in other compilers | aliases |"
    yield "|---|---|---|---|"
    for name in sorted(PASSES):
        yield _row(PASSES[name])


def _row(declared: Pass) -> str:
    elsewhere = "; ".join(f"{system}: {names}" for system, names in declared.known_as.items())
    aliases = ", ".join(f"`{alias}`" for alias in declared.aliases)
    return f"| `{declared.name}` | {declared.title} | {elsewhere} | {aliases} |"


if __name__ == "__main__":
    print(table(), end="")
