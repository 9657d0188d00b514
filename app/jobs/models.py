"""Reads the model of a job, and chooses its shapes and inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import compiler
from app.jobs.task import COMPILED, MODEL, OTHER, OTHER_SCHEDULES, SCHEDULES, Source, Task
from app.samples import Labelled, read_labelled
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


@dataclass(frozen=True, slots=True)
class Compilation:
    """A compilation that a task runs or repeats: its request, its model and its tuned schedules."""

    request: Mapping[str, Any]
    source: Source
    file: Path
    schedules: Path | None

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of the request."""
        return self.request["options"]

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of inputs that the request gives."""
        return {name: tuple(dims) for name, dims in self.request["shapes"].items()}


def own_compilation(task: Task) -> Compilation:
    """Return the compilation that this job runs."""
    return _compilation(task, task.request, SCHEDULES)


def compilation_of(task: Task) -> Compilation:
    """Return the compilation that this job examines."""
    return _compilation(task, task.compilations[COMPILED], SCHEDULES)


def other_compilation(task: Task) -> Compilation:
    """Return the second compilation of a comparison."""
    return _compilation(task, task.compilations[OTHER], OTHER_SCHEDULES)


def _compilation(task: Task, request: Mapping[str, Any], schedules: str) -> Compilation:
    assert task.model is not None, f"a job of kind {task.request['kind']} declares no model"
    return Compilation(request, task.model, task.inputs[MODEL], task.inputs.get(schedules))


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


def read_model(made: Compilation, images: Path | None = None) -> Model:
    """Read the model of a compilation; `images` is the file of its labelled images.

    Errors: the errors of the importer.
    """
    source = made.source
    if source.kind == "sample":
        graph = compiler.load(_sample_file(made))
    else:
        graph = _load_upload(made.file, source.name)
    held_out = read_labelled(images, source.labelled) if images and source.labelled else None
    return Model(graph, _facts(graph, source), held_out, source.name)


def model_file(made: Compilation) -> Path | bytes:
    """Return the ONNX file of the model; a model written as text is exported.

    Errors: the errors of reading and exporting.
    """
    if made.source.kind == "sample":
        return _sample_file(made)
    is_text = language_of(made.source.name)
    return compiler.to_onnx(_load_upload(made.file, made.source.name)) if is_text else made.file


def _sample_file(made: Compilation) -> Path | bytes:
    """Return the file of a sample; weights that the server could not store are drawn again."""
    seed = made.source.seed
    return made.file if seed is None else random_weights(made.file, seed)


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


def _facts(graph: Graph, source: Source) -> Facts:
    return {
        "name": source.name,
        "source": "sample" if source.kind == "sample" else "upload",
        "id": source.id,
        "bytes": source.n_bytes,
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
