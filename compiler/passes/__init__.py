"""Graph passes, each of which records its decisions in a ledger; pipelines and their execution.

Importing this package declares every pass.
"""

from compiler.passes.algorithms import choose_algorithms
from compiler.passes.cleanup import (
    common_subexpression_elimination,
    cost_analysis,
    dead_code_elimination,
    fold_constants,
    remove_empty_tensors,
)
from compiler.passes.code_motion import (
    absorb_affine,
    propagate_strides,
    sink_casts,
    sink_elementwise,
)
from compiler.passes.control_flow import (
    batch_loop_matmuls,
    decompose_recurrent,
    fold_constant_branches,
    hoist_common_code,
    if_conversion,
    infer_trip_counts,
    loop_invariant_code_motion,
    loop_to_scan,
    resolve_foreign,
    simplify_loops,
    sink_into_branches,
    unroll_loops,
)
from compiler.passes.data_movement import (
    fold_shapes,
    fold_split_concat,
    push_down_slices,
    remove_redundant_broadcasts,
    sink_transposes,
)
from compiler.passes.engine.declaration import PASSES, Pass
from compiler.passes.engine.rule import RULES, Rule
from compiler.passes.equality_saturation import equality_saturation
from compiler.passes.fusion import fuse, fuse_data_movement
from compiler.passes.layout import assign_layout
from compiler.passes.merging import combine_parallel_contractions
from compiler.passes.pipeline.pipeline import Line, Pipeline
from compiler.passes.pipeline.presets import presets
from compiler.passes.pipeline.run import PassBug, run_pipeline
from compiler.passes.pipeline.text import as_pipeline, parse_pipeline
from compiler.passes.precision import lower_precision
from compiler.passes.quantization import (
    decompose_dynamic_quantization,
    fake_quantization_to_integer,
    hoist_zero_points,
    propagate_qdq,
    qdq_s8_to_u8,
)
from compiler.passes.rules import cleanup_qdq, fold_affine, shorter_windows, simplify

__all__ = [
    "PASSES",
    "RULES",
    "Line",
    "Pass",
    "PassBug",
    "Pipeline",
    "Rule",
    "absorb_affine",
    "as_pipeline",
    "assign_layout",
    "batch_loop_matmuls",
    "choose_algorithms",
    "cleanup_qdq",
    "combine_parallel_contractions",
    "common_subexpression_elimination",
    "cost_analysis",
    "dead_code_elimination",
    "decompose_dynamic_quantization",
    "decompose_recurrent",
    "equality_saturation",
    "fake_quantization_to_integer",
    "fold_affine",
    "fold_constant_branches",
    "fold_constants",
    "fold_shapes",
    "fold_split_concat",
    "fuse",
    "fuse_data_movement",
    "hoist_common_code",
    "hoist_zero_points",
    "if_conversion",
    "infer_trip_counts",
    "loop_invariant_code_motion",
    "loop_to_scan",
    "lower_precision",
    "parse_pipeline",
    "presets",
    "propagate_qdq",
    "propagate_strides",
    "push_down_slices",
    "qdq_s8_to_u8",
    "remove_empty_tensors",
    "remove_redundant_broadcasts",
    "resolve_foreign",
    "run_pipeline",
    "shorter_windows",
    "simplify",
    "simplify_loops",
    "sink_casts",
    "sink_elementwise",
    "sink_into_branches",
    "sink_transposes",
    "unroll_loops",
]
