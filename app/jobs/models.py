"""Reading the model that a job names, and the shapes and inputs to try it with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import compiler
from app.samples import Labelled, find_sample, labelled
from app.wire import graphs
from compiler.errors import CompileError
from compiler.ir.graph import Graph
from compiler.ir.types import TensorType
from compiler.runtime.inputs import random_inputs


@dataclass(frozen=True, slots=True)
class Model:
    """A model as it was read, and what the page says about it."""

    graph: Graph
    facts: Mapping[str, Any]
    labelled: Labelled | None
    file_name: str


def read_model(request: Mapping[str, Any]) -> Model:
    """Read the model of a request. Errors: E-REQUEST-UNKNOWN, and what reading raises."""
    choice = request["model"]
    if "sample" in choice:
        sample = find_sample(choice["sample"])
        graph = _load_sample(sample.path, sample.seed)
        facts = _facts(graph, sample.id, "sample", sample.id, sample.path)
        return Model(graph, facts, labelled(sample), sample.id)
    path = Path(request["path"])
    graph = compiler.load(path)
    facts = _facts(graph, request["name"], "upload", choice["upload"], path)
    return Model(graph, facts, None, request["name"])


def _load_sample(path: Path, seed: int | None) -> Graph:
    if seed is None:
        return compiler.load(path)
    from compiler.frontend.random_weights import random_weights

    return compiler.load(random_weights(path, seed))


def _facts(graph: Graph, name: str, source: str, model_id: str, path: Path) -> dict[str, Any]:
    constants = graph.constants.values()
    return {
        "name": name,
        "source": source,
        "id": model_id,
        "bytes": path.stat().st_size,
        "n_nodes": len(graph.nodes),
        "n_constants": len(graph.constants),
        "n_parameters": sum(
            c.type.n_elements for c in constants if c.type.dtype.is_float and c.type.rank
        ),
        "constant_bytes": sum(map(graphs.constant_bytes, constants)),
        "operators": graphs.counts(n.op for n in graph.nodes),
    }


def shape_rows(
    graph: Graph, given: Mapping[str, Any], assumed: Mapping[str, Any]
) -> dict[str, Any]:
    """Every tensor input with the shape it is compiled for, and who chose it."""
    rows: dict[str, Any] = {}
    for v in graph.inputs:
        if not isinstance(v.type, TensorType) or v.type.shape is None:
            continue
        dims = given.get(v.name) or assumed.get(v.name) or v.type.dims
        known = [d if isinstance(d, int) else str(d) for d in dims]
        rows[v.name] = {"dims": known, "assumed": v.name in assumed and v.name not in given}
    return rows


def try_random_inputs(
    graph: Graph, shapes: Mapping[str, tuple[int, ...]], seed: int
) -> tuple[dict[str, Any] | None, str]:
    """Seeded inputs, or why there are none."""
    try:
        return random_inputs(graph, seed, shapes), ""
    except CompileError as e:
        return None, e.message
