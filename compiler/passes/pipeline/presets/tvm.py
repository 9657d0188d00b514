"""In the manner of TVM."""

from compiler.passes.pipeline.pipeline import line
from compiler.passes.pipeline.presets.manner import Manner, Theirs

MANNER = Manner(
    name="tvm",
    system="Apache TVM (Relay's inference passes and Relax' default CPU pipeline)",
    words="Simplify inference, fold constants, fuse by operator kinds along post-dominators.",
    source="apache/tvm, src/relay/backend/utils.cc and python/tvm/relax/backend/cpu_generic",
    steps=(
        Theirs(
            "Normalize, RemoveUnusedParameters", line("dead_code_elimination", "what nobody reads")
        ),
        Theirs(
            "SimplifyInference, DecomposeOps",
            line("fold_affine", "batch norms vanish into weights"),
            "TVM writes a batch norm out as scale and shift and then moves these into weights",
        ),
        Theirs("FoldBatchnormToConv2D, FoldScaleAxis", line("fold_affine")),
        Theirs(
            "SimplifyExpr, CanonicalizeCast, RemoveRedundantReshape, FuseTransposeMatmul",
            line("simplify", "one set of rules to a fixed point"),
        ),
        Theirs(
            "EliminateCommonSubexpr",
            line("common_subexpression_elimination", "one of several equal nodes"),
        ),
        Theirs(
            "CombineParallelConv2D, CombineParallelDense, CombineParallelMatmul",
            line("combine_parallel_contractions", "products with a shared operand"),
        ),
        Theirs("FoldConstant", line("fold_constants", "what depends on constants alone")),
        Theirs("DeadCodeElimination", line("dead_code_elimination")),
        Theirs(
            "ConvertLayout, AlterOpLayout",
            None,
            "per kernel and so after fusion, see the end",
        ),
        Theirs(
            "LegalizeOps, AnnotateTIROpPattern",
            None,
            "the kind of an operator (elementwise, broadcast, injective, reduction, contraction) "
            "stands in its declaration",
        ),
        Theirs(
            "FuseOps, FuseTIR",
            line("fuse", "groups up to the immediate post-dominator", policy="postdominator"),
        ),
        Theirs("ConvertLayout", line("assign_layout", "here, since layouts belong to kernels")),
        Theirs("OptimizeLayoutTransform", line("fuse_data_movement", "copies join up")),
        Theirs(
            "StaticPlanBlockMemory, KillAfterLastUse, VMShapeLower",
            None,
            "memory is planned after the passes, for a whole program",
        ),
    ),
    alike="Compute and schedule are apart, operator kinds decide fusion, one kernel per group.",
    unlike="TVM's kernels need a search to be fast; ours come from a policy by class of "
    "computation. Relax keeps symbolic sizes in the graph as we do, Relay had none.",
)
