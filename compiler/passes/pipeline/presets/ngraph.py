"""In the manner of nGraph."""

from compiler.passes.pipeline.pipeline import line
from compiler.passes.pipeline.presets.manner import Manner, Theirs

MANNER = Manner(
    name="ngraph",
    system="nGraph, CPU back end",
    words="Patterns first: recurrent cells, batch norms, biases and activations into big kernels.",
    source="NervanaSystems/ngraph, src/ngraph/runtime/cpu/cpu_external_function.cpp",
    steps=(
        Theirs("LikeReplacement, NopElimination", line("remove_noops", "nodes that do nothing")),
        Theirs("ZeroDimTensorElimination", line("remove_empty_tensors")),
        Theirs(
            "LSTMFusion, RNNFusion, MultiLayerRNNFusion, BiDirectionalRnn, CPURnnMatFusion",
            line("recognise", "cells and activations out of their parts"),
            "we recognise a cell; layers over time stay loops whose body is one kernel or few",
        ),
        Theirs(
            "AlgebraicSimplification",
            line("algebraic_simplification", "identities, and sums of equal terms"),
        ),
        Theirs(
            "BatchFusion, CPUBatchFusion",
            line("combine_parallel_contractions", "equal work side by side"),
        ),
        Theirs(
            "ReshapeSinking, ReshapeElimination, RecurrentReshapeElimination",
            line("sink_transposes", "nGraph's reshape is also its transpose"),
        ),
        Theirs(
            "CoreFusion",
            line("fold_affine", "batch norms into convolutions, folded biases"),
            "sigmoid, softplus and batch norm patterns, and batch norms folded into weights",
        ),
        Theirs("FusedOpDecomposition", None, "compositions are written out when code is made"),
        Theirs("CPUQuantFusion", line("cleanup_qdq")),
        Theirs(
            "CPUHorizontalFusion",
            line("combine_parallel_contractions", "1x1 convolutions of one input"),
        ),
        Theirs("CPUCollapseDims", None, "axes that lie together are one loop when code is made"),
        Theirs("ConstantFolding", line("fold_constants")),
        Theirs("CommonSubexpressionElimination", line("common_subexpression_elimination")),
        Theirs("GetOutputElementElimination", line("dead_code_elimination")),
        Theirs(
            "CPUFusion, CPUPreFusion",
            line("fuse", "bias, residual and activation at the store", policy="anchor"),
            "nGraph matches patterns that DNNL has kernels for; ours fuse whatever is elementwise",
        ),
        Theirs("CPULayout", line("assign_layout", "blocked channels for convolutions")),
        Theirs("CPUPostLayoutOptimizations", line("fuse_data_movement", "two copies are one")),
        Theirs(
            "CPUAssignment, CPUWorkspaceInsertion, CPUMemoryOptimization, Liveness, MemoryLayout",
            None,
            "choice of library kernels, in-place concatenation, memory plan",
        ),
    ),
    alike="A matcher over patterns does most of the work, and layouts come after fusion.",
    unlike="Each of nGraph's fusions ends in a kernel of a library, so the list is as long as the "
    "library's; constants are folded late, since weights were variables at that time.",
)
