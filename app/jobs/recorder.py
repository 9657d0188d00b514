"""Records each stage of a compilation as soon as the stage exists.

The summary is rewritten after each pass, so the summary of a stopped job contains all earlier
stages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.jobs.parts import Parts
from app.jobs.worker import Say
from app.wire import VERSION, graphs, texts
from app.wire.deltas import delta_of
from app.wire.levels import ARROW, arrow_of
from app.wire.shapes.jobs import Result, Stage
from app.wire.shapes.stages import StageGraph
from app.wire.steps import steps_payload
from compiler.ir.graph import Graph
from compiler.trace import Event, Step

_SPECIALISE = "Open sizes were replaced by numbers, and types inferred again."


class Recorder:
    """Writes each stage and the summary as parts of the result, and reports events."""

    def __init__(self, parts: Parts, say: Say, summary: Result) -> None:
        self.parts = parts
        self.say = say
        self.summary = summary
        self.rows: list[Stage] = []
        self.graphs: dict[int, Graph] = {}
        self.arrow = ARROW
        self.last: Graph | None = None
        self.last_payload: StageGraph | None = None
        self.event_stages: list[int] = []
        """For each event of the compiler's trace, the number of its stage."""
        self.is_open = True

    def imported(self, graph: Graph, seconds: float) -> None:
        """Record stage 0, the imported graph."""
        self.arrow = arrow_of(graph)
        self.summary["result_prefix"] = self.arrow
        row = self._stage("imported", "The imported graph.", graph, seconds)
        self.say(
            "imported",
            {
                "stage": 0,
                "name": graph.name,
                "n_nodes": row["n_nodes"],
                "n_constants": row["n_constants"],
            },
        )

    def passed(self, event: Event) -> None:
        """Record the stage after a pass."""
        if not self.is_open:
            return
        if self.last is not None and event.before is not self.last:
            self._say_pass(self._stage("specialise", _SPECIALISE, event.before, 0.0))
        row = self._stage(
            event.name, event.words, event.after, event.seconds, event.verify_seconds, event.steps
        )
        self.event_stages.append(row["stage"])
        self._say_pass(row)

    def close(self) -> None:
        """Stop recording, because later passes belong to another specialisation."""
        self.is_open = False

    def write_summary(self) -> None:
        """Write the current summary."""
        self.parts.write("result", {**self.summary, "stages": self.rows})

    def _stage(
        self,
        name: str,
        words: str,
        graph: Graph,
        seconds: float,
        verify_seconds: float = 0.0,
        steps: Sequence[Step] = (),
    ) -> Stage:
        stage = len(self.rows)
        before, self.last = self.last, graph
        changed = graph is not before
        graph_stage = stage if changed else self.rows[-1]["graph_stage"]
        if changed:
            self.graphs[stage] = graph
            whole = graphs.stage_graph(stage, graph_stage, name, graph, before, self.arrow)
            self.parts.write(f"stage-{stage}-delta", delta_of(self.last_payload, whole))
            self.last_payload = whole
            text = texts.stage_text(stage, graph_stage, graph, self.arrow)
            self.parts.write(f"stage-{stage}-text", text)
            self.parts.write(f"stage-{stage}-skeleton", graphs.skeleton(graph, self.arrow))
        self.parts.write(f"stage-{stage}-steps", steps_payload(stage, steps, self.arrow))
        row: Stage = {
            "stage": stage,
            "name": name,
            "words": words,
            "changed": changed,
            "graph_stage": graph_stage,
            "seconds": seconds,
            "verify_seconds": verify_seconds,
            "n_nodes": len(graph.nodes),
            "n_constants": len(graph.constants),
            "constant_bytes": sum(map(graphs.constant_bytes, graph.constants.values())),
            "value_bytes": graphs.value_bytes(graph),
            "n_applied": sum(s.outcome == "applied" for s in steps),
            "n_declined": sum(s.outcome == "declined" for s in steps),
        }
        self.rows.append(row)
        self.write_summary()
        return row

    def _say_pass(self, row: Stage) -> None:
        names = ("stage", "name", "seconds", "changed", "n_nodes", "n_applied", "n_declined")
        self.say("pass", {name: row[name] for name in names})


def empty_summary(request: Mapping[str, Any]) -> Result:
    """Return the initial summary."""
    return {
        "version": VERSION,
        "job": "",
        "state": "running",
        "complete": False,
        "error": None,
        "model": {
            "name": "",
            "source": "sample",
            "id": "",
            "bytes": 0,
            "n_nodes": 0,
            "n_constants": 0,
            "n_parameters": 0,
            "constant_bytes": 0,
            "operators": [],
        },
        "inputs": [],
        "outputs": [],
        "shapes": {},
        "pipeline": request["pipeline"],
        "options": request["options"],
        "reproduce": "",
        "versions": {},
        "host": {"name": "", "triple": "", "vector_bytes": 0},
        "timings": [],
        "result_prefix": ARROW,
        "stages": [],
        "kernels": [],
        "running": None,
        "memory": None,
        "run": None,
        "check": None,
        "accuracy": None,
    }
