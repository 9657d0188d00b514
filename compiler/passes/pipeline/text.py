"""Parser of the text form of pipelines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from compiler.errors import CompileError
from compiler.passes.pipeline.pipeline import (
    AT_MOST,
    MAX_LINES,
    UNTIL_STABLE,
    Line,
    Pipeline,
    Repeat,
    line,
)
from compiler.passes.pipeline.presets import presets

MAX_ROUNDS = 50
"""Limit on the number of iterations of a group, against denial of service."""

_OPENS = "{("
_CLOSES = {"}": "{", ")": "("}
_NESTINGS = ("", "{", "(", "({")
"""Legal nesting of braces: options, a group, and options inside a group; groups do not nest."""

_WORD = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*([eE][-+]?\d+)?|\.\d+([eE][-+]?\d+)?|inf)")
_NUMBER_CHARACTERS = 40


def parse_pipeline(text: str) -> Pipeline:
    """Parse a pipeline: passes, presets, and `-name` to remove a pass.

    Errors: E-PIPELINE-SYNTAX, E-PIPELINE-PASS, E-PIPELINE-OPTION.

    >>> str(parse_pipeline("dead_code_elimination, fold_constants{max_growth=2}"))
    'dead_code_elimination,fold_constants{max_growth=2.0}'
    """
    items = _split(text)
    if len(items) == 1 and items[0] in presets():
        return presets()[items[0]]
    made = Pipeline(())
    for item in items:
        if item.startswith("-"):
            made = made.without(item[1:].strip())
        elif item in presets():
            made = Pipeline(made.lines + presets()[item].lines)
        elif item.endswith(")"):
            made = Pipeline((*made.lines, _parse_group(item)))
        elif item != "none":
            made = Pipeline((*made.lines, _parse_line(item)))
    if len(made.passes) > MAX_LINES:
        raise CompileError(
            "E-PIPELINE-SYNTAX",
            f"a pipeline may have at most {MAX_LINES} passes, got {len(made.passes)}",
        )
    return made


def _parse_group(item: str) -> Repeat:
    """Parse `until_stable{at_most=4}(simplify,fold_constants)`; a group may contain presets."""
    head, _, inside = item[:-1].partition("(")
    name, options = _parse_head(head)
    at_most = options.pop("at_most", AT_MOST)
    if name != UNTIL_STABLE or options or type(at_most) is not int or at_most < 1:
        raise CompileError(
            "E-PIPELINE-SYNTAX", f"expected {UNTIL_STABLE}{{at_most=4}}(...), got {item[:60]!r}"
        )
    if at_most > MAX_ROUNDS:
        raise CompileError(
            "E-PIPELINE-OPTION",
            f"{UNTIL_STABLE} allows at most {MAX_ROUNDS} iterations, got {at_most}",
        )
    lines = parse_pipeline(inside).passes
    if not lines:
        raise CompileError("E-PIPELINE-SYNTAX", f"the group has no passes: {item[:60]!r}")
    return Repeat(lines, at_most)


def _split(text: str) -> list[str]:
    items, start, inside = [], 0, ""
    for i, ch in enumerate(text):
        if ch in _OPENS:
            inside += ch
        elif ch in _CLOSES:
            inside = inside[:-1] if inside[-1:] == _CLOSES[ch] else "?"
        elif ch == "," and not inside:
            items.append(text[start:i].strip())
            start = i + 1
        if inside not in _NESTINGS:
            raise CompileError("E-PIPELINE-SYNTAX", f"braces do not match at {text[i : i + 20]!r}")
    items.append(text[start:].strip())
    if inside:
        raise CompileError("E-PIPELINE-SYNTAX", "a brace is not closed")
    if items == [""]:
        raise CompileError(
            "E-PIPELINE-SYNTAX",
            "the pipeline is empty",
            hint='write "none" for a pipeline without passes',
        )
    if "" in items:
        raise CompileError("E-PIPELINE-SYNTAX", "expected a pass between two commas")
    return items


def _parse_line(item: str) -> Line:
    name, options = _parse_head(item)
    return line(name, **options)


def _parse_head(item: str) -> tuple[str, dict[str, Any]]:
    """Parse a name with its options."""
    name, brace, rest = item.partition("{")
    found = _WORD.fullmatch(name)
    if found is None or (brace and not rest.endswith("}")):
        raise CompileError("E-PIPELINE-SYNTAX", f"expected name{{option=value}}, got {item[:60]!r}")
    options: dict[str, Any] = {}
    for part in filter(None, (p.strip() for p in rest[:-1].split(","))):
        key, equals, value = part.partition("=")
        word = _WORD.fullmatch(key)
        if word is None or not equals:
            raise CompileError("E-PIPELINE-SYNTAX", f"expected option=value, got {part[:60]!r}")
        if word[1] in options:
            raise CompileError("E-PIPELINE-SYNTAX", f"{found[1]} sets {word[1]} twice")
        options[word[1]] = _parse_value(value.strip())
    return found[1], options


def _parse_value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if _NUMBER.fullmatch(text) and len(text) <= _NUMBER_CHARACTERS:
        return int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)
    found = _WORD.fullmatch(text)
    if found is None:
        raise CompileError("E-PIPELINE-SYNTAX", f"expected a word or a number, got {text[:60]!r}")
    return found[1]


def as_pipeline(pipeline: str | Pipeline | Sequence[Line | Repeat | str]) -> Pipeline:
    """Convert a text, or a list of lines or texts, to a pipeline. Errors: as parse_pipeline."""
    if isinstance(pipeline, Pipeline):
        return pipeline
    if isinstance(pipeline, str):
        return parse_pipeline(pipeline)
    given: object = pipeline
    if not isinstance(given, Sequence):
        raise _no_pipeline(given)
    return Pipeline(tuple(line for item in pipeline for line in _lines_of(item)))


def _lines_of(item: object) -> tuple[Line | Repeat, ...]:
    if isinstance(item, Line | Repeat):
        return (item,)
    if isinstance(item, str):
        return parse_pipeline(item).lines
    raise _no_pipeline(item)


def _no_pipeline(given: object) -> CompileError:
    return CompileError(
        "E-PIPELINE-SYNTAX", f"a pipeline must be a text or a list of passes, got {given!r:.60}"
    )
