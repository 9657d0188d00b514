"""Reproducers: folders that reproduce a failure, and their replay.

graph.txt      the graph
constants.npz  the constants that graph.txt refers to
pipeline.txt   the passes
failure.json   the failure, and the allowed rewrites
inputs.npz     the inputs
README.md      a description, and the command that replays the failure
model.onnx     the graph as an ONNX model, if it has an ONNX form
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from compiler.bisect.probe import KINDS, WAYS, Outcome, Probe, Settings
from compiler.bisect.reduce import Case
from compiler.bisect.search import Answer, only, only_rules
from compiler.dataclass import dataclass
from compiler.errors import CompileError
from compiler.ir.constant import Bytes, Constant, FileRange
from compiler.ir.graph import Graph
from compiler.ir.text import parse_graph
from compiler.ir.verify import verify
from compiler.passes.pipeline.text import parse_pipeline
from compiler.trace import Decision, Gate

VERSION = 1


@dataclass(frozen=True, slots=True)
class Repro:
    """A failure that can be replayed.

    `decisions` are the allowed rewrites. Without decisions, all rewrites of the `rules` are
    allowed. Without decisions and rules, all rewrites are allowed: the cause is a pass, not its
    rewrites.
    """

    case: Case
    settings: Settings
    kind: str
    way: str
    detail: str
    rules: tuple[str, ...] = ()
    decisions: tuple[Decision, ...] = ()

    @property
    def gate(self) -> Gate:
        """Return the gate of allowed rewrites."""
        if self.decisions:
            return only(self.decisions)
        return only_rules(self.rules) if self.rules else lambda decision: True

    def run(self) -> Outcome:
        """Compile the case again and judge the result.

        Errors: E-RUN-* if the case cannot be computed.
        """
        return Probe.of(self.case.graph, self.settings, self.case.feeds).ask(self.gate)

    def still_fails(self) -> bool:
        """Return whether the case still fails in the same way."""
        return self.run().same_failure(Outcome(self.kind, "", self.way))


def write_repro(folder: Path, repro: Repro, answer: Answer) -> None:
    """Write a failure and its cause to a folder. Errors: E-OUTPUT-FILE."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        graph = _in_memory(repro.case.graph)
        (folder / "graph.txt").write_text(str(graph), encoding="utf-8")
        (folder / "pipeline.txt").write_text(f"{repro.settings.pipeline}\n", encoding="utf-8")
        facts = json.dumps(_facts(repro), indent=2) + "\n"
        (folder / "failure.json").write_text(facts, encoding="utf-8")
        _save(folder / "inputs.npz", repro.case.feeds)
        _save(folder / "constants.npz", _blobs(graph))
        (folder / "README.md").write_text(_words(folder, repro, answer), encoding="utf-8")
        model = as_onnx(graph)
        if model is not None:
            (folder / "model.onnx").write_bytes(model)
    except OSError as e:
        raise CompileError("E-OUTPUT-FILE", f"{folder}: {e.strerror or e}") from e


def read_repro(folder: Path) -> Repro:
    """Read a folder written by bisect. Errors: E-REPRO-FOLDER, and any error of parsing texts."""
    try:
        facts = json.loads((folder / "failure.json").read_text(encoding="utf-8"))
        blobs = [Bytes(a) for a in _load(folder / "constants.npz").values()]
        digests = [b.digest for b in blobs]  # The text refers to constants by digest.
        graph = parse_graph((folder / "graph.txt").read_text(encoding="utf-8"))
        pipeline = parse_pipeline((folder / "pipeline.txt").read_text(encoding="utf-8").strip())
        feeds = _load(folder / "inputs.npz")
        settings = Settings(
            pipeline,
            until=facts["until"],
            program=bool(facts["program"]),
            seed=int(facts["seed"]),
            tolerance=float(facts["tolerance"]),
            ratio=float(facts["ratio"]),
            moved=None if facts.get("moved") is None else float(facts["moved"]),
            limit_seconds=float(facts["limit_seconds"]),
            ways=tuple(w for w in WAYS if w in facts["ways"]),
            without=tuple(map(str, facts.get("without", ()))),
        )
        kind, way, detail = (str(facts[k]) for k in ("kind", "way", "detail"))
        rules = tuple(map(str, facts["rules"]))
        decisions = tuple(Decision(*map(str, d)) for d in facts["decisions"])
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise CompileError(
            "E-REPRO-FOLDER",
            f"{folder} was not written by bisect: {type(e).__name__}: {e}"[:300],
        ) from e
    if kind not in KINDS or len(set(digests)) != len(blobs):
        raise CompileError("E-REPRO-FOLDER", f"{folder}: {kind!r:.40} is not a kind of failure")
    verify(graph)
    return Repro(Case(graph, feeds), settings, kind, way, detail, rules, decisions)


def as_onnx(graph: Graph) -> bytes | None:
    """Return the graph as an ONNX model, or None if it has no ONNX form."""
    try:
        from compiler.export.model import to_onnx
    except ImportError:
        return None
    try:
        return to_onnx(graph)
    except CompileError:
        return None


def _facts(r: Repro) -> dict[str, Any]:
    s = r.settings
    return {
        "version": VERSION,
        "kind": r.kind,
        "way": r.way,
        "detail": r.detail,
        "rules": r.rules,
        "decisions": r.decisions,
        "until": s.until,
        "program": s.program,
        "seed": s.seed,
        "tolerance": s.tolerance,
        "ratio": s.ratio,
        "moved": s.moved,
        "limit_seconds": s.limit_seconds,
        "ways": s.ways,
        "without": s.without,
    }


def _words(folder: Path, r: Repro, answer: Answer) -> str:
    rewrites = "\n".join(
        f"- `{d.rule}` at `{d.at}` in pass `{d.pass_name}`" for d in answer.decisions
    )
    passes = ", ".join(f"`{p}`" for p in answer.passes)
    said = rewrites or f"- passes that break the model without a rewrite: {passes or 'none'}"
    alone = ", ".join(f"`{name}`" for name in answer.wrong_alone)
    return f"""# {r.kind}: {len(r.case.graph.nodes)} nodes

{r.detail}

A minimal set of rewrites that causes the failure in the original model:

{said}

{f"Wrong by itself: {alone}." if alone else "None of these is wrong by itself."}

Replay the failure; the exit code is 1 if the model still fails, else 0:

    compilarium bisect --replay {folder}

`graph.txt` is the reduced graph, `inputs.npz` its inputs, `pipeline.txt` the passes, and
`failure.json` lists the allowed rewrites.
"""


def _in_memory(graph: Graph) -> Graph:
    """Load the constants that are stored in files, since the reproducer does not copy files."""
    constants = {
        k: Constant(c.type, Bytes(np.array(c.array())), c.origins)
        if isinstance(c.storage, FileRange)
        else c
        for k, c in graph.constants.items()
    }
    return replace(graph, constants=constants)


def _blobs(graph: Graph) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for c in _constants(graph):
        if isinstance(c.storage, Bytes):
            found[c.storage.digest] = c.storage.values
    return found


def _constants(graph: Graph) -> list[Constant]:
    inner = [c for n in graph.nodes for g in n.regions.values() for c in _constants(g)]
    return [*graph.constants.values(), *inner]


# Arrays of types that numpy files do not support are stored as bytes with a type name.


def _save(path: Path, arrays: Mapping[str, Any]) -> None:
    stored: dict[str, Any] = {}
    for name, value in arrays.items():
        array = np.asarray(value)
        if array.dtype.kind == "V" or array.dtype.name in _OTHER_TYPES:
            stored[f"{array.dtype.name}:{name}"] = array.view(f"u{array.dtype.itemsize}")
        elif array.dtype == object:
            stored[f"words:{name}"] = array.astype(str)
        else:
            stored[f":{name}"] = array
    np.savez(path, **stored)


def _load(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with np.load(path, allow_pickle=False) as stored:
        for key in stored.files:
            kind, _, name = key.partition(":")
            array = stored[key]
            if kind == "words":
                array = array.astype(object)
            elif kind in _OTHER_TYPES:
                array = array.view(_OTHER_TYPES[kind])
            elif kind:
                raise ValueError(f"{kind!r} is not an element type")
            found[name] = array
    return found


_OTHER_TYPES = {
    name: np.dtype(getattr(ml_dtypes, name))
    for name in (
        "bfloat16",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
        "float4_e2m1fn",
        "float6_e2m3fn",
        "float6_e3m2fn",
        "int4",
        "uint4",
        "int2",
        "uint2",
    )
}
