"""Our presets: required passes only, exact passes, default, all passes, small steps, and export."""

from __future__ import annotations

from compiler.passes.pipeline.pipeline import Line, Pipeline, Repeat, line


def _make_known(keep_codes: bool = False) -> tuple[Line, ...]:
    """Return the lines that replace known sizes and conditions with constants.

    With `keep_codes` the quantized weights of products stay integers for a later pass.
    """
    because = "first, since later passes read the elements of constants"
    return (
        line("fold_constants", because, keep_codes=keep_codes),
        line("resolve_foreign", "folded constants may be parameters of foreign operators"),
        line("fold_constant_branches", "known sizes decide conditions"),
        line("simplify_loops", "the body reads loop invariants from outside the loop"),
        line("infer_trip_counts", "counters and their bounds give trip counts"),
        line("unroll_loops", "unrolled iterations may have different sizes, each known"),
        line("loop_to_scan", "a loop that reads one row per iteration becomes a scan"),
        line("decompose_recurrent", "later passes optimise the body of the loop"),
        line("dead_code_elimination", "later passes need not visit dead nodes"),
    )


def _affine() -> tuple[Line, ...]:
    return (
        line("fold_affine", "scales and shifts fold into weights before fusion"),
        line("fold_constants", "computes the constant expressions that folding leaves"),
        line("common_subexpression_elimination", "folded parameters are often equal"),
        line("dead_code_elimination", "the old weights are dead"),
    )


def _kernels() -> tuple[Line, ...]:
    return (
        line(
            "shorten_windows",
            "after the passes that match pools, since it adds nodes to save operations",
        ),
        line("recognise_attention", "in a single kernel the scores stay in the cache"),
        line("fuse", "each group becomes a kernel, a single node for later passes"),
        line("assign_layout", "kernels determine which values share a layout"),
        line("fuse_data_movement", "copies between layouts fuse with transposes"),
        line("choose_algorithms", "last, since it depends on kernels and layouts"),
    )


_QUANTIZATION = (
    line("qdq_s8_to_u8", "integer product instructions take one unsigned operand"),
    line("propagate_qdq", "data movement between Q and DQ copies bytes"),
    line(
        "fake_quantization_to_integer",
        "products read quantized integers directly",
    ),
    line("hoist_zero_points", "multiplies integers without zero points, and corrects the sums"),
    line(
        "decompose_dynamic_quantization",
        "lets a quantized image have the layout that its convolution reads",
    ),
    line(
        "cleanup_qdq",
        "removes pairs of nodes that cancel, and Clip nodes that saturation makes redundant",
    ),
)
_BATCH = line("batch_loop_matmuls", "computes the products of all iterations of a scan at once")
_HOIST = line(
    "loop_invariant_code_motion",
    "after simplification of loop bodies, which exposes invariant nodes",
)
_MERGE = line("common_subexpression_elimination", "after simplification, which creates equal nodes")

O0 = Pipeline(
    (
        line("fold_constants", "code generation needs known shapes"),
        line("dead_code_elimination", "dead nodes would become kernels"),
    ),
    "O0",
    "Only required passes: one kernel per node.",
)

O1 = Pipeline(
    (
        *_make_known(),
        line("simplify", "only rules with bit-identical results", inexact=False),
        _MERGE,
        line("fuse", "fuses elementwise chains only: fast and exact", policy="elementwise"),
    ),
    "O1",
    "Fast passes with bit-identical results.",
)

_MOVEMENT = (
    line("fold_shapes", "computes each list of sizes with the fewest nodes"),
    line("remove_redundant_broadcasts", "lets readers broadcast their operands themselves"),
    line("sink_transposes", "moves transposes toward each other so that pairs cancel"),
    line("fold_split_concat", "removes splits and concatenations that cancel"),
    line("push_down_slices", "elements that a later slice drops are not computed"),
)

O2 = Pipeline(
    (
        *_make_known(keep_codes=True),
        line("simplify", "fewer and simpler nodes give later passes more matches"),
        *_MOVEMENT,
        line("simplify", "cancels pairs that code motion made adjacent"),
        _MERGE,
        _HOIST,
        _BATCH,
        *_QUANTIZATION,
        *_affine(),
        *_kernels(),
    ),
    "O2",
    "The default: all passes that are effective at short compile times.",
)

_FIXPOINT = Repeat(
    (
        line("remove_empty_tensors", "tensors without elements become constants"),
        line("simplify", "a rewrite creates matches for other rules"),
        *_MOVEMENT,
        line("cleanup_qdq", "removes quantize and dequantize pairs that cancel"),
        line("fold_affine", "scales and shifts fold into weights"),
        line("absorb_affine", "also folds scales and shifts after sums and concatenations"),
        line("fold_constants", "evaluates nodes with newly constant operands", keep_codes=True),
        line("common_subexpression_elimination", "rewrites create equal nodes"),
        line("dead_code_elimination", "old weights and shapes are dead"),
    ),
    because="each pass creates matches for the others",
)

_BRANCHES = (
    _HOIST,
    _BATCH,
    line("simplify_loops", "removes invariant states and results without readers"),
    line("hoist_common_code", "hoists nodes common to both branches out of an If"),
    line("if_conversion", "computes both branches if they cost less than a jump"),
    line("sink_into_branches", "moves nodes into the only branch that reads them"),
)

O3 = Pipeline(
    (
        *_make_known(keep_codes=True),
        _FIXPOINT,
        *_BRANCHES,
        *_QUANTIZATION,
        line("sink_elementwise", "elementwise operators after slices compute fewer elements"),
        line("sink_casts", "copies elements at the narrower of two types"),
        line("propagate_strides", "elements that a stride skips are not computed"),
        line("combine_parallel_contractions", "products of the same operand become one product"),
        line("fold_split_concat", "slices of a combined product become a split"),
        line("simplify", "combined products enable simplifications"),
        line("fold_constants", "folds the weights of combined products"),
        line("common_subexpression_elimination", "combined weights may be equal"),
        line("dead_code_elimination", "the old weights are dead"),
        *_kernels(),
    ),
    "O3",
    "All passes, repeated until nothing changes, for the fewest nodes.",
)

PORTABLE = Pipeline(
    (
        line("fold_constants", "first, since later passes read the elements of constants"),
        line("resolve_foreign", "folded constants may be parameters of foreign operators"),
        line("fold_constant_branches", "known sizes decide conditions"),
        _FIXPOINT,
        *_BRANCHES,
        line("recognise_attention", "most runtimes have a kernel for attention"),
        line("recognise_exact", "for fewer nodes, although not for less time"),
        line("dead_code_elimination", "recognition leaves dead nodes"),
    ),
    "portable",
    "For export to ONNX: few and simple operators, without kernels, layouts or decomposed loops.",
)

DEBUG = Pipeline(
    (
        line("cost_analysis", "reports the cost of the imported model"),
        *_make_known(),
        line("remove_noops", "one family of rules at a time, to show its effect"),
        line("algebraic_simplification", "one family of rules at a time, to show its effect"),
        line("recognise", "one family of rules at a time, to show its effect"),
        _MERGE,
        _HOIST,
        _BATCH,
        line("cost_analysis", "reports the cost after clean-up"),
        *_affine(),
        line("cost_analysis", "reports the cost after scales and shifts are folded"),
        line("fuse", "each group becomes a kernel, a single node for later passes"),
        line("cost_analysis", "reports the remaining memory traffic"),
        line("assign_layout", "kernels determine which values share a layout"),
        line("fuse_data_movement", "copies between layouts fuse with transposes"),
        line("choose_algorithms", "last, since it depends on kernels and layouts"),
    ),
    "debug",
    "The default in smaller steps, with measurements in between.",
)

OURS = (O2, O3, O1, O0, DEBUG, PORTABLE)
