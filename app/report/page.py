"""The HTML file of a report: the page's modules, styles and templates, with the API's answers."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from flask import render_template
from markupsafe import Markup

from app.paths import site_folder
from app.report.contents import Contents
from compiler.errors import CompileError

_SOURCE_MAP = re.compile(r"\n?(//# sourceMappingURL=\S+|/\*# sourceMappingURL=\S+ \*/)\s*$")


@dataclass(frozen=True, slots=True)
class Packed:
    """The compressed answers to embed in a report, and a description of each omitted answer."""

    answers: str
    left_out: list[str]

    @staticmethod
    def of(held: Contents) -> Packed:
        """Compress the contents of a report."""
        text = json.dumps(held.answers, ensure_ascii=False, separators=(",", ":"))
        return Packed(_packed(text), held.left_out)


def report_html(name: str, held: Packed, fragment: str, facts: Mapping[str, Any]) -> str:
    """Render the HTML file of a report.

    `name` is the model's name, `fragment` the initial view, and `facts` the facts about the job.

    Errors: E-RESULT-ABSENT when the page is not bundled.
    """
    script, style = _text("report.js"), _text("main.css")
    about = {
        "fragment": fragment,
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "left_out": held.left_out,
        **facts,
    }
    return render_template(
        "report.html",
        name=name,
        policy=_policy(script, style),
        script=Markup(script),
        style=Markup(style),
        about=about,
        answers=held.answers,
        engine=_packed(_text("worker.js")),
    )


def _policy(script: str, style: str) -> str:
    """Return the content security policy, which allows only the file's scripts, by digest."""
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_digest(script)}' 'wasm-unsafe-eval'",
            f"style-src '{_digest(style)}'",
            "img-src data: blob:",
            "worker-src blob:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _packed(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), 6, mtime=0)).decode()


def _text(name: str) -> str:
    """Read a bundled file for embedding in an element. Errors: E-RESULT-ABSENT."""
    path: Path = site_folder("static") / "dist" / name
    if not path.is_file():
        raise CompileError(
            "E-RESULT-ABSENT",
            "the page is not bundled, so no report can be written",
            hint="run `python hatch_build.py`",
        )
    text = _SOURCE_MAP.sub("", path.read_text(encoding="utf-8"))
    assert not re.search(r"</(script|style)|<!--", text), f"{name} would end its element"
    return text
