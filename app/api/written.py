"""Routes that check models while the user writes them in the page."""

from __future__ import annotations

from functools import cache
from typing import cast

from flask import Response, current_app

from app.api.answers import answer, body, count_request
from app.api.table import Table
from app.wire import written as wire
from app.wire.shapes.written import CheckedText, TextToCheck, Writing
from app.written import TextReader

ROUTES = Table()


@ROUTES.route("GET", "/texts", Writing)
def writing() -> Response:
    """Return examples of written models, and the functions that written models may call."""
    return answer(_writing())


@cache
def _writing() -> Writing:
    return wire.writing()


@ROUTES.route("POST", "/texts/check", CheckedText, body=TextToCheck, fails=(400, 408, 429, 503))
def check_text() -> Response:
    """Check the text of a model: return its errors with positions, or the types of its values."""
    count_request("texts")
    language, text = wire.text_to_check(body())
    reader = cast(TextReader, current_app.extensions["texts"])
    return answer(cast(CheckedText, reader.read(language, text)))
