"""A preset modelled on nGraph."""

from compiler.passes.pipeline.pipeline import line
from compiler.passes.pipeline.presets.manner import Manner, Theirs

MANNER = Manner(
    name="ngraph",
    system="nGraph, CPU back end",
    words="Patterns first: recurrent cells, batch norms, biases and activations into large "
    "kernels.",
    source="NervanaSystems/ngraph, src/ngraph/runtime/cpu/cpu_external_function.cpp",
    steps=(
        Theirs(
            "LikeReplacement, NopElimination", line("remove_noops", "nodes that return an operand")
        ),
        Theirs("ZeroDimTensorElimination", line("remove_empty_tensors")),
        Theirs(
            "LSTMFusion, RNNFusion, MultiLayerRNNFusion, BiDirectionalRnn, CPURnnMatFusion",
            line("recognise", "recurrent cells and activations composed of primitives"),
            "single cells are recognised; a layer over time remains a loop of a few kernels",
        ),
        Theirs(
            "AlgebraicSimplification",
            line("algebraic_simplification", "identities, and sums of equal terms"),
        ),
        Theirs(
            "BatchFusion, CPUBatchFusion",
            line("combine_parallel_contractions", "equal operations on parallel branches"),
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
        Theirs("FusedOpDecomposition", None, "code generation decomposes composite operators"),
        Theirs("CPUQuantFusion", line("cleanup_qdq")),
        Theirs(
            "CPUHorizontalFusion",
            line("combine_parallel_contractions", "1x1 convolutions of one input"),
        ),
        Theirs("CPUCollapseDims", None, "code generation merges adjacent axes into a single loop"),
        Theirs("ConstantFolding", line("fold_constants")),
        Theirs("CommonSubexpressionElimination", line("common_subexpression_elimination")),
        Theirs("GetOutputElementElimination", line("dead_code_elimination")),
        Theirs(
            "CPUFusion, CPUPreFusion",
            line(
                "fuse", "bias, residual and activation at the store of an anchor", policy="anchor"
            ),
            "nGraph matches patterns that DNNL has kernels for; our fusion takes any "
            "elementwise operator",
        ),
        Theirs("CPULayout", line("assign_layout", "blocked channels for convolutions")),
        Theirs(
            "CPUPostLayoutOptimizations", line("fuse_data_movement", "consecutive copies merge")
        ),
        Theirs(
            "CPUAssignment, CPUWorkspaceInsertion, CPUMemoryOptimization, Liveness, MemoryLayout",
            None,
            "choice of library kernels, in-place concatenation, memory plan",
        ),
    ),
    alike="A pattern matcher does most of the work, and layouts follow fusion.",
    unlike="Each of nGraph's fusions ends in a library kernel, so the list is as long as the "
    "library's. Constants are folded late, since weights were variables at that time.",
)
