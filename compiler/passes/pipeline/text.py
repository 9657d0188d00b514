"""The text form of pipelines, read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from compiler.errors import CompileError
from compiler.passes.pipeline.pipeline import MAX_LINES, Line, Pipeline, find_pass, line
from compiler.passes.pipeline.presets import presets

_WORD = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*([eE][-+]?\d+)?|\.\d+([eE][-+]?\d+)?|inf)")
_NUMBER_CHARACTERS = 40


def parse_pipeline(text: str) -> Pipeline:
    """The pipeline that a text describes: passes, presets, and `-name` to switch a pass off.

    Errors: E-PIPELINE-SYNTAX, E-PIPELINE-PASS, E-PIPELINE-OPTION.

    >>> str(parse_pipeline("remove_dead, fold_constants{max_growth=2}"))
    'remove_dead,fold_constants{max_growth=2.0}'
    """
    items = _split(text)
    if len(items) == 1 and items[0] in presets():
        return presets()[items[0]]
    lines: list[Line] = []
    for item in items:
        if item.startswith("-"):
            name = item[1:].strip()
            find_pass(name)
            lines = [x for x in lines if x.name != name]
        elif item in presets():
            lines += presets()[item].lines
        elif item != "none":
            lines.append(_parse_line(item))
    if len(lines) > MAX_LINES:
        raise CompileError(
            "E-PIPELINE-SYNTAX", f"a pipeline has at most {MAX_LINES} passes, got {len(lines)}"
        )
    return Pipeline(tuple(lines))


def _split(text: str) -> list[str]:
    items, depth, start = [], 0, 0
    for i, ch in enumerate(text):
        depth += (ch == "{") - (ch == "}")
        if depth not in (0, 1):
            raise CompileError("E-PIPELINE-SYNTAX", f"braces do not match at {text[i : i + 20]!r}")
        if ch == "," and depth == 0:
            items.append(text[start:i].strip())
            start = i + 1
    items.append(text[start:].strip())
    if depth:
        raise CompileError("E-PIPELINE-SYNTAX", "a brace is not closed")
    if items == [""]:
        raise CompileError(
            "E-PIPELINE-SYNTAX", "the pipeline is empty", hint='write "none" for no passes'
        )
    if "" in items:
        raise CompileError("E-PIPELINE-SYNTAX", "needed a pass between two commas")
    return items


def _parse_line(item: str) -> Line:
    name, brace, rest = item.partition("{")
    found = _WORD.fullmatch(name)
    if found is None or (brace and not rest.endswith("}")):
        raise CompileError("E-PIPELINE-SYNTAX", f"needed name{{option=value}}, got {item[:60]!r}")
    options: dict[str, Any] = {}
    for part in filter(None, (p.strip() for p in rest[:-1].split(","))):
        key, equals, value = part.partition("=")
        word = _WORD.fullmatch(key)
        if word is None or not equals:
            raise CompileError("E-PIPELINE-SYNTAX", f"needed option=value, got {part[:60]!r}")
        if word[1] in options:
            raise CompileError("E-PIPELINE-SYNTAX", f"{found[1]} has {word[1]} twice")
        options[word[1]] = _parse_value(value.strip())
    return line(found[1], **options)


def _parse_value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if _NUMBER.fullmatch(text) and len(text) <= _NUMBER_CHARACTERS:
        return int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)
    found = _WORD.fullmatch(text)
    if found is None:
        raise CompileError("E-PIPELINE-SYNTAX", f"needed a word or a number, got {text[:60]!r}")
    return found[1]


def as_pipeline(pipeline: str | Pipeline | Sequence[Line | str]) -> Pipeline:
    """A pipeline from text, lines or their texts, or itself. Errors: as parse_pipeline."""
    if isinstance(pipeline, Pipeline):
        return pipeline
    if isinstance(pipeline, str):
        return parse_pipeline(pipeline)
    given: object = pipeline
    if not isinstance(given, Sequence):
        raise _no_pipeline(given)
    return Pipeline(tuple(line for item in pipeline for line in _lines_of(item)))


def _lines_of(item: object) -> tuple[Line, ...]:
    if isinstance(item, Line):
        return (item,)
    if isinstance(item, str):
        return parse_pipeline(item).lines
    raise _no_pipeline(item)


def _no_pipeline(given: object) -> CompileError:
    return CompileError(
        "E-PIPELINE-SYNTAX", f"a pipeline is a text or a list of passes, got {given!r:.60}"
    )
