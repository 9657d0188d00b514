"""The block `pipeline`: passes over a graph."""

from __future__ import annotations

from collections import Counter
from typing import Any

from compiler.errors import CompileError, Where
from compiler.passes.pipeline.run import run_pipeline
from compiler.passes.pipeline.text import parse_pipeline
from compiler.trace import Event
from course.blocks.results import Results, Run
from course.format.kind import block_kind
from course.frames.rewriting import rewriting_picture
from course.quantities.amount import Amount
from course.quantities.quantity import counted
from course.quantities.subject import Subject


@block_kind(body="text")
def pipeline(run: Run, text: str, *, name: str, of: str, moving: bool = False) -> Results:
    """Run passes on a graph, and show each step with its reason.

    Results are the quantities `before.X` and `after.X`, and the numbers of rewrites `applied` and
    `declined`, also for each rule: `applied.RULE`. Other blocks see the graph after the passes.
    With `moving`, a moving picture shows the nodes that each rewrite matched and made.
    """
    before = run.graph(of)
    try:
        lines = parse_pipeline(text.strip())
    except CompileError as e:
        raise e.at(Where(run.lesson.source, run.first_line, 1)) from None
    after, trace = run_pipeline(before, lines)
    amounts: dict[str, Amount] = {}
    for part, made in (("before", before), ("after", after)):
        amounts |= {f"{part}.{name}": a for name, a in counted(Subject(made)).items()}
    steps = [s for e in trace.events for s in e.steps]
    amounts |= {o: Amount(sum(s.outcome == o for s in steps)) for o in ("applied", "declined")}
    rules = Counter(f"{s.outcome}.{s.rule}" for s in steps)
    amounts |= {name: Amount(n) for name, n in rules.items()}
    data: dict[str, Any] = {"passes": [_shown(e) for e in trace.events]}
    if moving:
        data["motion"] = rewriting_picture(before, lines, trace)
    return Results(amounts, {"before": str(before), "after": str(after)}, data, after)


def _shown(event: Event) -> dict[str, Any]:
    steps = [{"rule": s.rule, "outcome": s.outcome, "at": s.at, "because": s.because}
             for s in event.steps]  # fmt: skip
    return {"name": event.name, "words": event.words, "changed": event.changed, "steps": steps}
