"""Generator of the tables of passes and of rule families in docs/words.md.

python -m compiler.passes.glossary
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compiler.passes import PASSES, Pass
from compiler.passes.rules.families import Family, families


def passes_table() -> str:
    """Return a Markdown table of all passes, sorted by name."""
    return "\n".join(_passes()) + "\n"


def families_table() -> str:
    """Return a Markdown table of the families of rules, sorted by name."""
    return "\n".join(_families()) + "\n"


def known_as_text(known_as: Mapping[str, str]) -> str:
    """Return the names in other systems as the text of a cell."""
    return "; ".join(f"{system}: {names}" for system, names in known_as.items())


def _passes() -> Iterator[str]:
    yield "| pass | definition | in other compilers | aliases |"
    yield "|---|---|---|---|"
    for name in sorted(PASSES):
        yield _pass(PASSES[name])


def _pass(declared: Pass) -> str:
    elsewhere = known_as_text(declared.known_as)
    aliases = ", ".join(f"`{alias}`" for alias in declared.aliases)
    return f"| `{declared.name}` | {declared.title} | {elsewhere} | {aliases} |"


def _families() -> Iterator[str]:
    yield "| rule family | definition | passes | in other compilers |"
    yield "|---|---|---|---|"
    for family in families().values():
        yield _family(family)


def _family(family: Family) -> str:
    used = sorted(p.name for p in PASSES.values() if {*p.rules} & {*family.rules})
    passes = ", ".join(f"`{name}`" for name in used)
    elsewhere = known_as_text(family.known_as)
    return f"| `{family.name}` | {family.title} | {passes} | {elsewhere} |"


if __name__ == "__main__":
    print(passes_table(), families_table(), sep="\n", end="")
