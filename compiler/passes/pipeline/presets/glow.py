"""In the manner of Glow."""

from compiler.passes.pipeline.pipeline import Repeat, line
from compiler.passes.pipeline.presets.manner import Manner, Theirs

MANNER = Manner(
    name="glow",
    system="Glow (PyTorch), CPU back end",
    words="Sink code, merge products, fold batch norms, and take transposes out, to a fixed point.",
    source="pytorch/glow, lib/Optimizer/GraphOptimizer/FunctionPassPipeline.cpp",
    steps=(
        Theirs("DCE", line("dead_code_elimination", "each of Glow's passes may ask for it first")),
        Theirs(
            "OptimizeReshape, OptimizeTransposeIntoReshape, OptimizeClips, "
            "OptimizeArithmeticNodes, EliminateNoop, FoldMinMaxToClip, FoldLeakyRelu, "
            "FoldLayerNormArithmetic, FoldExpSumDivIntoSoftmax, FoldChannelShuffle, GatherToSlice",
            line("simplify", "rules, to a fixed point"),
        ),
        Theirs(
            "SinkCode, SinkConversions, SinkReshapes",
            Repeat(
                (line("sink_transposes"), line("sink_elementwise"), line("sink_casts")),
                because="Glow moves transposes, casts and quantisation down until pairs meet",
            ),
        ),
        Theirs("HoistCode", None, "undoes bad sinking; ours asks the cost before it moves"),
        Theirs(
            "MergeMatMulOnLHS, MergeMatMulOnRHS, MergeBatchedAdd",
            line("combine_parallel_contractions", "products with a shared operand"),
        ),
        Theirs(
            "FoldArithmeticChainUnderConvIntoBN, FoldBatchNormalizationWithArithmeticChain, "
            "OptimizeBatchNorm, MergePadIntoConvolution, FoldMatMulAddIntoFullyConnected",
            line("fold_affine", "scales, shifts and pads vanish into weights"),
        ),
        Theirs(
            "OptimizeConcatNodes, EliminateConcatSlice, EliminateSliceConcat",
            line("fold_split_concat", "what is joined and cut again"),
        ),
        Theirs("TransposeConstants, ConstantFold", line("fold_constants")),
        Theirs("CSE", line("common_subexpression_elimination")),
        Theirs(
            "OptimizeQuantization, OptimizeSplat",
            line("cleanup_qdq", "pairs that cancel, ranges that agree"),
        ),
        Theirs("DCE", line("dead_code_elimination", "what the others left unread")),
        Theirs(
            "lowering to linear algebra, then to instructions",
            line("fuse", "Glow stacks elementwise kernels only", policy="elementwise"),
            "Glow's CPU back end stacks data-parallel instructions into one loop",
        ),
        Theirs(
            "DSE, ShareBuffers, HoistDealloc, SinkAllocas, PeepholeOptimizations",
            None,
            "work on buffers; memory is planned after the passes",
        ),
    ),
    alike="Pipelines are data: an entry says once or to a fixed point, and what has to run first.",
    unlike="Glow lowers twice, from nodes to linear algebra and then to instructions that name "
    "buffers; we go from nodes to computations without addresses.",
)
