"""A term of the glossary: its definition, and the forms in which texts of the page use it."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Term:
    """A concept with a single name in the source, the page and the documents.

    `source` names the implementation of the concept, and `known_as` its names in other compilers;
    in both texts, backticks mark code. `forms` are further forms, besides the plural with "s". If
    `is_marked` is False, the page does not mark the term, because it also uses the word in its
    everyday sense.
    """

    name: str
    definition: str
    source: str = ""
    known_as: str = ""
    forms: tuple[str, ...] = ()
    is_marked: bool = True

    @property
    def id(self) -> str:
        """The anchor of the term on the page of the glossary."""
        return re.sub(r"\W+", "-", self.name.lower())

    @property
    def all_forms(self) -> tuple[str, ...]:
        """The forms that texts may contain."""
        plural = f"{self.name}es" if self.name.endswith("s") else f"{self.name}s"
        return tuple(dict.fromkeys((self.name, plural, *self.forms)))


@dataclass(frozen=True, slots=True)
class Section:
    """The terms of a subject; `prefix` begins the anchors of names that are also terms."""

    title: str
    terms: tuple[Term, ...]
    prefix: str = ""

    @property
    def id(self) -> str:
        """The anchor of the section."""
        return "section-" + re.sub(r"\W+", "-", self.title.lower())
