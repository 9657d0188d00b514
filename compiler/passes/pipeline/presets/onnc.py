"""A preset modelled on ONNC."""

from compiler.passes.pipeline.pipeline import line
from compiler.passes.pipeline.presets.manner import Manner, Theirs

MANNER = Manner(
    name="onnc",
    system="ONNC",
    words="Clean up the ONNX graph, then lower it operator by operator, with little fusion.",
    source="ONNC/onnc, lib/Transforms and lib/Transforms/Optimizations",
    steps=(
        Theirs(
            "RemoveTrainingNodes",
            line("remove_noops", "removes dropout and other operators without effect in inference"),
        ),
        Theirs("UpdateGraphOutputSize", None, "types are inferred when a model is imported"),
        Theirs("DeadNodeElimination", line("dead_code_elimination")),
        Theirs("EliminateCast, EliminateIdentity", line("remove_noops")),
        Theirs(
            "ExtractConstToInitializer",
            line("fold_constants", "turns Constant nodes into stored constants"),
        ),
        Theirs("PropagateConstWithDiffShape", line("fold_constants")),
        Theirs(
            "ExpandBatchNormalization",
            line("fold_affine", "rewrites a batch norm as a scale and a shift"),
            "ONNC decomposes a batch norm into Mul and Add; our pass folds these into the weights",
        ),
        Theirs(
            "ReplaceGemmByConv, SplitConvPass, SplitGroupConv, DivideGlobalAPIntoAPs",
            None,
            "these passes adapt operators to limits of an accelerator; a CPU has no such limits",
        ),
        Theirs(
            "BookONNXGraphs, BuildInitializers, BuildInputOperators, BuildOutputOperators, "
            "TensorSel",
            None,
            "these passes select instructions: operators of the target replace those of ONNX",
        ),
        Theirs(
            "FuseConvRelu, FuseInplaceValue",
            line(
                "fuse",
                "fuses only the node directly after an anchor",
                max_nodes=2,
                duplicate=False,
            ),
            "these are passes of ONNC's sample back ends",
        ),
        Theirs(
            "NodeIRScheduler, LiveIntervals, LinearScanMemAlloc",
            None,
            "these passes order nodes and plan memory, which we do after the passes",
        ),
    ),
    alike="The ONNX graph is the graph IR, and each small pass declares its prerequisites.",
    unlike="ONNC mainly places operators on accelerators, after the graph passes. The code for "
    "CPUs calls a C function per operator.",
)
