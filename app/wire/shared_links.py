"""Requests and payloads of short links.

The page's state is the fragment of its URL; static/js/state/url.js defines its grammar. This module
checks the limits of a fragment, brings it into a normal form, and interprets only a few keys.
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
"""Maximum length of a fragment; two texts of maximum length fit (static/js/text/writing.js)."""
_N_PAIRS = 2_000
_PLAIN = re.compile(r"[A-Za-z0-9%&=+.,:/_~*!'()@;?-]*")
_KEY = re.compile(r"[a-z][a-z0-9-]{0,19}")
_VERSION = re.compile(r"[1-9]\d{0,2}")
_JOBS = frozenset({"job", "other"})
_BESIDE = frozenset({"check", "measured", "tuning", "bisect", "ran"})
LINKED = "link"
"""Placeholder for the id of a related job that existed when the link was created."""


@dataclass(frozen=True, slots=True)
class SharedPlace:
    """The content of a fragment: `text` is the fragment's normal form without jobs; absent keys
    give "".

    `has_text` is true if the fragment contains the text of a written model.
    """

    text: str
    model: str
    other: str
    has_text: bool


def shared_place(body: Any) -> SharedPlace:
    """Parse the page's fragment in the body of a request. Errors: E-REQUEST-BODY,
    E-REQUEST-SIZE."""
    fields: Mapping[str, Any] = body if isinstance(body, dict) else {}
    fragment = fields.get("fragment")
    if set(fields) != {"fragment"} or not isinstance(fragment, str):
        raise CompileError("E-REQUEST-BODY", "expected an object with one string, `fragment`")
    if len(fragment) > FRAGMENT_CHARACTERS:
        raise CompileError(
            "E-REQUEST-SIZE",
            f"a link may have {FRAGMENT_CHARACTERS:,} characters, this link has {len(fragment):,}",
            hint="select fewer nodes, open fewer groups, or shorten the text in the link",
        )
    return _place(_pairs(fragment))


def _pairs(fragment: str) -> list[tuple[str, str]]:
    try:
        if not _PLAIN.fullmatch(fragment):
            raise ValueError("invalid characters for a fragment of the page")
        pairs = parse_qsl(
            fragment,
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=_N_PAIRS,
        )
        if not all(_KEY.fullmatch(key) for key, _ in pairs):
            raise ValueError("invalid key for a fragment of the page")
    except ValueError as e:
        raise CompileError("E-REQUEST-BODY", f"fragment: {e}") from None
    return pairs


def _place(pairs: list[tuple[str, str]]) -> SharedPlace:
    found = dict(reversed(pairs))  # of equal keys, the first counts, as in the page
    if not _VERSION.fullmatch(found.get("v", "")):
        raise CompileError(
            "E-REQUEST-BODY", "fragment: needed the key v, the version of the format"
        )
    if not found.get("model"):
        raise CompileError("E-REQUEST-BODY", "fragment: needed the key model, for a link to open")
    named = ((k, LINKED if k in _BESIDE and v else v) for k, v in pairs if k not in _JOBS)
    text = urlencode(sorted(named, key=lambda pair: pair[0]), safe=",:/")
    return SharedPlace(text, found["model"], found.get("other", ""), bool(found.get("written")))


def link_payload(link: Link, program: str) -> SharedLink:
    """Return the payload of a link, with the current version of the program."""
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
