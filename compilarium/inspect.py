"""`inspect`: show a model's composition and its execution preview, without compilation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from compilarium.options import load_model, model_argument, named_shapes, shape_option
from compilarium.output import progress, report, reporting, table
from compilarium.preview import Running, how_it_runs, running_json, show_running
from compilarium.summary import composition
from compiler.figures import costs, models
from compiler.figures.listing import figures
from compiler.ir.graph import Graph
from compiler.ir.infer import specialize
from compiler.machine.keep import known


@click.command()
@model_argument()
@shape_option()
@reporting
def command(model: Path, shapes: tuple[tuple[str, tuple[int, ...]], ...]) -> None:
    """Show inputs, operators, parameters, cost and memory of MODEL, and how its nodes will run."""
    with progress(f"reading {model.name}"):
        graph = load_model(model)
        if shapes:
            graph = specialize(graph, named_shapes(shapes))
        running = how_it_runs(graph)
        machine = known()
        work = costs.Work(graph)
    data = {
        "ok": True,
        "model": str(model),
        "name": graph.name,
        "inputs": {v.name: str(v.type) for v in graph.inputs},
        "outputs": {v.name: str(v.type) for v in graph.outputs},
        "operators": models.operators(graph),
        "n_onnx_nodes": models.n_onnx_nodes(graph),
        **composition(graph),
        "n_parameters": models.n_parameters(graph),
        "macs": costs.macs(work),
        "flops": costs.model_flops(work),
        "bytes_moved": costs.bytes_moved(work),
        "peak_bytes": costs.activation_bytes(work),
        "intensity_flops_per_byte": costs.intensity(work),
        "least_seconds": costs.bound_of_nodes(work, machine),
        "is_measured_machine": machine.is_measured,
        "running": running_json(running),
    }
    report(data, lambda c: _show(c, graph, data, running))


SHOWN = {
    "n_onnx_nodes": "n_onnx_nodes",
    "n_nodes": "n_nodes",
    "n_constants": "n_constants",
    "n_parameters": "n_parameters",
    "constant_bytes": "constant_bytes",
    "value_bytes": "value_bytes",
    "macs": "macs",
    "model_flops": "flops",
    "bytes_moved": "bytes_moved",
    "activation_bytes": "peak_bytes",
    "intensity": "intensity_flops_per_byte",
    "bound_of_nodes": "least_seconds",
}
"""The figures of the table, each with its field of the JSON data."""


def _show(console: Console, graph: Graph, data: Mapping[str, Any], running: Running) -> None:
    values = [("input", v.name, v.type) for v in graph.inputs]
    values += [("output", v.name, v.type) for v in graph.outputs]
    console.print(table(["", "name", "type"], values, graph.name))
    if running.preview is None:
        console.print(table(["operator", ">nodes"], data["operators"].items()))
    known_figures = figures()
    rows = [
        (known_figures[name].title, known_figures[name].text(data[field]))
        for name, field in SHOWN.items()
    ]
    console.print(table(["figure", ">"], rows))
    if data["macs"] is None:
        console.print("–: unknown, since the model leaves dimensions open (give --shape).")
    if data["least_seconds"] is not None and not data["is_measured_machine"]:
        console.print("Machine speeds are estimates; measure: compilarium doctor --measure.")
    show_running(console, running)
