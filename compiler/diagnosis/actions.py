"""Actions that can make a kernel faster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Action = Literal[
    "fuse",
    "batch",
    "threads",
    "precision",
    "layout",
    "schedule",
    "tune",
    "assembly",
    "reference",
    "again",
]

ACTIONS: Mapping[Action, str] = {
    "fuse": "See why the kernel was not fused with its neighbours.",
    "batch": "Give the model a larger batch, so that each call computes more.",
    "threads": "Compile for more threads.",
    "precision": "Compile with a lower precision.",
    "layout": "See the layouts of its operands, and why others were declined.",
    "schedule": "Edit its schedule.",
    "tune": "Search for a faster schedule.",
    "assembly": "Look for the slow loop in its assembly.",
    "again": "Measure again while nothing else runs on the machine.",
    "reference": "See why no code was generated for the node.",
}
"""The actions with their descriptions."""
