"""Our own presets: nothing, what is quick and exact, the default, everything, and small steps."""

from __future__ import annotations

from compiler.passes.pipeline.pipeline import Line, Pipeline, Repeat, line


def _make_known(keep_codes: bool = False) -> tuple[Line, ...]:
    """What turns sizes and conditions that are known into a graph that no longer asks for them.

    With `keep_codes` a later pass looks for products of codes.
    """
    because = "constants first: the other passes look at their elements"
    return (
        line("fold_constants", because, keep_codes=keep_codes),
        line(
            "resolve_foreign", "constants may be the parameters that foreign operators waited for"
        ),
        line("fold_constant_branches", "sizes that are known now decide conditions"),
        line("simplify_loops", "what no step changes is then read from around the loop"),
        line("infer_trip_counts", "counters and their bounds tell how many steps there are"),
        line("unroll_loops", "a few steps with sizes of their own become nodes with code"),
        line("loop_to_scan", "steps that read row after row are a scan"),
        line("decompose_recurrent", "what a step computes is for all the other passes to see"),
        line("dead_code_elimination", "what nobody reads need not be looked at"),
    )


def _affine() -> tuple[Line, ...]:
    return (
        line("fold_affine", "scales and shifts vanish into weights while nodes are still single"),
        line("fold_constants", "folding left small computations on constants behind"),
        line("common_subexpression_elimination", "folded parameters are often equal"),
        line("dead_code_elimination", "the old weights have no reader any more"),
    )


def _kernels() -> tuple[Line, ...]:
    return (
        line("shorten_windows", "more nodes, less work: after all that looks for pools"),
        line("recognise_attention", "as one kernel its scores never leave the cache"),
        line("fuse", "a group is a kernel, and later passes do not look into it"),
        line("assign_layout", "what is one kernel decides which values lie alike"),
        line("fuse_data_movement", "copies between layouts join the transposes they meet"),
        line("choose_algorithms", "last: it looks at kernels and how their images lie"),
    )


_QUANTIZATION = (
    line("qdq_s8_to_u8", "products take unsigned bytes on one side"),
    line("propagate_qdq", "movement between Q and DQ works on bytes"),
    line(
        "fake_quantization_to_integer",
        "codes that meet their products now are multiplied as they are",
    ),
    line("hoist_zero_points", "what is left of a product is one of plain bytes"),
    line("decompose_dynamic_quantization", "images of codes may then lie as products take them"),
    line("cleanup_qdq", "pairs that meet now, and bounds that saturating keeps"),
)
_BATCH = line("batch_loop_matmuls", "what a scan multiplies by weights in every step")
_HOIST = line(
    "loop_invariant_code_motion",
    "what a loop computes again in every step, now that little else is left",
)
_MERGE = line(
    "common_subexpression_elimination", "after simplifying, since that makes different nodes equal"
)

O0 = Pipeline(
    (
        line("fold_constants", "shape arithmetic has to be gone before code is made"),
        line("dead_code_elimination", "dead nodes would become kernels"),
    ),
    "O0",
    "Nothing that is not needed: the model as it is, one kernel per node.",
)

O1 = Pipeline(
    (
        *_make_known(),
        line("simplify", "only rules that keep every bit", inexact=False),
        _MERGE,
        line("fuse", "elementwise chains only: quick, and exact", policy="elementwise"),
    ),
    "O1",
    "What is quick to do and changes no bit of the results.",
)

_MOVEMENT = (
    line("fold_shapes", "sizes are read where they are at hand"),
    line("remove_redundant_broadcasts", "readers that broadcast anyway"),
    line("sink_transposes", "to where they meet others, or cost least"),
    line("fold_split_concat", "what is cut and joined again"),
    line("push_down_slices", "what is cut away later need not be computed"),
)

O2 = Pipeline(
    (
        *_make_known(keep_codes=True),
        line("simplify", "fewer, simpler nodes give the later passes more to match"),
        *_MOVEMENT,
        line("simplify", "what moved has met what it cancels with"),
        _MERGE,
        _HOIST,
        _BATCH,
        *_QUANTIZATION,
        *_affine(),
        *_kernels(),
    ),
    "O2",
    "Everything that is known to help and quick to do: the default.",
)

_FIXPOINT = Repeat(
    (
        line("remove_empty_tensors", "tensors without elements are constants"),
        line("simplify", "one rule's result is what another looks for"),
        *_MOVEMENT,
        line("cleanup_qdq", "pairs that cancel"),
        line("fold_affine", "scales and shifts vanish into weights"),
        line("absorb_affine", "and those that have to pass sums and joins first"),
        line("fold_constants", "what folding and rules left to compute", keep_codes=True),
        line("common_subexpression_elimination", "different nodes have become equal"),
        line("dead_code_elimination", "old weights and shapes have no reader any more"),
    ),
    because="each of these makes work for the others",
)

_BRANCHES = (
    _HOIST,
    _BATCH,
    line("simplify_loops", "states that never change, results that nobody reads"),
    line("hoist_common_code", "what both branches compute"),
    line("if_conversion", "branches that cost less than choosing"),
    line("sink_into_branches", "what only one branch needs"),
)

O3 = Pipeline(
    (
        *_make_known(keep_codes=True),
        _FIXPOINT,
        *_BRANCHES,
        *_QUANTIZATION,
        line("sink_elementwise", "behind what leaves elements out"),
        line("sink_casts", "casts to where elements are short"),
        line("propagate_strides", "elements that are stepped over"),
        line("combine_parallel_contractions", "products that read one value become one"),
        line("fold_split_concat", "slices of what was merged are a split"),
        line("simplify", "what merging made simpler"),
        line("fold_constants", "weights that were joined"),
        line("common_subexpression_elimination", "weights that were joined alike"),
        line("dead_code_elimination", "weights that were joined have no reader"),
        *_kernels(),
    ),
    "O3",
    "Everything, again until nothing changes: the fewest nodes.",
)

PORTABLE = Pipeline(
    (
        line("fold_constants", "constants first: the other passes look at their elements"),
        line(
            "resolve_foreign", "constants may be the parameters that foreign operators waited for"
        ),
        line("fold_constant_branches", "sizes that are known now decide conditions"),
        _FIXPOINT,
        *_BRANCHES,
        line("recognise_attention", "one operator that every runtime has a kernel for"),
        line("recognise_exact", "names that make fewer nodes, not faster ones"),
        line("dead_code_elimination", "what recognising left unread"),
    ),
    "portable",
    "Few and simple operators, for export to ONNX: no kernels, layouts, or loops written out.",
)

DEBUG = Pipeline(
    (
        line("cost_analysis", "the work in the model as it was given"),
        *_make_known(),
        line("remove_noops", "one family of rules at a time, to see each one's effect"),
        line("algebraic_simplification", "one family of rules at a time, to see each one's effect"),
        line("recognise", "one family of rules at a time, to see each one's effect"),
        _MERGE,
        _HOIST,
        _BATCH,
        line("cost_analysis", "the work after cleaning up"),
        *_affine(),
        line("cost_analysis", "the work after folding scales and shifts"),
        line("fuse", "a group is a kernel, and later passes do not look into it"),
        line("cost_analysis", "the traffic that is left"),
        line("assign_layout", "what is one kernel decides which values lie alike"),
        line("fuse_data_movement", "copies between layouts join the transposes they meet"),
        line("choose_algorithms", "last: it looks at kernels and how their images lie"),
    ),
    "debug",
    "The default in smaller steps, with measurements between them.",
)

OURS = (O2, O3, O1, O0, DEBUG, PORTABLE)
