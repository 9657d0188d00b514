"""The sample models: our own trained models, and the light models of the onnx package.

`samples/catalogue.json` lists them. Light models have no trained weights; the importer draws random
weights with the seed in the catalogue.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import compiler
from app.paths import site_folder
from compiler.errors import CompileError
from compiler.frontend.random_weights import random_weights
from compiler.ir.graph import Graph
from compiler.ir.infer import specialize

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Sample:
    """A row of the catalogue. `seed` is set if the weights are random."""

    id: str
    title: str
    words: str
    path: Path
    input: str
    seed: int | None
    test: Path | None
    accuracy: float | None
    shapes: Mapping[str, list[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Labelled:
    """Held-out images [n, ...], and the class of each image, from 0 to n_classes - 1."""

    input: str
    images: Array
    labels: Array


def samples(folder: Path | None = None) -> dict[str, Sample]:
    """Return the samples whose files exist, by id, in the order of the catalogue.

    `folder` has the catalogue; by default it is the folder that ships.
    """
    folder = folder or site_folder("samples")
    try:
        rows = json.loads((folder / "catalogue.json").read_text(encoding="utf-8"))["samples"]
    except FileNotFoundError:
        return {}
    found = (_sample(folder, row) for row in rows)
    return {s.id: s for s in found if s.path.is_file()}


def find_sample(sample_id: str, folder: Path | None = None) -> Sample:
    """Find a sample by id. Errors: E-REQUEST-UNKNOWN."""
    known = samples(folder)
    if sample_id not in known:
        raise CompileError(
            "E-REQUEST-UNKNOWN",
            f"there is no sample {sample_id[:60]!r}",
            hint=f"choose one of {', '.join(known)}",
        )
    return known[sample_id]


def sample_graph(sample_id: str, folder: Path | None = None) -> Graph:
    """Return the graph of a sample with its suggested sizes; missing weights are drawn.

    `folder` has the catalogue; by default it is the folder that ships. Errors: E-REQUEST-UNKNOWN.
    """
    sample = find_sample(sample_id, folder)
    model = sample.path if sample.seed is None else random_weights(sample.path, sample.seed)
    graph = compiler.load(model)
    return specialize(graph, sample.shapes) if sample.shapes else graph


@cache
def operators(path: Path, *, is_drawn: bool = False) -> tuple[str, ...]:
    """Return the ONNX operator of each node of a sample, including the nodes of subgraphs.

    `is_drawn` omits the nodes whose results are replaced by drawn weights. The file must be
    trusted, since the server parses it.
    """
    graph = onnx.load(path, load_external_data=False).graph
    stored = {t.name for t in graph.initializer}
    nodes = (n for n in _nodes(graph) if not (is_drawn and _is_weight(n, stored)))
    return tuple(f"{n.domain}:{n.op_type}" if n.domain else n.op_type for n in nodes)


def _is_weight(node: onnx.NodeProto, stored: set[str]) -> bool:
    return node.op_type == "ConstantOfShape" and node.input[0] in stored


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for a in node.attribute:
            if a.type == a.GRAPH:
                yield from _nodes(a.g)


def read_labelled(file: Path, input_name: str) -> Labelled:
    """Read the held-out data of a sample for the input with this name."""
    with np.load(file, allow_pickle=False) as data:
        return Labelled(input_name, data["images"], data["labels"])


def _sample(folder: Path, row: Mapping[str, Any]) -> Sample:
    return Sample(
        row["name"],
        row["title"],
        row["words"],
        _package_path(row["package"], row["path"]) if "package" in row else folder / row["file"],
        row["input"],
        row.get("seed"),
        folder / row["test"] if "test" in row else None,
        row.get("accuracy"),
        row.get("shapes", {}),
    )


def _package_path(package: str, path: str) -> Path:
    """Find a data file of an installed package without importing it."""
    spec = importlib.util.find_spec(package)
    home = Path(spec.origin).parent if spec and spec.origin else Path(package)
    return home / path
