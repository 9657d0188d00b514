"""Fusion policies in student code: a function `(graph, limits, log) -> Plan`."""

from __future__ import annotations

from compiler.ir.graph import Graph, Node
from compiler.passes.fusion.fits import why_not_into
from compiler.passes.fusion.kinds import why_alone
from compiler.passes.fusion.policy import Group, Limits, Plan
from compiler.passes.fusion.siblings import shared_bytes, try_to_merge
from compiler.passes.fusion.units import Unit, Units
from compiler.trace import Log

__all__ = [
    "Graph",
    "Group",
    "Limits",
    "Log",
    "Node",
    "Plan",
    "Unit",
    "Units",
    "shared_bytes",
    "try_to_merge",
    "why_alone",
    "why_not_into",
]
