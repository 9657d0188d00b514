"""Records each stage of a compilation as soon as the stage exists.

The summary is rewritten after each pass, so the summary of a stopped job contains all earlier
stages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.jobs.results import Results
from app.wire import VERSION, graphs, texts
from app.wire.deltas import delta_of
from app.wire.identities import Identified
from app.wire.levels import ARROW, Ways, arrow_of
from app.wire.shapes.jobs import Passes, Result, Stage
from app.wire.shapes.stages import StageGraph
from app.wire.steps import steps_payload
from compiler.figures import models, passes
from compiler.ir.graph import Graph
from compiler.machine.machine import Machine
from compiler.trace import Event, Step

_SPECIALISE = (
    "Open sizes were replaced by numbers, and types inferred again. The compiler inserts this "
    "stage before the passes of the pipeline, so it has no number."
)


class Recorder:
    """Writes each stage and the summary as parts of the result, and reports events."""

    def __init__(self, results: Results, summary: Result, machine: Machine) -> None:
        self.results = results
        self.say = results.say
        self.summary = summary
        self.rows: list[Stage] = []
        self.graphs: dict[int, Identified] = {}
        self.arrow = ARROW
        self.last: Identified | None = None
        self.last_payload: StageGraph | None = None
        self.events: list[Event] = []
        self.event_stages: list[int] = []
        """For each event of the compiler's trace, the number of its stage."""
        self.supply = passes.Supply(machine, "DRAM")
        """The memory level that supplies the values of the last stage."""
        self.ways = Ways()
        self.event_ways: list[Ways] = []
        """For each event, the ids that name the values of its steps in bodies."""
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
        if self.last is not None and event.before is not self.last.graph:
            self._say_pass(self._stage("specialise", _SPECIALISE, event.before, 0.0))
        self.events.append(event)
        row = self._stage(
            event.name,
            event.words,
            event.after,
            passes.pass_seconds(event),
            passes.verify_seconds(event),
            event.steps,
            pass_number=len(self.events),
        )
        self.event_stages.append(row["stage"])
        self.event_ways.append(self.ways)
        self._say_pass(row)

    def identified(self, graph: Graph) -> Identified:
        """Return a graph with the ids of its nodes, as the continuation of the last stage."""
        return self.last.after(graph) if self.last is not None else Identified(graph)

    def close(self) -> None:
        """Stop recording, because later passes belong to another specialisation."""
        self.is_open = False

    def write_summary(self) -> None:
        """Write the current summary."""
        made: Passes = {
            "n_passes": len(self.events),
            "n_changed": passes.n_changed(self.events),
            "seconds": passes.passes_seconds(self.events),
            "verify_seconds": passes.passes_verify_seconds(self.events),
        }
        self.results.write("result", {**self.summary, "stages": self.rows, "passes": made})

    def _stage(
        self,
        name: str,
        words: str,
        graph: Graph,
        seconds: float,
        verify_seconds: float = 0.0,
        steps: Sequence[Step] = (),
        pass_number: int | None = None,
    ) -> Stage:
        stage = len(self.rows)
        before, now = self.last, self.identified(graph)
        self.last = now
        changed = now is not before
        graph_stage = stage if changed else self.rows[-1]["graph_stage"]
        if changed:
            self.graphs[stage] = now
            whole = graphs.stage_graph(stage, graph_stage, name, now, before, self.arrow)
            self.results.write(f"stage-{stage}-delta", delta_of(self.last_payload, whole))
            self.last_payload = whole
            text = texts.stage_text(stage, graph_stage, now, self.arrow)
            self.results.write(f"stage-{stage}-text", text)
            self.results.write(f"stage-{stage}-skeleton", graphs.skeleton(now, self.arrow))
        self.ways = Ways.of(before or now, now, self.arrow)
        written = steps_payload(stage, steps, self.supply, self.ways)
        self.results.write(f"stage-{stage}-steps", written)
        if changed:
            self.supply = passes.supply_of(graph, self.supply.machine)
        row: Stage = {
            "stage": stage,
            "pass_number": pass_number,
            "name": name,
            "words": words,
            "changed": changed,
            "graph_stage": graph_stage,
            "seconds": seconds,
            "verify_seconds": verify_seconds,
            "n_nodes": models.n_nodes(graph),
            "n_constants": models.n_constants(graph),
            "constant_bytes": models.constant_bytes(graph),
            "value_bytes": models.value_bytes(graph),
            "n_applied": passes.n_applied(steps),
            "n_declined": passes.n_declined(steps),
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
            "n_onnx_nodes": 0,
            "n_nodes": 0,
            "n_constants": 0,
            "n_parameters": 0,
            "constant_bytes": 0,
            "operators": [],
            "precisions": [],
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
        "passes": {"n_passes": 0, "n_changed": 0, "seconds": 0.0, "verify_seconds": 0.0},
        "kernels": [],
        "running": None,
        "memory": None,
        "run": None,
        "check": None,
        "accuracy": None,
        "empty": {"outputs": [], "n_values": 0, "first": ""},
    }
