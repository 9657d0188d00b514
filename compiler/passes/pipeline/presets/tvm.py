"""A preset modelled on TVM."""

from compiler.passes.pipeline.pipeline import line
from compiler.passes.pipeline.presets.manner import Manner, Theirs

MANNER = Manner(
    name="tvm",
    system="Apache TVM (Relay's inference passes and Relax' default CPU pipeline)",
    words="Simplify inference, fold constants, then fuse by operator kinds up to post-dominators.",
    source="apache/tvm, src/relay/backend/utils.cc and python/tvm/relax/backend/cpu_generic",
    steps=(
        Theirs(
            "Normalize, RemoveUnusedParameters",
            line("dead_code_elimination", "removes values without readers"),
        ),
        Theirs(
            "SimplifyInference, DecomposeOps",
            line("fold_affine", "batch norms fold into weights"),
            "TVM decomposes a batch norm into scale and shift and then moves these into weights",
        ),
        Theirs("FoldBatchnormToConv2D, FoldScaleAxis", line("fold_affine")),
        Theirs(
            "SimplifyExpr, CanonicalizeCast, RemoveRedundantReshape, FuseTransposeMatmul",
            line("simplify", "applies a single set of rules to a fixed point"),
        ),
        Theirs(
            "EliminateCommonSubexpr",
            line("common_subexpression_elimination", "equal nodes merge"),
        ),
        Theirs(
            "CombineParallelConv2D, CombineParallelDense, CombineParallelMatmul",
            line("combine_parallel_contractions", "merges products with a shared operand"),
        ),
        Theirs(
            "FoldConstant", line("fold_constants", "evaluates nodes that depend only on constants")
        ),
        Theirs("DeadCodeElimination", line("dead_code_elimination")),
        Theirs(
            "ConvertLayout, AlterOpLayout",
            None,
            "our layouts are assigned per kernel, after fusion (see the end)",
        ),
        Theirs(
            "LegalizeOps, AnnotateTIROpPattern",
            None,
            "the kind of an operator (elementwise, broadcast, injective, reduction, contraction) "
            "is part of its declaration",
        ),
        Theirs(
            "FuseOps, FuseTIR",
            line(
                "fuse", "fuses nodes up to their immediate post-dominator", policy="postdominator"
            ),
        ),
        Theirs(
            "ConvertLayout",
            line("assign_layout", "after fusion, since layouts are assigned per kernel"),
        ),
        Theirs(
            "OptimizeLayoutTransform", line("fuse_data_movement", "copies between layouts merge")
        ),
        Theirs(
            "StaticPlanBlockMemory, KillAfterLastUse, VMShapeLower",
            None,
            "our memory planner runs after the passes, for a whole program",
        ),
    ),
    alike="Compute and schedule are separate, operator kinds decide on fusion, and each group "
    "becomes one kernel.",
    unlike="TVM's kernels need a search to be fast; ours follow a policy per class of "
    "computation. Relax keeps symbolic sizes in the graph as we do; Relay had none.",
)
