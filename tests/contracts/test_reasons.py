"""Every reason of every rewrite of the samples is whole: no part is empty, and counts agree."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import compiler
from app.samples import Sample, samples
from compiler.ir.graph import Graph
from compiler.ir.infer import specialize
from compiler.passes import presets
from compiler.passes.pipeline.run import run_pipeline
from compiler.trace import Step

DEFECTS = {
    "an empty list before a comma, a semicolon or a bracket": r"[:(;] *[;,)]|, *[;)]|, ,",
    "an empty end": r"[:,;(]\s*$|\b(?:to|of|from|at|with|by|and|or|the|than)\s*$",
    "an empty beginning": r"^\s*[,;:)]|^\s*$",
    "an empty word before punctuation": r"\b(?:to|of|from|at|with|by|and|or|the|than)\s+[,;:]",
    "a plural after 1": r"(?<![\d.,/x*-])\b1 (?:[a-z]+ies|[a-z]+[^su'\d]s)\b(?! (?:is|of))",
    "two spaces": r"  ",
    "a Python value": r"\bNone\b|\[\]|\{\}|''|<\w+ object|\[-?\d+ +-?\d",
}


def broken(because: str) -> str:
    """Return what is wrong with a reason, "" if nothing is."""
    return next((what for what, form in DEFECTS.items() if re.search(form, because)), "")


def steps_of(sample: Sample, pipelines: list[str]) -> Iterator[tuple[str, Step]]:
    graph = compiler.load(sample.path)
    given = {name: tuple(dims) for name, dims in sample.shapes.items()}
    source: Graph = specialize(graph, given) if given else graph
    for name in pipelines:
        _, trace = run_pipeline(source, name)
        for event in trace.events:
            yield from ((f"{name}, {event.name}", step) for step in event.steps)


@pytest.mark.parametrize(
    "because",
    [
        "f32[4] is copied to , the layout that Winograd tiles read",
        "read in place, as its reader takes it: ; the copy moves 8 bytes",
        "the shape [-1  8  8] is constant already",
        "a and b are joined ()",
        "the image has 1 channels, fewer than 16",
        "1 copies move 8 bytes",
        "no kernel reads the results of ",
    ],
)
def test_a_defect_is_found(because: str) -> None:
    assert broken(because)


@pytest.mark.parametrize("sample", samples().values(), ids=lambda each: each.id)
def test_no_reason_has_a_defect(sample: Sample) -> None:
    # Our own samples run through every preset, the larger samples through the default preset.
    pipelines = list(presets()) if sample.seed is None else ["default"]
    wrong = {
        (place, step.rule, step.because): what
        for place, step in steps_of(sample, pipelines)
        if (what := broken(step.because))
    }
    assert not wrong
