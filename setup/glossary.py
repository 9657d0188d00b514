"""The tables of terms, levels and panes in docs/words.md, from their declarations."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from pathlib import Path

from app.glossary import Section
from compiler.passes.glossary import known_as_text
from compiler.runtime.levels import LEVELS

ROOT = Path(__file__).resolve().parents[1]

_PANE = re.compile(r'\{ id: "(?P<id>\w+)", group: "(?P<group>\w+)"')
_WORD = re.compile(r'<span data-word="(?P<key>[\w.-]+)">(?P<text>[^<]*)</span>')


@dataclass(frozen=True)
class Pane:
    """A pane of the page, as its registration and its UI strings declare it."""

    id: str
    label: str
    title: str
    group: str


def panes() -> list[Pane]:
    """Return the registered panes, in the order of their tabs."""
    registered = (ROOT / "static/js/panes/index.js").read_text(encoding="utf-8")
    text = (ROOT / "templates/words/panes.html").read_text(encoding="utf-8")
    words = {found["key"]: unescape(found["text"]) for found in _WORD.finditer(text)}
    return [
        Pane(
            found["id"],
            words[f"pane.{found['id']}"],
            words[f"pane-title.{found['id']}"],
            words[f"pane-group.{found['group']}"],
        )
        for found in _PANE.finditer(registered)
    ]


def terms_table(section: Section) -> str:
    """Return a heading with a Markdown table of the terms of a section."""
    rows = (
        f"| {' | '.join(_cell(text) for text in (t.name, t.definition, t.source, t.known_as))} |"
        for t in section.terms
    )
    head = ["| term | definition | source | in other compilers |", "|---|---|---|---|"]
    return "\n".join([f"## {section.title}", "", *head, *rows]) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def panes_table() -> str:
    """Return a Markdown table of all panes, in the order of their tabs."""
    rows = [f"| {p.label} | {p.title} | {p.group} | `{p.id}` |" for p in panes()]
    head = ["| pane | definition | group of tabs | in URLs |", "|---|---|---|---|"]
    return "\n".join([*head, *rows]) + "\n"


def levels_table() -> str:
    """Return a Markdown table of all levels of a program, from graph to machine code."""
    rows = [
        f"| `{level.name}` | {level.title} | {known_as_text(level.known_as)} |"
        for level in LEVELS.values()
    ]
    head = ["| level | definition | in other compilers |", "|---|---|---|"]
    return "\n".join([*head, *rows]) + "\n"
