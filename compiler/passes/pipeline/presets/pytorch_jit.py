"""A preset modelled on PyTorch's JIT."""

from compiler.passes.pipeline.pipeline import line
from compiler.passes.pipeline.presets.manner import Manner, Theirs

MANNER = Manner(
    name="pytorch-jit",
    system="PyTorch JIT (TorchScript), frozen module, profiling executor",
    words="Freeze and fold weights, run a few classical passes, then fuse tensor expressions.",
    source="pytorch/pytorch, torch/csrc/jit/runtime/profiling_graph_executor_impl.cpp and "
    "passes/frozen_graph_optimizations.cpp",
    steps=(
        Theirs(
            "Inline, LowerGradOf, ClearUndefinedness",
            None,
            "an inference graph has no gradients",
        ),
        Theirs(
            "freezing: FoldFrozenConvBatchnorm, FoldFrozenConvAddOrSub, FoldFrozenConvMulOrDiv, "
            "FoldFrozenLinearBatchnorm",
            line("fold_affine", "weights are constants in a frozen module"),
        ),
        Theirs(
            "FrozenConcatLinear",
            line("combine_parallel_contractions", "merges linear layers of the same input"),
        ),
        Theirs("RemoveDropout", line("remove_noops")),
        Theirs("RemoveExpands", line("remove_noops")),
        Theirs("CanonicalizeOps, EliminateDeadCode", line("dead_code_elimination")),
        Theirs("DecomposeOps", None, "code generation decomposes composite operators"),
        Theirs("ConstantPropagation", line("fold_constants")),
        Theirs("EliminateDeadCode", line("dead_code_elimination")),
        Theirs(
            "EliminateCommonSubexpression, ConstantPooling",
            line("common_subexpression_elimination", "merges equal nodes and equal constants"),
        ),
        Theirs(
            "PeepholeOptimize",
            line("simplify", "applies rules in a single walk over the graph", until="once"),
        ),
        Theirs("EliminateDeadCode", line("dead_code_elimination")),
        Theirs("UnrollLoops, LoopPeeling", line("unroll_loops")),
        Theirs(
            "LowerSimpleTuples, CheckInplace",
            None,
            "the IR has no tuples and no in-place operators",
        ),
        Theirs(
            "BatchMM",
            line("combine_parallel_contractions"),
            "BatchMM merges products into a single batched product",
        ),
        Theirs(
            "FuseTensorExprs (NNC)",
            line("fuse", "fuses elementwise chains", policy="elementwise"),
            "NNC fuses pointwise chains; convolutions and products remain library calls",
        ),
        Theirs("EliminateDeadCode", line("dead_code_elimination")),
    ),
    alike="A short list of textbook passes, with profiled shapes for specialisation.",
    unlike="PyTorch's graph has mutation and aliases, which every pass must check; ours has "
    "neither.",
)
