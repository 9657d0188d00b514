"""Values of figures at all places that show them: the payloads of jobs, and commands.

A place is a path such as `result.stages[passes].n_nodes`. Its first part is a document: the output
of a command, or a part of a result. A word in brackets selects items of a list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import pytest

from app.jobs import measures
from app.jobs.parts import Parts
from app.jobs.task import COMPILED, MODEL, Source, Task
from app.samples import operators
from compilarium import compile as compile_command
from compilarium import inspect as inspect_command
from compilarium import run as run_command
from compilarium.output import print_json
from compiler.figures.figure import Figure
from tests.app.direct import LIMITS, run_directly
from tests.compilarium.commands import invoke, told

MEASURE_S = 0.02
OPTIONS = {
    "target": "host",
    "precision": "f32",
    "threads": 1,
    "seed": 0,
    "measure": True,
    "check": True,
    "accuracy": False,
}


@dataclass(frozen=True)
class Shown:
    """All documents about a model, and the text that each command prints."""

    documents: Mapping[str, Any]
    texts: Mapping[str, str]


def shown(
    made: onnx.ModelProto,
    shapes: Mapping[str, Sequence[int]],
    folder: Path,
    patch: pytest.MonkeyPatch,
    with_check: bool = False,
) -> Shown:
    """Compile and run a model as the server and as the commands do."""
    path = folder / "model.onnx"
    onnx.save(made, path)
    patch.setattr(measures, "MEASURE_S", MEASURE_S)
    given = [f"{name}={','.join(map(str, dims))}" for name, dims in shapes.items()]
    options = [word for text in given for word in ("--shape", text)]
    documents = _job(path, shapes, folder / "job", with_check)
    documents["samples"] = {"n_onnx_nodes": len(operators(path))}
    texts: dict[str, str] = {}
    asked = {
        "inspect": (inspect_command, []),
        "compile": (compile_command, []),
        "run": (run_command, ["--random", "0", "--profile", "3"]),
    }
    for command, (module, more) in asked.items():
        documents[command], texts[command] = _both(patch, module, [command, path, *options, *more])
    if with_check:
        documents["check"] = told("check", path, *options)
    return Shown(documents, texts)


def _job(
    path: Path, shapes: Mapping[str, Sequence[int]], folder: Path, with_check: bool
) -> dict[str, Any]:
    folder.mkdir()
    request = {
        "kind": "compile",
        "model": {"upload": "model"},
        "pipeline": "default",
        "shapes": {name: list(dims) for name, dims in shapes.items()},
        "options": OPTIONS,
    }
    source = Source("upload", "model", path.name, path.stat().st_size)
    run_directly(Task(request, LIMITS, {MODEL: path}, model=source), folder)
    names = ["result", "profile"]
    if with_check:
        checked = {"kind": "check", "job": "job", "seed": 0}
        inputs = {MODEL: path, COMPILED: folder}
        run_directly(Task(checked, LIMITS, inputs, {COMPILED: request}, source), folder)
        names.append("numerics")
    parts = Parts(folder)
    found = {name: parts.read(name) for name in names if parts.has(name)}
    stages = found["result"]["stages"]
    steps = [s for row in stages for s in parts.read(f"stage-{row['stage']}-steps")["steps"]]
    return {**found, "steps": steps}


def _both(patch: pytest.MonkeyPatch, module: Any, words: Sequence[object]) -> tuple[Any, str]:
    """Return the JSON and the text of one run of a command, so both have the same measurements."""
    kept: list[Any] = []

    def report(data: Any, show: Callable[[Any], None]) -> None:
        kept.append(data)
        original(data, show)

    original = module.report
    with patch.context() as m:
        m.setattr(module, "report", report)
        result = invoke(*words)
    assert result.exit_code == 0, result.output
    return json.loads(_as_json(kept[0])), result.output


def _as_json(data: Any) -> str:
    lines: list[str] = []
    with pytest.MonkeyPatch.context() as m:
        m.setattr("compilarium.output.click.echo", lines.append)
        print_json(data)
    return lines[0]


SELECTORS: Mapping[str, Callable[[list[Any]], list[Any]]] = {
    "": lambda items: items,
    "passes": lambda items: [s for s in items[1:] if s["name"] != "specialise"],
    "sized": lambda items: [items[1 if items[1]["name"] == "specialise" else 0]],
    "launched": lambda items: [k for k in items if k["median_s"] is not None],
    "program": lambda items: [s for s in items if s["stage"] == "program"],
}

_PART = re.compile(r"(\w+)(?:\[(\w*)\])?")


def values(documents: Mapping[str, Any], place: str) -> list[Any]:
    """Return the values at a place; a path with lists has several. Errors: KeyError."""
    found: list[Any] = [documents]
    for part in place.split("."):
        match = _PART.fullmatch(part)
        assert match, f"{place}: {part} is not a name"
        found = [None if item is None else item[match[1]] for item in found]
        if "[" in part:
            found = [inner for item in found for inner in SELECTORS[match[2]](item)]
    return found


@dataclass(frozen=True)
class Occurrence:
    """The values of one figure that must be equal, by place; `item` is an index within lists."""

    figure: Figure
    item: int
    places: Mapping[str, Any]

    @property
    def disagreement(self) -> str:
        """Describe different values; "" if all are equal."""
        if len({json.dumps(_plain(v)) for v in self.places.values()}) < 2:
            return ""
        told_ = ", ".join(
            f"{place} is {v!r} ({self.figure.text(v)})" for place, v in self.places.items()
        )
        return f"{self.figure.name}, item {self.item}: {told_}"


def _plain(value: Any) -> Any:
    """Return a form in which equal values are equal: operators are a list or a mapping."""
    if isinstance(value, list) and value and "op" in value[0]:
        return {row["op"]: row["count"] for row in value}
    return float(value) if isinstance(value, int) else value


def occurrences(
    figures: Mapping[str, Figure],
    documents: Mapping[str, Any],
    leave_out: Callable[[str], bool] = lambda place: False,
) -> Iterator[Occurrence]:
    """Yield the values of each figure at all of its places whose documents exist."""
    for figure in figures.values():
        for group in figure.places:
            known = [p for p in group.split(" = ") if re.split(r"[.\[]", p)[0] in documents]
            places = [p for p in known if not leave_out(p)]
            rows = {p: values(documents, p) for p in places}
            counts = {p: len(found) for p, found in rows.items()}
            assert len(set(counts.values())) <= 1, f"{figure.name}: numbers of values {counts}"
            for item, found in enumerate(zip(*rows.values(), strict=True)):
                yield Occurrence(figure, item, dict(zip(rows, found, strict=True)))
