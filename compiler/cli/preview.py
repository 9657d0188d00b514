"""What `inspect` says about how a model will run: its works, its fallbacks, and what stays open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console

from compiler.cli.output import count_text, table
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.ir.operator import Array
from compiler.passes.control_flow.declare import specialised
from compiler.passes.control_flow.parameters import needed_parameters, possible_parameters
from compiler.passes.pipeline.run import run_pipeline
from compiler.runtime.inputs import Shapes, assumed_shapes, random_inputs
from compiler.runtime.open.build import NotOpen, choose_open
from compiler.runtime.preview import FATES, Fate, Preview, fates, preview
from compiler.targets.options import CodeOptions
from compiler.targets.target import by_name

WORDS: Mapping[Fate, str] = {
    "native": "generated code",
    "view": "view",
    "constant": "compiled away",
    "reference": "reference",
}


@dataclass(frozen=True)
class Running:
    """How a model will run here. `preview` is None, and `problem` says why, where none can be told.

    `assumed` are the shapes that were taken for inputs whose dimensions are open, and `parameters`
    the elements for those inputs that code is made for; `sizes` says what is done about the
    dimensions.
    """

    preview: Preview | None
    operators: Mapping[str, Mapping[Fate, int]]
    parameters: Mapping[str, Array]
    assumed: Shapes
    sizes: str = ""
    problem: str = ""


def how_it_runs(graph: Graph) -> Running:
    """Run the default passes over a graph and choose how each node runs; no code is made."""
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
    """Whether one program serves all sizes, or why code is made for each set of shapes."""
    if possible_parameters(graph):
        return "code is made for each set of shapes: some inputs are parameters"
    try:
        choose_open(_optimised(graph), CodeOptions())
    except NotOpen as e:
        return f"code is made for each set of shapes: {e}"
    return "one program serves all sizes"


def _parameters(graph: Graph, shapes: Shapes) -> dict[str, Array]:
    """Elements that a run might give for the inputs that code is made for."""
    possible = possible_parameters(graph)
    if not possible:
        return {}
    given = random_inputs(graph, shapes=shapes)
    return needed_parameters(graph, {name: given[name] for name in possible})


def running_json(r: Running) -> dict[str, Any]:
    """The shape that `inspect --json` prints. Units: operations of one run."""
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
        "n_native": o.n_native,
        "n_inside": o.n_inside,
        "n_fallback": len(o.fallbacks),
        "n_crossings": o.n_crossings,
        "flops": o.flops,
        "native_flops": o.native_flops,
        "n_uncounted": o.n_uncounted,
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
    """The same for people."""
    if r.preview is not None:
        rows = [
            (op, *(n.get(f, 0) or "" for f in FATES))
            for op, n in sorted(r.operators.items(), key=lambda x: -sum(x[1].values()))
        ]
        columns = ["operator", *(f">{WORDS[f]}" for f in FATES)]
        console.print(table(columns, rows, "How its nodes will run"))
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
        shapes = ", ".join(f"{k}={'x'.join(map(str, v))}" for k, v in r.assumed.items())
        told = "Tried" if r.problem else "Told"
        yield f"{told} for {shapes}, since the model leaves dimensions open."
    if r.problem:
        yield f"How it will run cannot be told: {r.problem}. Give shapes that fit with --shape."
    if r.preview is not None:
        yield " ".join(_summary(r.preview))
    if r.sizes:
        yield f"Open dimensions: {r.sizes}."
    if r.parameters:
        values = ", ".join(f"{k}={v.tolist()}" for k, v in r.parameters.items())
        yield f"Parameters: code is made for the elements that a run gives them; told for {values}."


def _summary(o: Preview) -> Iterator[str]:
    native, fallbacks = count_text(o.n_native, "launch"), count_text(len(o.fallbacks), "fallback")
    inside = f" ({count_text(o.n_inside, 'kernel')} inside control flow)" if o.n_inside else ""
    yield f"{native} of generated code{inside}, {fallbacks}."
    if o.fallbacks:
        yield f"A run crosses {count_text(o.n_crossings, 'time')} between the two."
    if o.flops:
        yield f"{100 * o.native_flops / o.flops:.4g} % of {o.flops:,} operations are native."
    if o.n_uncounted:
        yield f"Nobody counts the operations of {count_text(o.n_uncounted, 'fallback')}."
