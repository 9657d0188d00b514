"""In the manner of ONNC."""

from compiler.passes.pipeline.pipeline import line
from compiler.passes.pipeline.presets.manner import Manner, Theirs

MANNER = Manner(
    name="onnc",
    system="ONNC",
    words="Clean up the ONNX graph, then write it operator by operator: little is fused.",
    source="ONNC/onnc, lib/Transforms and lib/Transforms/Optimizations",
    steps=(
        Theirs(
            "RemoveTrainingNodes",
            line("remove_noops", "dropout and what else does nothing in inference"),
        ),
        Theirs("UpdateGraphOutputSize", None, "types are inferred when a model is imported"),
        Theirs("DeadNodeElimination", line("dead_code_elimination")),
        Theirs("EliminateCast, EliminateIdentity", line("remove_noops")),
        Theirs("ExtractConstToInitializer", line("fold_constants", "nodes that are constants")),
        Theirs("PropagateConstWithDiffShape", line("fold_constants")),
        Theirs(
            "ExpandBatchNormalization",
            line("fold_affine", "a batch norm is a scale and a shift"),
            "ONNC writes it out as Mul and Add; ours goes on into the weights",
        ),
        Theirs(
            "ReplaceGemmByConv, SplitConvPass, SplitGroupConv, DivideGlobalAPIntoAPs",
            None,
            "fit operators to what an accelerator can hold; a CPU has no such limits",
        ),
        Theirs(
            "BookONNXGraphs, BuildInitializers, BuildInputOperators, BuildOutputOperators, "
            "TensorSel",
            None,
            "instruction selection: operators to those of the target",
        ),
        Theirs(
            "FuseConvRelu, FuseInplaceValue",
            line("fuse", "only what follows an anchor closely", max_nodes=2, duplicate=False),
            "target passes of the sample back ends",
        ),
        Theirs("NodeIRScheduler, LiveIntervals, LinearScanMemAlloc", None, "order and memory plan"),
    ),
    alike="The ONNX graph is the graph IR, passes are small and each says what it needs.",
    unlike="ONNC's work lies behind the graph, in placing operators on accelerators; its CPU code "
    "is a call of one C function per operator.",
)
