"""Generator of docs/pipelines.md: our presets, and a table of passes for each other compiler.

python -m compiler.passes.pipeline.presets.page > docs/pipelines.md
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.passes.pipeline.pipeline import Pipeline
from compiler.passes.pipeline.presets import DEFAULT, manners, presets
from compiler.passes.pipeline.presets.manner import Manner

_HEAD = """# Pipelines

A pipeline is a list of passes with their options: `simplify{until=once},fuse{policy=xla}`. A
preset's name stands for its lines, `-fuse` removes a pass from the lines before it
(`default,-fuse`), and a group repeats passes that create matches for each other until an iteration
changes nothing: `until_stable{at_most=4}(simplify,common_subexpression_elimination)`.

This page is written by `python -m compiler.passes.pipeline.presets.page` from the declarations in
`compiler/passes/pipeline/presets/`; a test compares the two. To add a preset modelled on another
system, write a file there with its passes in order and list it in the folder's `__init__`.
"""


def page() -> str:
    """Return the page as Markdown."""
    lines = [_HEAD, *_ours(), *(line for m in manners() for line in _manner(m))]
    return "\n".join(lines).rstrip() + "\n"


def _ours() -> Iterator[str]:
    yield "## Our own\n"
    yield f"`default` is `{DEFAULT}`.\n"
    for name, p in presets().items():
        if name != "default" and name not in {m.name for m in manners()}:
            yield from _preset(name, p)


def _preset(name: str, p: Pipeline) -> Iterator[str]:
    yield f"### {name}\n"
    yield f"{p.words}\n"
    for x in p.lines:
        yield f"- `{x}`" + (f": {x.because}" if x.because else "")
    yield ""


def _manner(m: Manner) -> Iterator[str]:
    yield f"## `{m.name}`: modelled on {m.system}\n"
    yield f"{m.words}\n"
    yield f"    {m.pipeline}\n"
    yield "| theirs, in order | ours | |"
    yield "|---|---|---|"
    for step in m.steps:
        words = step.words or (step.ours.because if step.ours is not None else "")
        yield f"| {step.names} | {_code(step.ours)} | {words} |"
    yield f"\n**Similarities.** {m.alike}\n"
    yield f"**Differences.** {m.unlike}\n"
    yield f"Order read from: {m.source}.\n"


def _code(x: object) -> str:
    return "" if x is None else f"`{x}`"


if __name__ == "__main__":
    print(page(), end="")
