"""In the manner of XLA's CPU compiler."""

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
    because="XLA simplifies until nothing changes, since each pass makes work for the others",
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
            "functions of a model are written out when it is imported",
        ),
        Theirs(
            "ZeroSizedHloElimination",
            line("remove_empty_tensors", "what has no elements goes first"),
        ),
        Theirs(
            "DynamicIndexSplitter, BatchedGatherScatterNormalizer, ResultCaster, OperandUpcaster, "
            "FloatNormalization (13 instances), TopkDecomposer, Qr/Eigh/Cholesky expanders",
            None,
            "operators are lowered by their own facets when code is made, never in the graph",
        ),
        Theirs("ConditionalToSelect", line("if_conversion", "small branches, both computed")),
        Theirs(
            "BatchNormExpander, LogisticExpander",
            None,
            "a batch norm stays whole until it can vanish into weights; XLA has no weights to fold "
            "it into and expands it",
        ),
        Theirs(
            "AlgebraicSimplifier, SortSimplifier, HloDCE, GatherSimplifier, TupleSimplifier, "
            "WhileLoopInvariantCodeMotion, WhileLoopConstantSinking, WhileLoopSimplifier, "
            "ReshapeMover, HloConstantFolding, ConditionalSimplifier (to a fixed point, twice)",
            _ROUND,
            "the same families; theirs has some 200 rewrites in one class, ours are declarations",
        ),
        Theirs("WhileLoopTripCountAnnotator", line("unroll_loops", "steps that can be counted")),
        Theirs("TransposeFolding", line("algebraic_simplification", "transposes into products")),
        Theirs(
            "HloCSE",
            line("common_subexpression_elimination", "after simplifying, which makes nodes equal"),
        ),
        Theirs(
            "LiteralCanonicalizer",
            line("common_subexpression_elimination", "equal constants are kept once"),
            "XLA shares literals above 1 KB, we share all",
        ),
        Theirs(
            "CpuLayoutAssignment",
            None,
            "XLA assigns before fusion, per instruction; we assign after it, per kernel, see below",
        ),
        Theirs(
            "CpuInstructionFusion, CpuMultiOutputFusion",
            line("fuse", "producers into consumers, cheap ones several times", policy="xla"),
        ),
        Theirs(
            "CpuLayoutAssignment",
            line("assign_layout", "stands here, since our layouts belong to kernels"),
        ),
        Theirs("ReshapeDecomposer, CopyInsertion", line("fuse_data_movement", "copies join up")),
        Theirs("ParallelTaskAssigner", None, "programs run on one thread"),
        Theirs(
            "OptimizeInputOutputBufferAlias, SmallWhileLoopHoistingPass",
            None,
            "in-place work is decided when memory is planned",
        ),
    ),
    alike="A verifier runs between passes, simplification is a fixed point, and fusion weighs the "
    "bytes that a producer's result would take.",
    unlike="XLA first expands everything to about a hundred operators and recognises nothing, so a "
    "layer norm is many instructions that fusion has to bring together again. It folds no scales "
    "into weights, which are parameters to it. No `fold_affine`, no `recognise` here.",
)
