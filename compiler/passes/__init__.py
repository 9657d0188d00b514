"""Passes: graph in, graph out, with a ledger; pipelines of them, and running these.

Importing this package declares every pass.
"""

from compiler.passes import (
    adopt,
    fold_affine,
    fold_constants,
    fuse,
    fuse_movement,
    hoist,
    layout,
    measure,
    merge_common,
    remove_dead,
    simplify,
    take_branches,
    unroll_loops,
    write_out,
)
from compiler.passes.passes import PASSES, Pass
from compiler.passes.pipeline import Line, Pipeline, as_pipeline, parse_pipeline, presets
from compiler.passes.rules import RULES, Rule
from compiler.passes.run import PassBug, run_pipeline

__all__ = [
    "PASSES",
    "RULES",
    "Line",
    "Pass",
    "PassBug",
    "Pipeline",
    "Rule",
    "adopt",
    "as_pipeline",
    "fold_affine",
    "fold_constants",
    "fuse",
    "fuse_movement",
    "hoist",
    "layout",
    "measure",
    "merge_common",
    "parse_pipeline",
    "presets",
    "remove_dead",
    "run_pipeline",
    "simplify",
    "take_branches",
    "unroll_loops",
    "write_out",
]
