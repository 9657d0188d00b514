"""The subset of Markdown in which lessons are written, as markup.

Paragraphs, headings from `###`, lists, quotations, tables, plain code, `code`, **strong**,
*emphasis* and links. Everything else is text, and all text is escaped: a lesson cannot contain
markup of its own. A reference `{{trips.saved}}` becomes an empty figure, which the page fills.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from markupsafe import Markup, escape

Resolve = Callable[[str], str]
"""A function from the target of a link to an address; "" for a target that leads nowhere."""
Cover = Callable[[str], str]
"""A function from the name of a block to the name of the prediction that covers it, or ""."""

_FENCE = re.compile(r"(`{3,})\s*([\w-]*)\s*\Z")
_HEADING = re.compile(r"(#{3,6})\s+(.*)\Z")
_ITEM = re.compile(r"(\s*)([-*+]|\d+\.)\s+(.*)\Z")
_RULE = re.compile(r"\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\Z")
_INLINE = re.compile(
    r"`(?P<code>[^`\n]+)`"
    r"|\{\{(?P<figure>[^{}\n]{1,200})\}\}"
    r"|\*\*(?P<strong>[^*]+(?:\*[^*]+)*?)\*\*"
    r"|(?<![\w*])\*(?P<em>[^*\s][^*]*?)\*(?![\w*])"
    r"|\[(?P<words>[^\]\n]+)\]\((?P<target>[^)\s]+)\)"
)


def nothing_covered(name: str) -> str:
    """Return that no prediction covers a block."""
    return ""


def as_written(target: str) -> str:
    """Return the target of a link to another site; other targets lead nowhere."""
    return target if target.startswith("https://") else ""


class Markdown:
    """Renders Markdown; `resolve` gives the addresses of links, `cover` the covered figures."""

    def __init__(self, resolve: Resolve = as_written, cover: Cover = nothing_covered) -> None:
        self.resolve, self.cover = resolve, cover

    def render(self, text: str) -> Markup:
        """Return the markup of a text of several blocks."""
        return Markup("\n").join(self._blocks(text.split("\n")))

    def inline(self, text: str) -> Markup:
        """Return the markup of a text within one block."""
        made, at = Markup(), 0
        for found in _INLINE.finditer(text):
            made += escape(text[at : found.start()]) + self._span(found)
            at = found.end()
        return made + escape(text[at:])

    def _span(self, found: re.Match[str]) -> Markup:
        if code := found["code"]:
            return Markup("<code>{}</code>").format(code)
        if figure := found["figure"]:
            reference = figure.strip()
            covered = self.cover(reference.partition(".")[0])
            return Markup('<span class="figure" data-figure="{}"{}>…</span>').format(
                reference, Markup(' data-covered="{}"').format(covered) if covered else ""
            )
        if strong := found["strong"]:
            return Markup("<strong>{}</strong>").format(self.inline(strong))
        if em := found["em"]:
            return Markup("<em>{}</em>").format(self.inline(em))
        return self._link(found["words"], found["target"])

    def _link(self, words: str, target: str) -> Markup:
        address = self.resolve(target)
        if not address:
            return self.inline(words)
        outside = address.startswith("https://")
        more = Markup(' rel="noopener noreferrer" target="_blank"') if outside else ""
        return Markup('<a href="{}"{}>{}</a>').format(address, more, self.inline(words))

    def _blocks(self, lines: Sequence[str]) -> Iterator[Markup]:
        at = 0
        while at < len(lines):
            line = lines[at]
            if not line.strip():
                at += 1
                continue
            fence = _FENCE.match(line)
            if fence:
                end = _end_of_fence(lines, at, fence[1])
                yield Markup('<pre class="plain-code" tabindex="0"><code>{}</code></pre>').format(
                    "\n".join(lines[at + 1 : end])
                )
                at = end + 1
                continue
            end = at + 1
            if heading := _HEADING.match(line):
                yield Markup("<h3>{}</h3>").format(self.inline(heading[2].strip()))
            elif _ITEM.match(line):
                end = _end(lines, at, lambda x: bool(_ITEM.match(x) or x.startswith("  ")))
                yield self._list(lines[at:end])
            elif line.startswith(">"):
                end = _end(lines, at, lambda x: x.startswith(">"))
                inner = [x[1:].removeprefix(" ") for x in lines[at:end]]
                inside = Markup("\n").join(self._blocks(inner))
                yield Markup("<blockquote>{}</blockquote>").format(inside)
            elif "|" in line and at + 1 < len(lines) and _RULE.match(lines[at + 1].strip()):
                end = _end(lines, at, lambda x: "|" in x)
                yield self._table(lines[at:end])
            else:
                end = _end(lines, at, lambda x: not _begins_block(x))
                yield Markup("<p>{}</p>").format(self.inline(" ".join(_stripped(lines[at:end]))))
            at = end

    def _list(self, lines: Sequence[str]) -> Markup:
        items: list[list[str]] = []
        for line in lines:
            if found := _ITEM.match(line):
                items.append([found[3]])
            else:
                items[-1].append(line.strip())
        first = _ITEM.match(lines[0])
        tag = "ol" if first and first[2][0].isdigit() else "ul"
        inside = Markup().join(
            Markup("<li>{}</li>").format(self.inline(" ".join(item))) for item in items
        )
        return Markup("<{0}>{1}</{0}>").format(Markup(tag), inside)

    def _table(self, lines: Sequence[str]) -> Markup:
        head, *rows = (_cells(x) for i, x in enumerate(lines) if i != 1)
        made = Markup().join(Markup("<th scope=col>{}</th>").format(self.inline(c)) for c in head)
        body = Markup().join(
            Markup("<tr>{}</tr>").format(
                Markup().join(Markup("<td>{}</td>").format(self.inline(c)) for c in row)
            )
            for row in rows
        )
        return Markup(
            '<div class="prose-table" tabindex="0" role="region" aria-label="Table">'
            '<table class="table">'
            "<thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>"
        ).format(made, body)


def _stripped(lines: Sequence[str]) -> list[str]:
    return [line.strip() for line in lines]


def _cells(line: str) -> list[str]:
    return [c.strip() for c in line.strip().strip("|").split("|")]


def _begins_block(line: str) -> bool:
    starts = line.startswith((">", "```"))
    return not line.strip() or starts or bool(_HEADING.match(line) or _ITEM.match(line))


def _end(lines: Sequence[str], at: int, belongs: Callable[[str], bool]) -> int:
    """Return the position after the last line that belongs to the block that begins at `at`."""
    end = at + 1
    while end < len(lines) and lines[end].strip() and belongs(lines[end]):
        end += 1
    return end


def _end_of_fence(lines: Sequence[str], at: int, ticks: str) -> int:
    for i in range(at + 1, len(lines)):
        if lines[i].strip() == ticks:
            return i
    return len(lines)
