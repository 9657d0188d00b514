"""The prose of lessons as markup: CommonMark with tables, rendered by markdown-it.

All text is escaped: a lesson cannot contain markup of its own. A reference `{{trips.saved}}`
becomes an empty figure, which the page fills.
"""

from __future__ import annotations

import re
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markupsafe import Markup, escape

Resolve = Callable[[str], str]
"""A function from the target of a link to an address; "" for a target that leads nowhere."""
Cover = Callable[[str], str]
"""A function from the name of a block to the name of the prediction that covers it, or ""."""

_FIGURE = re.compile(r"\{\{([^{}\n]{1,200})\}\}")
_UNUSED = ("autolink", "hr", "html_block", "html_inline", "image", "lheading", "reference")
"""Forms of CommonMark that stay text: lessons have figures in place of images."""


def nothing_covered(name: str) -> str:
    """Return that no prediction covers a block."""
    return ""


def as_written(target: str) -> str:
    """Return the target of a link to another site; other targets lead nowhere."""
    return target if target.startswith("https://") else ""


class Markdown:
    """Renders Markdown; `resolve` gives the addresses of links, `cover` the covered figures."""

    def __init__(self, resolve: Resolve = as_written, cover: Cover = nothing_covered) -> None:
        self._parser = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer)
        self._parser.enable("table").disable(_UNUSED)
        self._parser.inline.ruler.before("escape", "figure", _figure)
        # `resolve` judges all targets; the parser would leave the text of those it refuses.
        self._parser.validateLink = lambda url: True
        self._environment = {"resolve": resolve, "cover": cover}

    def render(self, text: str) -> Markup:
        """Return the markup of a text of several blocks."""
        return Markup(self._parser.render(text, dict(self._environment)).rstrip("\n"))

    def inline(self, text: str) -> Markup:
        """Return the markup of a text within one block."""
        return Markup(self._parser.renderInline(text, dict(self._environment)))


def _figure(state: StateInline, silent: bool) -> bool:
    found = _FIGURE.match(state.src, state.pos)
    if not found:
        return False
    if not silent:
        state.push("figure", "span", 0).content = found[1].strip()
    state.pos = found.end()
    return True


Tokens = Sequence[Token]
Environment = MutableMapping[str, Any]


class _Renderer(RendererHTML):
    """The page's markup of tokens; each method is named after its type of token."""

    def figure(self, tokens: Tokens, idx: int, options: Any, env: Environment) -> str:
        reference = tokens[idx].content
        covered = env["cover"](reference.partition(".")[0])
        cover = Markup(' data-covered="{}"').format(covered) if covered else ""
        return Markup('<span class="figure" data-figure="{}"{}>…</span>').format(reference, cover)

    def heading_open(self, tokens: Tokens, idx: int, options: Any, env: Environment) -> str:
        return "<h3>"

    def heading_close(self, tokens: Tokens, idx: int, options: Any, env: Environment) -> str:
        return "</h3>\n"

    def softbreak(self, tokens: Tokens, idx: int, options: Any, env: Environment) -> str:
        return " "

    def fence(self, tokens: Tokens, idx: int, options: Any, env: Environment) -> str:
        code = escape(tokens[idx].content.removesuffix("\n"))
        return f'<pre class="plain-code" tabindex="0"><code>{code}</code></pre>\n'

    def code_block(self, tokens: Tokens, idx: int, options: Any, env: Environment) -> str:
        return self.fence(tokens, idx, options, env)

    def table_open(self, tokens: Tokens, idx: int, options: Any, env: Environment) -> str:
        return (
            '<div class="prose-table" tabindex="0" role="group" aria-label="Table">'
            '<table class="table">'
        )

    def table_close(self, tokens: Tokens, idx: int, options: Any, env: Environment) -> str:
        return "</table></div>\n"

    def th_open(self, tokens: Tokens, idx: int, options: Any, env: Environment) -> str:
        return '<th scope="col">'

    def td_open(self, tokens: Tokens, idx: int, options: Any, env: Environment) -> str:
        return "<td>"

    def link_open(self, tokens: Tokens, idx: int, options: Any, env: Environment) -> str:
        address = env["resolve"](tokens[idx].attrGet("href"))
        # The closing tag reads the address from its opening one.
        tokens[_end_of_link(tokens, idx)].meta["address"] = address
        if not address:
            return ""
        outside = address.startswith("https://")
        more = Markup(' rel="noopener noreferrer" target="_blank"') if outside else ""
        return Markup('<a href="{}"{}>').format(address, more)

    def link_close(self, tokens: Tokens, idx: int, options: Any, env: Environment) -> str:
        return "</a>" if tokens[idx].meta["address"] else ""


def _end_of_link(tokens: Tokens, at: int) -> int:
    """Return the position of the closing tag of a link; links have no links inside."""
    return next(i for i in range(at + 1, len(tokens)) if tokens[i].type == "link_close")
