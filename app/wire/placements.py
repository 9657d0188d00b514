"""Payloads of platforms, schedulers, and their placements of a graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from app.wire import VERSION
from app.wire.problems import problem
from app.wire.shapes import placements as shapes
from app.wire.shapes.placements import Placement, PlacementRow, Placements, Platforms
from compiler.errors import CompileError
from compiler.place.place import SCHEDULERS
from compiler.place.platform import Platform
from compiler.place.platform_text import load_platform, shipped
from compiler.place.problem import Problem, one_device_seconds
from compiler.place.schedule import Schedule
from compiler.place.scheduler import Scheduler
from compiler.place.tasks import TaskGraph


def platforms() -> Platforms:
    """Return the built-in platforms and all schedulers, with their descriptions."""
    return {
        "version": VERSION,
        "platforms": [_platform(load_platform(name)) for name in shipped()],
        "schedulers": [_scheduler(s) for s in SCHEDULERS.values()],
    }


def _platform(p: Platform) -> shapes.Platform:
    return {
        "name": p.name,
        "words": p.words,
        "home": p.home,
        "memories": [
            {
                "name": m.name,
                "nbytes": m.nbytes,
                "keeps_weights": m.keeps_weights,
                "handover_seconds": m.handover_seconds,
            }
            for m in p.memories
        ],
        "devices": [
            {
                "name": d.name,
                "memory": d.memory,
                "flops_per_second": d.speed.flops_per_second,
                "bytes_per_second": d.speed.bytes_per_second,
                "seconds_per_kernel": d.speed.seconds_per_kernel,
                "operators": None if d.operators is None else sorted(d.operators),
            }
            for d in p.devices
        ],
        "links": [
            {
                "name": x.name,
                "joins": list(x.joins),
                "latency_seconds": x.latency_seconds,
                "bytes_per_second": x.bytes_per_second,
                "channels": x.channels,
            }
            for x in p.links
        ],
    }


def _scheduler(s: Scheduler) -> shapes.Scheduler:
    return {"name": s.name, "words": s.words, "source": s.source, "is_quick": s.is_quick}


def part_of(scheduler: str) -> str:
    """Return the name of the stored part with the placement by a scheduler."""
    return f"placement-{scheduler.replace('_', '-')}"


def placed_tasks(request: Mapping[str, Any], tasks: TaskGraph, platform: Platform) -> Placements:
    """Return the facts known before scheduling; `rows` later gets a row for each scheduler."""
    return {
        "version": VERSION,
        "job": request["job"],
        "platform": platform.name,
        "ahead": request["ahead"],
        "contention": request["contention"],
        "n_tasks": len(tasks.tasks),
        "bound_seconds": Problem(tasks, platform).bound_seconds,
        "one_device_seconds": one_device_seconds(tasks, platform),
        "rows": [],
    }


def row(scheduler: str, seconds: float, tasks: TaskGraph, made: Schedule) -> PlacementRow:
    """Return the row of a scheduler. `seconds` is the time of scheduling and simulation."""
    return {
        "scheduler": scheduler,
        "seconds": seconds,
        "makespan_seconds": made.makespan_seconds,
        "bound_seconds": made.bound_seconds,
        "n_moves": len(made.moves),
        "moved_bytes": sum(tasks.datum[m.datum].nbytes for m in made.moves),
        "problem": None,
    }


def refusal(scheduler: str, seconds: float, why: CompileError) -> PlacementRow:
    """Return the row of a scheduler that refused the tasks, with the reason."""
    return {
        "scheduler": scheduler,
        "seconds": seconds,
        "makespan_seconds": None,
        "bound_seconds": None,
        "n_moves": 0,
        "moved_bytes": 0,
        "problem": problem(why),
    }


def placement(scheduler: str, tasks: TaskGraph, made: Schedule) -> Placement:
    """Return the complete schedule of a scheduler."""
    facts = made.to_json(tasks) | {"version": VERSION, "scheduler": scheduler}
    return cast(Placement, facts)
