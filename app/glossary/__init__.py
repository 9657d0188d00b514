"""The glossary: one definition per term, for the page, its own page, and docs/words.md.

A module with further definitions declares sections, and `SECTIONS` lists them.
"""

from __future__ import annotations

from collections.abc import Iterator

from app.glossary import graphs, programs
from app.glossary.term import Section, Term
from compiler.passes import PASSES
from compiler.passes.glossary import known_as_text
from compiler.runtime.levels import LEVELS

SECTIONS: tuple[Section, ...] = (
    graphs.MODELS_AND_GRAPHS,
    graphs.PASSES_AND_RULES,
    programs.LOOPS_AND_CODE,
    programs.MEMORY_AND_RUNNING,
    programs.CHECKS_AND_MEASUREMENTS,
)
"""The sections of terms, in the order of the documents."""


def terms() -> Iterator[Term]:
    """Yield the terms of all sections."""
    for section in SECTIONS:
        yield from section.terms


def declared_sections() -> tuple[Section, ...]:
    """Return the sections of names that declarations define: levels of a program, and passes."""
    levels = (
        Term(level.name, level.title, known_as=known_as_text(level.known_as), is_marked=False)
        for level in LEVELS.values()
    )
    passes = (
        Term(name, PASSES[name].title, known_as=known_as_text(PASSES[name].known_as))
        for name in sorted(PASSES)
    )
    return (
        Section("All levels", tuple(levels), "level-"),
        Section("All passes", tuple(passes), "pass-"),
    )
