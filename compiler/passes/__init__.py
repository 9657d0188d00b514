"""Passes: graph in, graph out, with a ledger; pipelines of them, and running these.

Importing this package declares every pass.
"""

from compiler.passes.algorithms import choose_algorithms
from compiler.passes.cleanup import fold_constants, measure, merge_common, remove_dead, remove_empty
from compiler.passes.control_flow import (
    adopt,
    batch_products,
    count_loops,
    hoist,
    merge_branches,
    select_branches,
    simplify_loops,
    sink_into_branches,
    slice_loops,
    take_branches,
    unroll_loops,
    write_out,
)
from compiler.passes.engine.declaration import PASSES, Pass
from compiler.passes.engine.rule import RULES, Rule
from compiler.passes.fusion import fuse, fuse_movement
from compiler.passes.layout import assign_layout
from compiler.passes.merging import merge_products
from compiler.passes.movement import (
    drop_broadcasts,
    join_parts,
    settle_sizes,
    shrink_early,
    sink_transposes,
)
from compiler.passes.pipeline.pipeline import Line, Pipeline
from compiler.passes.pipeline.presets import presets
from compiler.passes.pipeline.run import PassBug, run_pipeline
from compiler.passes.pipeline.text import as_pipeline, parse_pipeline
from compiler.passes.precision import lower_precision
from compiler.passes.quantization import (
    integer_products,
    lift_zero_points,
    propagate_quantization,
    split_ranges,
    unsigned_codes,
)
from compiler.passes.rules import clean_quantization, fold_affine, shorter_windows, simplify
from compiler.passes.saturate import saturate
from compiler.passes.sinking import (
    absorb_affine,
    sink_conversions,
    sink_elementwise,
    subsample_early,
)

__all__ = [
    "PASSES",
    "RULES",
    "Line",
    "Pass",
    "PassBug",
    "Pipeline",
    "Rule",
    "absorb_affine",
    "adopt",
    "as_pipeline",
    "assign_layout",
    "batch_products",
    "choose_algorithms",
    "clean_quantization",
    "count_loops",
    "drop_broadcasts",
    "fold_affine",
    "fold_constants",
    "fuse",
    "fuse_movement",
    "hoist",
    "integer_products",
    "join_parts",
    "lift_zero_points",
    "lower_precision",
    "measure",
    "merge_branches",
    "merge_common",
    "merge_products",
    "parse_pipeline",
    "presets",
    "propagate_quantization",
    "remove_dead",
    "remove_empty",
    "run_pipeline",
    "saturate",
    "select_branches",
    "settle_sizes",
    "shorter_windows",
    "shrink_early",
    "simplify",
    "simplify_loops",
    "sink_conversions",
    "sink_elementwise",
    "sink_into_branches",
    "sink_transposes",
    "slice_loops",
    "split_ranges",
    "subsample_early",
    "take_branches",
    "unroll_loops",
    "unsigned_codes",
    "write_out",
]
