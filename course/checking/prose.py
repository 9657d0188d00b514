"""Checks of prose: typed figures, the length of sentences, links, and terms."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from compiler.errors import Where
from course.catalogue import PLACES
from course.checking.report import Problem
from course.format.front import FOLDER
from course.format.lesson import Block, Lesson, Prose

LONGEST_SENTENCE = 25
"""Maximum number of words of a sentence."""
MEAN_SENTENCE = 15.0
"""Maximum mean number of words of a lesson's sentences."""

_CODE_FENCE = re.compile(r"^```.*?^```[^\n]*$", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"`[^`\n]*`")
_REFERENCE = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_LINK = re.compile(r"!?\[([^\]\n]*)\]\(([^)\s]*)\)")
_MARK = re.compile(r"^\s*(?:#+|>|[-*+]|\d+\.)\s+", re.MULTILINE)
_FIGURE = re.compile(r"(?<![\w.,-])\d+(?:[.,]\d+)*(?![\w-])(?:\s*%)?")
_SENTENCE = re.compile(r"(?<=[.!?])[\"”)*_]*\s+|\n\s*\n")
_WORD = re.compile(r"[\w'-]*\w")
_VERDICT = re.compile(r"(Yes|No|Right|Wrong|Correct|Exactly)[.,!:]")


def _blank(pattern: re.Pattern[str], text: str, keep: str = "") -> str:
    """Replace matches by `keep`, and keep the line ends, so lines have the same numbers."""
    return pattern.sub(lambda m: keep + "\n" * m[0].count("\n"), text)


def typed_figures(prose: Prose, source: str) -> Iterator[Problem]:
    """Yield the numbers that stand in the prose itself, instead of references to results.

    Numbers in code, names, links and marks of lists are no figures.
    """
    text = prose.text
    for pattern in (_CODE_FENCE, _CODE, _REFERENCE, _LINK, _MARK):
        text = _blank(pattern, text)
    for number, line in enumerate(text.split("\n"), prose.line):
        for found in _FIGURE.finditer(line):
            message = f"the figure {found[0].strip()!r} is typed"
            hint = "refer to a result of an experiment, or write a small count as a word"
            yield Problem(Where(source, number), message, hint)


def plain_words(text: str) -> str:
    """Return prose without code, marks and addresses; code and references count as one word."""
    text = _CODE_FENCE.sub("", text)
    text = _CODE.sub("code", text)
    text = _REFERENCE.sub("figure", text)
    text = _LINK.sub(lambda m: m[1], text)
    text = re.sub(r"^\|.*$|^#.*$", "\n", text, flags=re.MULTILINE)
    # Each item of a list is a sentence of its own.
    text = re.sub(r"^\s*(?:[-*+]|\d+\.)\s+", "\n\n", text, flags=re.MULTILINE)
    return text.replace("**", "")


def sentences(text: str) -> list[str]:
    """Return the sentences of prose."""
    found = (" ".join(s.split()) for s in _SENTENCE.split(plain_words(text)))
    return [s for s in found if _WORD.search(s)]


def n_words(sentence: str) -> int:
    """Return the number of words of a sentence."""
    return len(_WORD.findall(sentence))


def long_sentences(text: str, where: Where) -> Iterator[Problem]:
    """Yield the sentences that are too long."""
    for s in sentences(text):
        n = n_words(s)
        if n > LONGEST_SENTENCE:
            message = f"a sentence has {n} words: {' '.join(s.split()[:8])} ..."
            hint = f"split it: at most {LONGEST_SENTENCE} words"
            yield Problem(where, message, hint)


def mean_words(texts: Sequence[str]) -> float:
    """Return the mean number of words of all sentences of some texts."""
    counts = [n_words(s) for t in texts for s in sentences(t)]
    return sum(counts) / max(len(counts), 1)


def broken_links(prose: Prose, source: str, folder: Path) -> Iterator[Problem]:
    """Yield links to files that do not exist, and to lessons that are not on the map."""
    text = _blank(_CODE, _blank(_CODE_FENCE, prose.text))
    for number, line in enumerate(text.split("\n"), prose.line):
        for found in _LINK.finditer(line):
            target = found[2].partition("#")[0]
            if not _leads_somewhere(target, folder):
                yield Problem(Where(source, number), f"the link {found[2]!r} leads nowhere")


def _leads_somewhere(target: str, folder: Path) -> bool:
    if not target or target.startswith("https://"):
        return True
    if re.match(r"\w+:|/", target):
        return False
    name = target.removeprefix("../").rstrip("/")
    if target.startswith("../") and FOLDER.match(name):
        return (folder.parent / name).is_dir() or int(name.split("-")[0]) in PLACES
    path = (folder / target).resolve()
    return path.is_relative_to(folder.resolve()) and path.exists()


def unused_terms(lesson: Lesson) -> Iterator[Problem]:
    """Yield terms of the front matter that the prose never uses."""
    text = " ".join(p.text for p in lesson.parts if isinstance(p, Prose)).lower()
    for term in lesson.front.terms:
        if term.lower() not in text:
            yield Problem(Where(lesson.source, 2), f"the term {term!r} is explained but not used")


def words_of_blocks(lesson: Lesson) -> Iterator[tuple[Block, str]]:
    """Yield the sentences that blocks show: questions, and feedback on answers."""
    for block in lesson.blocks:
        if block.kind == "predict":
            yield block, block.content.ask
            yield from ((block, c.feedback) for c in block.content.choices)
        elif block.kind == "why":
            yield block, block.content.ask
            yield from ((block, a.feedback) for a in block.content.answers)


def repeated_verdicts(lesson: Lesson) -> Iterator[Problem]:
    """Yield feedback of predictions that begins with a verdict.

    The page writes the verdict, and shows the feedback of the right choice after a wrong or
    skipped prediction, too.
    """
    for block in lesson.blocks:
        for choice in block.content.choices if block.kind == "predict" else ():
            found = _VERDICT.match(choice.feedback)
            if found:
                message = f"the feedback of a prediction begins with {found[0]!r}"
                yield Problem(lesson.where(block), message, "give the reason only")
