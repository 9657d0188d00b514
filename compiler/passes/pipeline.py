"""Pipelines as data: an ordered list of passes with options, and a reason per line.

    simplify{until=fixpoint},fold_constants{max_growth=1.1},fuse{policy=anchor}

is the text form; a preset's name stands for its lines, and `-fuse` takes a pass out of what stands
before it: `default,-fuse`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compiler.errors import CompileError
from compiler.passes.passes import PASSES, Pass

MAX_LINES = 200
"""A pipeline of more lines is refused: it would only be a way to keep a server busy."""


@dataclass(frozen=True, slots=True)
class Line:
    """One pass of a pipeline, the options that differ from its defaults, and why it stands here."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    because: str = ""

    @property
    def declared(self) -> Pass:
        """The pass. Errors: E-PIPELINE-PASS."""
        return find_pass(self.name)

    def __str__(self) -> str:
        if not self.options:
            return self.name
        inside = ",".join(f"{k}={_value_text(v)}" for k, v in self.options.items())
        return f"{self.name}{{{inside}}}"


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Lines in order; `name` is the preset's, or "" for one written by hand."""

    lines: tuple[Line, ...]
    name: str = ""
    words: str = ""

    def __str__(self) -> str:
        return ",".join(map(str, self.lines)) or "none"

    def without(self, *names: str) -> Pipeline:
        """The pipeline with these passes switched off. Errors: E-PIPELINE-PASS."""
        for name in names:
            find_pass(name)
        return Pipeline(tuple(x for x in self.lines if x.name not in names))

    def advice(self) -> list[str]:
        """Where a pass stands before one that provides what it profits from."""
        found: list[str] = []
        for i, line in enumerate(self.lines):
            given = {g for earlier in self.lines[:i] for g in earlier.declared.gives}
            for need in line.declared.needs:
                if need in given:
                    continue
                givers = [p.name for p in PASSES.values() if need in p.gives]
                found.append(
                    f"{line.name} finds less to do: it profits from {need}, "
                    f"which {' or '.join(givers)} would give before it"
                )
        return found


def find_pass(name: str) -> Pass:
    """The pass with this name. Errors: E-PIPELINE-PASS."""
    if name not in PASSES:
        known = ", ".join(sorted(PASSES))
        raise CompileError("E-PIPELINE-PASS", f"there is no pass {name[:60]!r}; passes: {known}")
    return PASSES[name]


def line(name: str, because: str = "", **options: Any) -> Line:
    """A line with checked options. Errors: E-PIPELINE-PASS, E-PIPELINE-OPTION."""
    declared = find_pass(name)
    bound = declared.bind(options)
    return Line(
        name, {k: bound[k] for k in options if bound[k] != declared.options[k].default}, because
    )


# Text

_WORD = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)\s*")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*([eE][-+]?\d+)?|\.\d+([eE][-+]?\d+)?|inf)")
_NUMBER_CHARACTERS = 40


def _value_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)


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


# Presets


def _clean_up() -> list[Line]:
    return [
        line("fold_constants", "constants first: the other passes look at their elements"),
        line("adopt", "constants may be the parameters that carried operators waited for"),
        line("take_branches", "sizes that are known now decide conditions"),
        line("unroll_loops", "a few steps with sizes of their own become nodes with code"),
        line("write_out", "what a step computes is for all the other passes to see"),
        line("remove_dead", "what nobody reads need not be looked at"),
        line("simplify", "fewer, simpler nodes give the later passes more to match"),
        line("merge_common", "after simplifying, since that makes different nodes equal"),
        line("hoist", "what a loop computes again in every step, now that little else is left"),
    ]


def _affine() -> list[Line]:
    return [
        line("fold_affine", "scales and shifts vanish into weights while nodes are still single"),
        line("fold_constants", "folding left small computations on constants behind"),
        line("merge_common", "folded parameters are often equal"),
        line("remove_dead", "the old weights have no reader any more"),
    ]


def _presets() -> list[Pipeline]:
    return [
        Pipeline(
            (
                *_clean_up(),
                *_affine(),
                line("fuse", "a group is a kernel, and later passes do not look into it"),
                line("assign_layout", "what is one kernel decides which values lie alike"),
                line("fuse_movement", "last: copies between layouts join the transposes they meet"),
            ),
            "O2",
            "Everything that is known to help: the default.",
        ),
        Pipeline(
            (
                line("fold_constants", "shape arithmetic has to be gone before code is made"),
                line("remove_dead", "dead nodes would become kernels"),
            ),
            "O0",
            "Nothing that is not needed: the model as it is, one kernel per node.",
        ),
        Pipeline(
            (
                line("fold_constants", "constants first: the other passes look at their elements"),
                line("adopt", "constants may be the parameters that carried operators waited for"),
                line("take_branches", "sizes that are known now decide conditions"),
                line("unroll_loops", "a few steps with sizes of their own become nodes with code"),
                line("write_out", "what a step computes is for all the other passes to see"),
                line("remove_dead", "what nobody reads need not be looked at"),
                line("simplify", "only rules that keep every bit", inexact=False),
                line("merge_common", "after simplifying, since that makes different nodes equal"),
                line("fuse", "elementwise chains only: quick, and exact", policy="elementwise"),
            ),
            "O1",
            "What is quick to do and changes no bit of the results.",
        ),
        Pipeline(
            (
                line("measure", "the work in the model as it was given"),
                line("fold_constants", "constants first: the other passes look at their elements"),
                line("adopt", "constants may be the parameters that carried operators waited for"),
                line("take_branches", "sizes that are known now decide conditions"),
                line("unroll_loops", "a few steps with sizes of their own become nodes with code"),
                line("write_out", "what a step computes is for all the other passes to see"),
                line("remove_dead", "what nobody reads need not be looked at"),
                line("remove_noops", "one family of rules at a time, to see each one's effect"),
                line("algebra", "one family of rules at a time, to see each one's effect"),
                line("recognise", "one family of rules at a time, to see each one's effect"),
                line("merge_common", "after simplifying, since that makes different nodes equal"),
                line(
                    "hoist",
                    "what a loop computes again in every step, now that little else is left",
                ),
                line("measure", "the work after cleaning up"),
                *_affine(),
                line("measure", "the work after folding scales and shifts"),
                line("fuse", "a group is a kernel, and later passes do not look into it"),
                line("measure", "the traffic that is left"),
                line("assign_layout", "what is one kernel decides which values lie alike"),
                line("fuse_movement", "last: copies between layouts join the transposes they meet"),
            ),
            "debug",
            "The default in smaller steps, with measurements between them.",
        ),
    ]


_cache: dict[str, Pipeline] = {}


def presets() -> Mapping[str, Pipeline]:
    """All presets by name; `default` is `O2`."""
    if not _cache:
        made = {p.name: p for p in _presets()}
        o2 = made["O2"]
        _cache.update({"default": Pipeline(o2.lines, "default", o2.words), **made})
    return _cache


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
