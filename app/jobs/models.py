"""Reads the model of a job, and chooses its shapes and inputs."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import compiler
from app.samples import Labelled, Sample, find_sample, labelled
from app.wire.shapes.jobs import Empty, Shape
from app.wire.shapes.jobs import Model as Facts
from compiler.errors import CompileError
from compiler.figures import models
from compiler.frontend.random_weights import random_weights
from compiler.frontend.written import PAGE_LIMITS, decoded, graph_of, language_of
from compiler.ir.graph import Graph, all_nodes
from compiler.ir.types import TensorType
from compiler.limits import UPLOAD_LIMITS
from compiler.options import Options
from compiler.passes.engine.known_rules import all_but
from compiler.passes.pipeline.precision import suiting
from compiler.runtime.assumed import empty_values, is_empty
from compiler.runtime.inputs import random_inputs


@dataclass(frozen=True, slots=True)
class Model:
    """An imported model, with its facts for the page."""

    graph: Graph
    facts: Facts
    labelled: Labelled | None
    file_name: str


def asked_of(compilation: Path) -> dict[str, Any]:
    """Return the request of an earlier job; the request contains the path of the job's model.

    Errors: E-RESULT-ABSENT if the earlier job was evicted.
    """
    try:
        return json.loads((compilation / "request.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        message = "the server no longer keeps the compilation"
        raise CompileError("E-RESULT-ABSENT", message) from None


def options_of(request: Mapping[str, Any]) -> Options:
    """Return the compiler options of a compilation's request."""
    options, without = request["options"], request.get("without")
    return Options(
        request["pipeline"],
        target=options["target"],
        threads=options["threads"],
        precision=options["precision"],
        gate=all_but(without) if without else None,
    )


def read_model(request: Mapping[str, Any]) -> Model:
    """Read the model of a request. Errors: E-REQUEST-UNKNOWN, and the errors of the importer."""
    choice = request["model"]
    if "sample" in choice:
        sample = find_sample(choice["sample"])
        graph = compiler.load(_sample_file(sample, Path(request["cache"])))
        facts = _facts(graph, sample.id, "sample", sample.id, sample.path)
        return Model(graph, facts, labelled(sample), sample.id)
    path = Path(request["path"])
    graph = _load_upload(path, request["name"])
    facts = _facts(graph, request["name"], "upload", choice["upload"], path)
    return Model(graph, facts, None, request["name"])


def model_file(request: Mapping[str, Any]) -> Path | bytes:
    """Return the ONNX file of the requested model; a model written as text is exported.

    Errors: E-REQUEST-UNKNOWN, and the errors of reading and exporting.
    """
    choice = request["model"]
    if "sample" in choice:
        return _sample_file(find_sample(choice["sample"]), Path(request["cache"]))
    path = Path(request["path"])
    is_text = language_of(request["name"])
    return compiler.to_onnx(_load_upload(path, request["name"])) if is_text else path


def _load_upload(path: Path, name: str) -> Graph:
    """Read an upload: a model file, or a text in the language that the file name indicates."""
    language = language_of(name)
    if not language:
        # The server has accepted the size of the file, whatever its limit is.
        n_bytes = path.stat().st_size
        limits = replace(
            UPLOAD_LIMITS,
            file_bytes=max(UPLOAD_LIMITS.file_bytes, n_bytes),
            tensor_elements=max(UPLOAD_LIMITS.tensor_elements, n_bytes),
        )
        return compiler.load(path, limits)
    return graph_of(decoded(path.read_bytes(), name), language, name, PAGE_LIMITS)


def _sample_file(sample: Sample, cache: Path) -> Path | bytes:
    """Return the file of a sample; its random weights are drawn once and cached."""
    if sample.seed is None:
        return sample.path
    kept = cache / f"{sample.id}-{_weights_key(sample)}.onnx"
    if not kept.is_file():
        model = random_weights(sample.path, sample.seed)
        if not _keep(kept, model):
            return model
    return kept


def _weights_key(sample: Sample) -> str:
    """Derive the cache key of random weights from the file, the seed and the method."""
    digest = hashlib.sha256(sample.path.read_bytes())
    digest.update(f"{sample.seed}".encode())
    digest.update(Path(random_weights.__code__.co_filename).read_bytes())
    return digest.hexdigest()[:16]


def _keep(path: Path, data: bytes) -> bool:
    """Write a file atomically; return whether it was stored."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    partial = path.with_suffix(f".{os.getpid()}.partial")
    try:
        partial.write_bytes(data)
        os.replace(partial, path)
        for old in path.parent.glob(f"{path.stem.rpartition('-')[0]}-*.onnx"):
            if old != path:  # drawn from another file, seed or method
                old.unlink(missing_ok=True)
    except OSError:  # a full disk, or a model above the limit of a job's output
        partial.unlink(missing_ok=True)
        return False
    return True


def _facts(
    graph: Graph, name: str, source: Literal["sample", "upload"], model_id: str, path: Path
) -> Facts:
    return {
        "name": name,
        "source": source,
        "id": model_id,
        "bytes": path.stat().st_size,
        "n_onnx_nodes": models.n_onnx_nodes(graph),
        "n_nodes": models.n_nodes(graph),
        "n_constants": models.n_constants(graph),
        "n_parameters": models.n_parameters(graph),
        "constant_bytes": models.constant_bytes(graph),
        "operators": [{"op": op, "count": n} for op, n in models.operators(graph).items()],
        "precisions": suiting(n.op for n in all_nodes(graph)),
    }


def shape_rows(
    graph: Graph, given: Mapping[str, Any], assumed: Mapping[str, Any]
) -> dict[str, Shape]:
    """Return a row for every tensor input: its compiled shape, and whether it was assumed."""
    rows: dict[str, Shape] = {}
    for v in graph.inputs:
        if not isinstance(v.type, TensorType) or v.type.shape is None:
            continue
        dims = given.get(v.name) or assumed.get(v.name) or v.type.dims
        known = [d if isinstance(d, int) else str(d) for d in dims]
        rows[v.name] = {"dims": known, "assumed": v.name in assumed and v.name not in given}
    return rows


def empty_row(imported: Graph, source: Graph) -> Empty:
    """Return the values that have no elements at the sizes of the compilation."""
    results = {r.value: r.name for r in source.results}
    always = set(empty_values(imported))
    values = [v for v in empty_values(source) if v not in always and v not in results]
    outputs = [v.name for v in source.outputs if is_empty(v.type)]
    return {"outputs": outputs, "n_values": len(values), "first": values[0] if values else ""}


def try_random_inputs(
    graph: Graph, shapes: Mapping[str, tuple[int, ...]], seed: int
) -> tuple[dict[str, Any] | None, str]:
    """Return (random inputs from the seed, ""), or (None, reason) if there are no such inputs."""
    try:
        return random_inputs(graph, seed, shapes), ""
    except CompileError as e:
        return None, e.message
