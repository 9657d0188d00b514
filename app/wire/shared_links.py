"""Short links as clients send and get them.

The page's state travels as the fragment of its URL. static/js/state/url.js declares its grammar.
Here it is held to limits and brought into a normal form; four of its keys are understood.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import parse_qsl, urlencode

from app.store.links import Link
from app.wire import VERSION
from app.wire.shapes.jobs import JobRequest
from app.wire.shapes.shared_links import SharedLink
from compiler.errors import CompileError

FRAGMENT_CHARACTERS = 100_000
"""Room for the two texts of a place, each within the limit of static/js/text/writing.js."""
_N_PAIRS = 2_000
_PLAIN = re.compile(r"[A-Za-z0-9%&=+.,:/_~*!'()@;?-]*")
_KEY = re.compile(r"[a-z][a-z0-9-]{0,19}")
_VERSION = re.compile(r"[1-9]\d{0,2}")
_JOBS = frozenset({"job", "other"})
_BESIDE = frozenset({"check", "measured", "tuning", "bisect"})
LINKED = "link"
"""Stands for the id of a job beside the compilation: there was one when the link was made."""


@dataclass(frozen=True, slots=True)
class SharedPlace:
    """What a fragment says: `text` is its normal form without jobs; "" where it says nothing.

    `has_text`: the text of a written model is in it.
    """

    text: str
    model: str
    other: str
    has_text: bool


def shared_place(body: Any) -> SharedPlace:
    """The place in the body of a request. Errors: E-REQUEST-BODY, E-REQUEST-SIZE."""
    fields: Mapping[str, Any] = body if isinstance(body, dict) else {}
    fragment = fields.get("fragment")
    if set(fields) != {"fragment"} or not isinstance(fragment, str):
        raise CompileError("E-REQUEST-BODY", "needed an object with one text, the fragment")
    if len(fragment) > FRAGMENT_CHARACTERS:
        raise CompileError(
            "E-REQUEST-SIZE",
            f"a link may have {FRAGMENT_CHARACTERS:,} characters, this one has {len(fragment):,}",
            hint="select fewer nodes, open fewer groups, or shorten the text that it holds",
        )
    return _place(_pairs(fragment))


def _pairs(fragment: str) -> list[tuple[str, str]]:
    try:
        if not _PLAIN.fullmatch(fragment):
            raise ValueError("characters that no fragment of the page has")
        pairs = parse_qsl(
            fragment,
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=_N_PAIRS,
        )
        if not all(_KEY.fullmatch(key) for key, _ in pairs):
            raise ValueError("a key that no fragment of the page has")
    except ValueError as e:
        raise CompileError("E-REQUEST-BODY", f"fragment: {e}") from None
    return pairs


def _place(pairs: list[tuple[str, str]]) -> SharedPlace:
    found = dict(reversed(pairs))  # the first of several, as the page reads them
    if not _VERSION.fullmatch(found.get("v", "")):
        raise CompileError("E-REQUEST-BODY", "fragment: needed the version of its form, v")
    if not found.get("model"):
        raise CompileError("E-REQUEST-BODY", "fragment: needed a model, for a link to open")
    named = ((k, LINKED if k in _BESIDE and v else v) for k, v in pairs if k not in _JOBS)
    text = urlencode(sorted(named, key=lambda pair: pair[0]), safe=",:/")
    return SharedPlace(text, found["model"], found.get("other", ""), bool(found.get("written")))


def link_payload(link: Link, program: str) -> SharedLink:
    """A link, and the version that opens it now."""
    return {
        "version": VERSION,
        "id": link.id,
        "path": f"/s/{link.id}",
        "fragment": link.shared.fragment,
        "other": cast("JobRequest | None", link.shared.other),
        "made_with": link.shared.made_with,
        "program": program,
        "created": link.created_s,
    }
