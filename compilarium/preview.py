"""The execution preview of `inspect`: kernels, fallbacks, and open sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console

from compilarium.output import table
from compilarium.summary import running_text, share_text
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.figures.execution import execution
from compiler.ir.graph import Graph
from compiler.ir.operator import Array
from compiler.passes.control_flow.declare import specialised
from compiler.passes.control_flow.parameters import needed_parameters, possible_parameters
from compiler.passes.pipeline.run import run_pipeline
from compiler.runtime.assumed import Shapes, assumed_shapes, shape_texts
from compiler.runtime.inputs import random_inputs
from compiler.runtime.open.build import NotOpen, choose_open
from compiler.runtime.preview import FATES, Fate, Preview, fates, preview
from compiler.targets.options import CodeOptions
from compiler.targets.target import by_name
from compiler.units import count_text

WORDS: Mapping[Fate, str] = {
    "native": "generated code",
    "view": "view",
    "constant": "compiled away",
    "reference": "reference",
}


@dataclass(frozen=True)
class Running:
    """A model's execution preview on this machine, or the `problem` that prevents a preview.

    `assumed` contains the assumed shapes of inputs with open sizes. If the code depends on the
    elements of an input, `parameters` contains the elements assumed for this input. `sizes` states
    whether one program serves all open sizes, or why not.
    """

    preview: Preview | None
    operators: Mapping[str, Mapping[Fate, int]]
    parameters: Mapping[str, Array]
    assumed: Shapes
    sizes: str = ""
    problem: str = ""


def how_it_runs(graph: Graph) -> Running:
    """Run the default passes and choose the implementation of each node; generate no code."""
    assumed: Shapes = {}
    try:
        assumed = assumed_shapes(graph)
        source = specialised(graph, assumed, {})
        parameters = _parameters(source, assumed)
        source = specialised(source, {}, parameters)
    except CompileError as e:
        return Running(None, {}, {}, assumed, problem=e.message)
    found = preview(_optimised(source), by_name("host"))
    sizes = _open_sizes(graph) if assumed else ""
    return Running(found, fates(source, found), parameters, assumed, sizes)


def _optimised(graph: Graph) -> Graph:
    return run_pipeline(graph, verify=False, keep_declined=False)[0]


def _open_sizes(graph: Graph) -> str:
    """Return whether one program serves all sizes, or why each set of shapes needs a program."""
    if possible_parameters(graph):
        return "one program per set of shapes: the code depends on elements of some inputs"
    try:
        choose_open(_optimised(graph), CodeOptions())
    except NotOpen as e:
        return f"one program per set of shapes: {e}"
    return "one program serves all sizes"


def _parameters(graph: Graph, shapes: Shapes) -> dict[str, Array]:
    """Return the elements assumed for the inputs on whose elements the code depends."""
    possible = possible_parameters(graph)
    if not possible:
        return {}
    given = random_inputs(graph, shapes=shapes)
    return needed_parameters(graph, {name: given[name] for name in possible})


def running_json(r: Running) -> dict[str, Any]:
    """Return the data that `inspect --json` prints. Units: operations of one run."""
    data: dict[str, Any] = {
        "parameters": {k: v.tolist() for k, v in r.parameters.items()},
        "assumed_shapes": {k: list(v) for k, v in r.assumed.items()},
        "sizes": r.sizes,
        "problem": r.problem,
    }
    if r.preview is None:
        return data
    o = r.preview
    return {
        **data,
        "operators": {op: {f: n.get(f, 0) for f in FATES} for op, n in r.operators.items()},
        **execution(o.kernels),
        "fallbacks": [
            {
                "node": w.node.name or w.node.output,
                "operator": w.node.op,
                "origins": list(w.node.origins),
                "because": w.because,
            }
            for w in o.fallbacks
        ],
    }


def show_running(console: Console, r: Running) -> None:
    """Print the preview as tables and text."""
    if r.preview is not None:
        rows = [
            (op, *(n.get(f, 0) or "" for f in FATES))
            for op, n in sorted(r.operators.items(), key=lambda x: -sum(x[1].values()))
        ]
        columns = ["operator", *(f">{WORDS[f]}" for f in FATES)]
        console.print(table(columns, rows, "Execution preview"))
        fallbacks = [
            (w.node.name or w.node.output, w.node.op, w.because) for w in r.preview.fallbacks
        ]
        if fallbacks:
            columns = ["run by the reference", "operator", "because"]
            console.print(table(columns, fallbacks))
    for line in _lines(r):
        console.print(line)


def _lines(r: Running) -> Iterator[str]:
    if r.assumed:
        shapes = " ".join(f"--shape {text}" for text in shape_texts(r.assumed))
        yield f"The model leaves dimensions open; assumed {shapes}."
    if r.problem:
        yield f"No execution preview: {r.problem}. Specify shapes with --shape."
    if r.preview is not None:
        yield " ".join(filter(None, _summary(r.preview)))
    if r.sizes:
        yield f"Open dimensions: {r.sizes}."
    if r.parameters:
        values = ", ".join(f"{k}={v.tolist()}" for k, v in r.parameters.items())
        yield f"Parameters: a run specialises code for these inputs' elements; shown for {values}."


def _summary(o: Preview) -> Iterator[str]:
    found = execution(o.kernels)
    yield f"{running_text(found)}."
    if o.fallbacks:
        crossings = count_text(found["n_crossings"], "time")
        yield f"A run switches {crossings} between generated code and fallbacks."
    yield share_text(found)
