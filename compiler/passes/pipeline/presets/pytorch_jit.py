"""In the manner of PyTorch's JIT."""

from compiler.passes.pipeline.pipeline import line
from compiler.passes.pipeline.presets.manner import Manner, Theirs

MANNER = Manner(
    name="pytorch-jit",
    system="PyTorch JIT (TorchScript), frozen module, profiling executor",
    words="Freeze and fold weights, a few classical passes, then fuse tensor expressions.",
    source="pytorch/pytorch, torch/csrc/jit/runtime/profiling_graph_executor_impl.cpp and "
    "passes/frozen_graph_optimizations.cpp",
    steps=(
        Theirs("Inline, LowerGradOf, ClearUndefinedness", None, "there are no gradients to lower"),
        Theirs(
            "freezing: FoldFrozenConvBatchnorm, FoldFrozenConvAddOrSub, FoldFrozenConvMulOrDiv, "
            "FoldFrozenLinearBatchnorm",
            line("fold_affine", "weights are constants once a module is frozen"),
        ),
        Theirs(
            "FrozenConcatLinear",
            line("combine_parallel_contractions", "linear layers of one input"),
        ),
        Theirs("RemoveDropout", line("remove_noops")),
        Theirs("RemoveExpands", line("remove_noops")),
        Theirs("CanonicalizeOps, EliminateDeadCode", line("dead_code_elimination")),
        Theirs("DecomposeOps", None, "compositions are written out when code is made"),
        Theirs("ConstantPropagation", line("fold_constants")),
        Theirs("EliminateDeadCode", line("dead_code_elimination")),
        Theirs(
            "EliminateCommonSubexpression, ConstantPooling",
            line("common_subexpression_elimination", "equal nodes and equal constants"),
        ),
        Theirs("PeepholeOptimize", line("simplify", "one walk over the graph", until="once")),
        Theirs("EliminateDeadCode", line("dead_code_elimination")),
        Theirs("UnrollLoops, LoopPeeling", line("unroll_loops")),
        Theirs("LowerSimpleTuples, CheckInplace", None, "no tuples, no work in place"),
        Theirs(
            "BatchMM",
            line("combine_parallel_contractions"),
            "products that can be one batched product",
        ),
        Theirs(
            "FuseTensorExprs (NNC)",
            line("fuse", "elementwise chains and reductions", policy="elementwise"),
            "NNC fuses pointwise chains; convolutions and products stay calls of a library",
        ),
        Theirs("EliminateDeadCode", line("dead_code_elimination")),
    ),
    alike="A short list of textbook passes, profiled shapes as a reason to specialise.",
    unlike="The graph has mutation and aliases that every pass must ask about; ours is pure.",
)
