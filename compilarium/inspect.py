"""`inspect`: show a model's composition and its execution preview, without compilation."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console

from compilarium.options import load_model, model_argument, named_shapes, shape_option
from compilarium.output import progress, report, reporting, table
from compilarium.preview import Running, how_it_runs, running_json, show_running
from compilarium.summary import Facts, graph_facts, least_seconds
from compiler.ir.graph import Graph
from compiler.ir.infer import specialize
from compiler.machine.keep import known
from compiler.units import bytes_text, seconds_text


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
        facts = graph_facts(graph)
        running = how_it_runs(graph)
        machine = known()
        least = least_seconds(graph, machine)
    data = {
        "ok": True,
        "model": str(model),
        "name": graph.name,
        "inputs": {v.name: str(v.type) for v in graph.inputs},
        "outputs": {v.name: str(v.type) for v in graph.outputs},
        "operators": dict(facts.operators),
        "n_nodes": facts.n_nodes,
        "n_parameters": facts.n_parameters,
        "constant_bytes": facts.constant_bytes,
        "macs": facts.macs,
        "flops": facts.flops,
        "bytes_moved": facts.bytes_moved,
        "peak_bytes": facts.peak_bytes,
        "intensity_flops_per_byte": facts.intensity,
        "least_seconds": least,
        "is_measured_machine": machine.is_measured,
        "running": running_json(running),
    }
    how = "the measured" if machine.is_measured else "estimated"
    told = "" if least is None else f"{seconds_text(least)}, by {how} speeds of a core"
    report(data, lambda c: _show(c, graph, facts, running, told))


def _show(console: Console, graph: Graph, facts: Facts, running: Running, least: str) -> None:
    values = [("input", v.name, v.type) for v in graph.inputs]
    values += [("output", v.name, v.type) for v in graph.outputs]
    console.print(table(["", "name", "type"], values, graph.name))
    if running.preview is None:
        console.print(table(["operator", ">nodes"], facts.operators.items()))

    def figure(n: float | None) -> str:
        return "open dimensions (give --shape)" if n is None else f"{n:,.0f}"

    intensity = facts.intensity
    rows = [
        ("nodes", f"{facts.n_nodes:,}"),
        ("parameters", f"{facts.n_parameters:,} ({bytes_text(facts.constant_bytes)})"),
        ("multiply-adds", figure(facts.macs)),
        ("operations", figure(facts.flops)),
        ("bytes moved", figure(facts.bytes_moved)),
        ("peak memory of activations", figure(facts.peak_bytes)),
        ("operations per byte", "" if intensity is None else f"{intensity:.1f}"),
        ("lower bound of a run on this machine, separate launches", least),
    ]
    console.print(table(["fact", ">"], rows))
    show_running(console, running)
