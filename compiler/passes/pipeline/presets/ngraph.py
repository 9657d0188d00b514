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
            "LikeReplacement, NopElimination",
            line("remove_noops", "removes nodes that return an operand unchanged"),
        ),
        Theirs("ZeroDimTensorElimination", line("remove_empty_tensors")),
        Theirs(
            "LSTMFusion, RNNFusion, MultiLayerRNNFusion, BiDirectionalRnn, CPURnnMatFusion",
            line("recognise", "recognises recurrent cells and activations in their primitives"),
            "our pass recognises single cells; a layer over time remains a loop of few kernels",
        ),
        Theirs(
            "AlgebraicSimplification",
            line("algebraic_simplification", "simplifies identities and sums of equal terms"),
        ),
        Theirs(
            "BatchFusion, CPUBatchFusion",
            line("combine_parallel_contractions", "merges equal products on parallel branches"),
        ),
        Theirs(
            "ReshapeSinking, ReshapeElimination, RecurrentReshapeElimination",
            line("sink_transposes", "nGraph represents transposes as reshapes"),
        ),
        Theirs(
            "CoreFusion",
            line("fold_affine", "batch norms and biases fold into convolutions"),
            "CoreFusion also fuses patterns of sigmoid, softplus and batch norm",
        ),
        Theirs("FusedOpDecomposition", None, "code generation decomposes composite operators"),
        Theirs("CPUQuantFusion", line("cleanup_qdq")),
        Theirs(
            "CPUHorizontalFusion",
            line("combine_parallel_contractions", "merges 1x1 convolutions of the same input"),
        ),
        Theirs("CPUCollapseDims", None, "code generation merges adjacent axes into a single loop"),
        Theirs("ConstantFolding", line("fold_constants")),
        Theirs("CommonSubexpressionElimination", line("common_subexpression_elimination")),
        Theirs("GetOutputElementElimination", line("dead_code_elimination")),
        Theirs(
            "CPUFusion, CPUPreFusion",
            line(
                "fuse",
                "fuses bias, residual and activation as the epilogue of an anchor",
                policy="anchor",
            ),
            "nGraph matches patterns for which DNNL has kernels; our fusion accepts any "
            "elementwise operator",
        ),
        Theirs("CPULayout", line("assign_layout", "assigns blocked channels to convolutions")),
        Theirs(
            "CPUPostLayoutOptimizations", line("fuse_data_movement", "consecutive copies merge")
        ),
        Theirs(
            "CPUAssignment, CPUWorkspaceInsertion, CPUMemoryOptimization, Liveness, MemoryLayout",
            None,
            "these passes choose library kernels and plan memory, which we do after the passes",
        ),
    ),
    alike="A pattern matcher performs most rewrites, and layouts follow fusion.",
    unlike="Each fusion of nGraph targets a library kernel, so the list is as long as the "
    "library. nGraph folds constants late, since weights are variables in its graphs.",
)
