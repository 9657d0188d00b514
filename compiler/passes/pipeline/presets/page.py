"""Generator of docs/pipelines.md: our presets, and a table of passes for each other compiler.

`make tables` writes the page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from compiler.passes.pipeline.pipeline import Line, Pipeline, Repeat
from compiler.passes.pipeline.presets import DEFAULT, manners, presets
from compiler.passes.pipeline.presets.manner import Manner

_HEAD = """# Pipelines

A pipeline is a list of passes with their options: `simplify{until=once},fuse{policy=xla}`. The name
of a preset represents its lines. `-fuse` removes the pass `fuse` from the lines before it
(`default,-fuse`). A group repeats passes until an iteration changes nothing, since these passes
create matches for each other: `until_stable{at_most=4}(simplify,common_subexpression_elimination)`.

`make tables` generates this page from the declarations in `compiler/passes/pipeline/presets/`; a
test compares the two. To add a preset modelled on another system, write a file there with its
passes in order and list it in the folder's `__init__`.

Each line of a preset has its reason. Consecutive lines with the reasons of an earlier preset are
listed together.
"""


def page() -> str:
    """Return the page as Markdown."""
    lines = [_HEAD, *_ours(), *(line for m in manners() for line in _manner(m))]
    return "\n".join(lines).rstrip() + "\n"


def _ours() -> Iterator[str]:
    yield "## Our own\n"
    yield f"`default` is `{DEFAULT}`.\n"
    first: dict[str, str] = {}
    for name, p in presets().items():
        if name != "default" and name not in {m.name for m in manners()}:
            yield from _preset(name, p, first)
            first = {_with_reason(x): name for x in p.lines} | first


def _preset(name: str, p: Pipeline, first: Mapping[str, str]) -> Iterator[str]:
    """Yield the lines of a preset; `first` maps each line to the first preset that contains it."""
    yield f"### {name}\n"
    yield f"{p.words}\n"
    for earlier, lines in groupby(p.lines, lambda x: first.get(_with_reason(x))):
        if earlier is None:
            yield from (f"- {_with_reason(x)}" for x in lines)
        else:
            yield f"- {', '.join(map(_code, lines))}: as in `{earlier}`"
    yield ""


def _with_reason(x: Line | Repeat) -> str:
    return _code(x) + (f": {x.because}" if x.because else "")


def _manner(m: Manner) -> Iterator[str]:
    yield f"## `{m.name}`: modelled on {m.system}\n"
    yield f"{m.words}\n"
    yield "| theirs, in order | ours | |"
    yield "|---|---|---|"
    for step in m.steps:
        words = step.words or (step.ours.because if step.ours is not None else "")
        yield f"| {step.names} | {_code(step.ours)} | {words} |"
    yield f"\n**Similarities.** {m.alike} **Differences.** {m.unlike} Source: {m.source}.\n"


def _code(x: object) -> str:
    return "" if x is None else f"`{x}`"
