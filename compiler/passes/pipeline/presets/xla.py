"""A preset modelled on XLA's CPU compiler."""

from compiler.passes.pipeline.pipeline import Repeat, line
from compiler.passes.pipeline.presets.manner import Manner, Theirs

_ROUND = Repeat(
    (
        line("remove_noops"),
        line("algebraic_simplification"),
        line("dead_code_elimination"),
        line("loop_invariant_code_motion"),
        line("sink_into_branches"),
        line("simplify_loops"),
        line("hoist_common_code"),
        line("fold_constants"),
        line("fold_constant_branches"),
    ),
    because="XLA simplifies until nothing changes, since each pass creates matches for the others",
)

MANNER = Manner(
    name="xla",
    system="XLA, CPU back end",
    words="Expand to few operators, simplify to a fixed point, assign layouts, then fuse loops.",
    source="openxla/xla, xla/service/cpu/cpu_compiler.cc",
    steps=(
        Theirs(
            "FlattenCallGraph, CallInliner",
            None,
            "functions of a model are inlined at import",
        ),
        Theirs(
            "ZeroSizedHloElimination",
            line("remove_empty_tensors", "tensors without elements are removed first"),
        ),
        Theirs(
            "DynamicIndexSplitter, BatchedGatherScatterNormalizer, ResultCaster, OperandUpcaster, "
            "FloatNormalization (13 instances), TopkDecomposer, Qr/Eigh/Cholesky expanders",
            None,
            "code generation, not a graph pass, lowers composite operators",
        ),
        Theirs(
            "ConditionalToSelect",
            line("if_conversion", "both branches are computed if they cost less than a jump"),
        ),
        Theirs(
            "BatchNormExpander, LogisticExpander",
            None,
            "XLA expands batch norms, since it has no constant weights; our batch norms first fold "
            "into weights",
        ),
        Theirs(
            "AlgebraicSimplifier, SortSimplifier, HloDCE, GatherSimplifier, TupleSimplifier, "
            "WhileLoopInvariantCodeMotion, WhileLoopConstantSinking, WhileLoopSimplifier, "
            "ReshapeMover, HloConstantFolding, ConditionalSimplifier (to a fixed point, twice)",
            _ROUND,
            "XLA has some 200 rewrites in a single class; ours declare the same families as rules",
        ),
        Theirs(
            "WhileLoopTripCountAnnotator",
            line("unroll_loops", "unrolls loops with known trip counts"),
        ),
        Theirs(
            "TransposeFolding", line("algebraic_simplification", "transposes fold into products")
        ),
        Theirs(
            "HloCSE",
            line(
                "common_subexpression_elimination",
                "after simplification, which creates equal nodes",
            ),
        ),
        Theirs(
            "LiteralCanonicalizer",
            line("common_subexpression_elimination", "equal constants merge"),
            "XLA shares literals above 1 kB; we share all constants",
        ),
        Theirs(
            "CpuLayoutAssignment",
            None,
            "XLA assigns layouts per instruction, before fusion; we assign them per kernel, after "
            "fusion (see below)",
        ),
        Theirs(
            "CpuInstructionFusion, CpuMultiOutputFusion",
            line(
                "fuse",
                "fuses a producer into its consumer, and a cheap producer into several consumers",
                policy="xla",
            ),
        ),
        Theirs(
            "CpuLayoutAssignment",
            line("assign_layout", "after fusion, since our layouts are assigned per kernel"),
        ),
        Theirs(
            "ReshapeDecomposer, CopyInsertion",
            line("fuse_data_movement", "copies between layouts merge"),
        ),
        Theirs("ParallelTaskAssigner", None, "threads share the loops of a kernel by its schedule"),
        Theirs(
            "OptimizeInputOutputBufferAlias, SmallWhileLoopHoistingPass",
            None,
            "our memory planner decides on in-place operations",
        ),
    ),
    alike="A verifier runs between passes, simplification runs to a fixed point, and fusion weighs "
    "the bytes of a producer's result.",
    unlike="XLA first expands all operators into about a hundred, and recognises no composite "
    "operators. A layer norm becomes many instructions, which fusion must reunite. XLA folds no "
    "scales into weights, since weights are parameters. This preset has no `fold_affine` and no "
    "`recognise`.",
)
