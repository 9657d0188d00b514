"""Payloads of written models: the errors of a text, the values of its lines, and examples."""

from __future__ import annotations

import inspect
from typing import Any

from app.paths import site_folder
from app.wire import VERSION
from app.wire.fields import choice, fields_of, text
from app.wire.problems import problem
from app.wire.shapes.written import CheckedText, Language, TextExample, Writing
from compiler.errors import CompileError
from compiler.figures.models import n_nodes
from compiler.frontend.tracing.functions import MAKERS
from compiler.frontend.written import LANGUAGES, PAGE_LIMITS, Written, language_of

_FOLDER = "written"
_ORDER = ("mlp", "attention", "convolution", "gated")


def text_to_check(body: Any) -> tuple[str, str]:
    """Parse a request to check a model's text, and return language and text. Errors:
    E-REQUEST-BODY."""
    given = fields_of(body, "the request", {"language", "text"})
    language = choice(LANGUAGES).of("language", given.get("language"))
    # Longer texts pass, so that reading them reports the exceeded limit.
    return language, text(10 * PAGE_LIMITS.characters).of("text", given.get("text"))


def checked_text(written: Written | None, failed: CompileError | None = None) -> CheckedText:
    """Return the result of reading a text; `ir` is the graph in text form, "" if too long."""
    problems = [*(written.problems if written else ()), *([failed] if failed else [])]
    graph = written.graph if written else None
    text = str(graph) if graph else ""
    return {
        "version": VERSION,
        "problems": list(map(problem, problems)),
        "lines": [
            {"line": x.line, "name": x.name, "type": str(x.type)[:200]}
            for x in (written.lines if written else ())
        ],
        "n_nodes": n_nodes(graph) if graph else None,
        "ir": text if len(text) <= PAGE_LIMITS.characters else "",
    }


def writing() -> Writing:
    """Return the help for writing models: limits, functions for constants, and examples."""
    return {
        "version": VERSION,
        "languages": list(LANGUAGES),
        "characters": PAGE_LIMITS.characters,
        "makers": [
            {
                "name": name,
                "signature": f"{name}({', '.join(map(_parameter, _parameters(f)))})",
                "words": inspect.getdoc(f) or "",
            }
            for name, f in MAKERS.items()
        ],
        "examples": examples(),
    }


def examples() -> list[TextExample]:
    """Return the built-in examples, each with its first sentence as description."""
    found: list[TextExample] = []
    paths = {p.stem: p for p in (site_folder("samples") / _FOLDER).iterdir() if language_of(p.name)}
    for name in _ORDER:
        text = paths[name].read_text(encoding="utf-8")
        words = text.partition("\n")[0].strip('"/ ')
        language: Language = "py" if paths[name].suffix == ".py" else "ir"
        found.append({"name": name, "language": language, "words": words, "text": text})
    return found


def _parameters(f: Any) -> list[inspect.Parameter]:
    return list(inspect.signature(f).parameters.values())


def _parameter(p: inspect.Parameter) -> str:
    return p.name if p.default is p.empty else f"{p.name}="
