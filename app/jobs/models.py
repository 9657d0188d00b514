"""Reading the model that a job names, and the shapes and inputs to try it with."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import compiler
from app.samples import Labelled, Sample, find_sample, labelled
from app.wire import graphs
from compiler.errors import CompileError
from compiler.frontend.random_weights import random_weights
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
        graph = _load_sample(sample, Path(request["cache"]))
        facts = _facts(graph, sample.id, "sample", sample.id, sample.path)
        return Model(graph, facts, labelled(sample), sample.id)
    path = Path(request["path"])
    graph = compiler.load(path)
    facts = _facts(graph, request["name"], "upload", choice["upload"], path)
    return Model(graph, facts, None, request["name"])


def _load_sample(sample: Sample, cache: Path) -> Graph:
    """The sample's graph; random weights are drawn once and then read from the cache."""
    if sample.seed is None:
        return compiler.load(sample.path)
    kept = cache / f"{sample.id}-{_weights_key(sample)}.onnx"
    if not kept.is_file():
        model = random_weights(sample.path, sample.seed)
        if not _keep(kept, model):
            return compiler.load(model)
    return compiler.load(kept)


def _weights_key(sample: Sample) -> str:
    """What the drawn weights depend on: the file, the seed, and how they are drawn."""
    digest = hashlib.sha256(sample.path.read_bytes())
    digest.update(f"{sample.seed}".encode())
    digest.update(Path(random_weights.__code__.co_filename).read_bytes())
    return digest.hexdigest()[:16]


def _keep(path: Path, data: bytes) -> bool:
    """Write a file whole or not at all; whether it could be kept."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    partial = path.with_suffix(f".{os.getpid()}.partial")
    try:
        partial.write_bytes(data)
        os.replace(partial, path)
    except OSError:  # a full disk, or a model above the limit on what a job may write
        partial.unlink(missing_ok=True)
        return False
    return True


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
