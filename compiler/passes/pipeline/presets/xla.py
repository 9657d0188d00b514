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
    because="XLA simplifies until nothing changes, since each pass creates work for the others",
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
            line("remove_empty_tensors", "tensors without elements go first"),
        ),
        Theirs(
            "DynamicIndexSplitter, BatchedGatherScatterNormalizer, ResultCaster, OperandUpcaster, "
            "FloatNormalization (13 instances), TopkDecomposer, Qr/Eigh/Cholesky expanders",
            None,
            "code generation lowers composite operators by their facets, never in the graph",
        ),
        Theirs(
            "ConditionalToSelect",
            line("if_conversion", "branches cheaper than a jump, both computed"),
        ),
        Theirs(
            "BatchNormExpander, LogisticExpander",
            None,
            "a batch norm stays whole until it folds into weights; XLA has no weights to fold it "
            "into and expands it",
        ),
        Theirs(
            "AlgebraicSimplifier, SortSimplifier, HloDCE, GatherSimplifier, TupleSimplifier, "
            "WhileLoopInvariantCodeMotion, WhileLoopConstantSinking, WhileLoopSimplifier, "
            "ReshapeMover, HloConstantFolding, ConditionalSimplifier (to a fixed point, twice)",
            _ROUND,
            "the same families; XLA has some 200 rewrites in a single class, ours are declarations",
        ),
        Theirs("WhileLoopTripCountAnnotator", line("unroll_loops", "loops with known trip counts")),
        Theirs(
            "TransposeFolding", line("algebraic_simplification", "transposes fold into products")
        ),
        Theirs(
            "HloCSE",
            line("common_subexpression_elimination", "after simplifying, which makes nodes equal"),
        ),
        Theirs(
            "LiteralCanonicalizer",
            line("common_subexpression_elimination", "equal constants merge"),
            "XLA shares literals above 1 kB, we share all",
        ),
        Theirs(
            "CpuLayoutAssignment",
            None,
            "XLA assigns layouts before fusion, per instruction; we assign them after it, "
            "per kernel, see below",
        ),
        Theirs(
            "CpuInstructionFusion, CpuMultiOutputFusion",
            line("fuse", "producers fuse into consumers, cheap ones into several", policy="xla"),
        ),
        Theirs(
            "CpuLayoutAssignment",
            line("assign_layout", "here, since our layouts belong to kernels"),
        ),
        Theirs(
            "ReshapeDecomposer, CopyInsertion",
            line("fuse_data_movement", "copies between layouts merge"),
        ),
        Theirs("ParallelTaskAssigner", None, "programs run on a single thread"),
        Theirs(
            "OptimizeInputOutputBufferAlias, SmallWhileLoopHoistingPass",
            None,
            "our memory planner decides on in-place operations",
        ),
    ),
    alike="A verifier runs between passes, simplification is a fixed point, and fusion weighs "
    "the bytes of a producer's result.",
    unlike="XLA first expands everything to about a hundred operators and recognises nothing. A "
    "layer norm is then many instructions that fusion has to reunite. It folds no scales "
    "into weights, since weights are parameters to it. No `fold_affine`, no `recognise` "
    "here.",
)
