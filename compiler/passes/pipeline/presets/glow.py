"""A preset modelled on Glow."""

from compiler.passes.pipeline.pipeline import Repeat, line
from compiler.passes.pipeline.presets.manner import Manner, Theirs

MANNER = Manner(
    name="glow",
    system="Glow (PyTorch), CPU back end",
    words="Sink code, merge products, fold batch norms, and remove transposes, to a fixed point.",
    source="pytorch/glow, lib/Optimizer/GraphOptimizer/FunctionPassPipeline.cpp",
    steps=(
        Theirs("DCE", line("dead_code_elimination", "first, since a pass of Glow may require it")),
        Theirs(
            "OptimizeReshape, OptimizeTransposeIntoReshape, OptimizeClips, "
            "OptimizeArithmeticNodes, EliminateNoop, FoldMinMaxToClip, FoldLeakyRelu, "
            "FoldLayerNormArithmetic, FoldExpSumDivIntoSoftmax, FoldChannelShuffle, GatherToSlice",
            line("simplify", "applies rules to a fixed point"),
        ),
        Theirs(
            "SinkCode, SinkConversions, SinkReshapes",
            Repeat(
                (line("sink_transposes"), line("sink_elementwise"), line("sink_casts")),
                because="Glow sinks transposes, casts and quantization until pairs cancel",
            ),
        ),
        Theirs(
            "HoistCode",
            None,
            "Glow reverts unprofitable sinking; our passes first estimate the cost of a move",
        ),
        Theirs(
            "MergeMatMulOnLHS, MergeMatMulOnRHS, MergeBatchedAdd",
            line("combine_parallel_contractions", "merges products with a shared operand"),
        ),
        Theirs(
            "FoldArithmeticChainUnderConvIntoBN, FoldBatchNormalizationWithArithmeticChain, "
            "OptimizeBatchNorm, MergePadIntoConvolution, FoldMatMulAddIntoFullyConnected",
            line("fold_affine", "scales, shifts and pads fold into weights"),
        ),
        Theirs(
            "OptimizeConcatNodes, EliminateConcatSlice, EliminateSliceConcat",
            line("fold_split_concat", "removes concatenations and slices that cancel"),
        ),
        Theirs("TransposeConstants, ConstantFold", line("fold_constants")),
        Theirs("CSE", line("common_subexpression_elimination")),
        Theirs(
            "OptimizeQuantization, OptimizeSplat",
            line("cleanup_qdq", "removes quantize and dequantize pairs that cancel"),
        ),
        Theirs(
            "DCE", line("dead_code_elimination", "removes nodes that became dead in other passes")
        ),
        Theirs(
            "lowering to linear algebra, then to instructions",
            line("fuse", "Glow fuses elementwise kernels only", policy="elementwise"),
            "Glow's CPU back end fuses data-parallel instructions into a single loop",
        ),
        Theirs(
            "DSE, ShareBuffers, HoistDealloc, SinkAllocas, PeepholeOptimizations",
            None,
            "these passes operate on buffers; our memory planner runs after the passes",
        ),
    ),
    alike="Pipelines are data: each entry states its prerequisites, and whether the pass runs once "
    "or to a fixed point.",
    unlike="Glow lowers twice, from nodes to linear algebra and then to instructions that name "
    "buffers. We lower from nodes to computations without addresses.",
)
