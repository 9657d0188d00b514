"""In the manner of OpenVINO."""

from compiler.passes.pipeline.pipeline import Repeat, line
from compiler.passes.pipeline.presets.manner import Manner, Theirs

MANNER = Manner(
    name="openvino",
    system="OpenVINO, CPU plugin",
    words="Common transformations, common fusions, low precision, then the plugin's own fusing.",
    source="openvinotoolkit/openvino, src/common/transformations and src/plugins/intel_cpu",
    steps=(
        Theirs("MarkDequantization", None, "quantised constants stay folded or not by their cost"),
        Theirs("EliminateConvert", line("remove_noops")),
        Theirs("ConstantFolding", line("fold_constants")),
        Theirs(
            "ConvertQuantizeDequantize",
            line("cleanup_qdq", "pairs that cancel"),
        ),
        Theirs(
            "SimplifyShapeOfSubGraph, CommonEliminations, PullThroughReduce",
            line("fold_shapes", "arithmetic on shapes"),
        ),
        Theirs(
            "GatherNopElimination, SplitSqueezeConcatFusion and further eliminations",
            line("simplify", "what does nothing, what is cut and joined"),
        ),
        Theirs(
            "LSTMCellFusion, GRUCellFusion, CommonFusions (Swish, HSwish, Mish, Gelu, MVN, "
            "NormalizeL2, Softmax, ShuffleChannels, DepthToSpace, PRelu)",
            line("recognise"),
        ),
        Theirs("ScaledDotProductAttentionFusion", line("recognise_attention")),
        Theirs("TransposeSinking", line("sink_transposes")),
        Theirs(
            "TransposeMatMul",
            line("algebraic_simplification", "a product reads its operand transposed"),
        ),
        Theirs(
            "BatchNormDecomposition, ConvolutionMultiplyFusion, MultiplyConvolutionFusion",
            line("fold_affine"),
        ),
        Theirs("UnrollIf", line("fold_constant_branches")),
        Theirs("SharedOpOptimization", line("common_subexpression_elimination")),
        Theirs(
            "decompositions (Gelu, ReduceL1, LogSoftmax, MVN, Einsum)",
            None,
            "compositions are written out when code is made",
        ),
        Theirs(
            "FakeQuantize fusions, low-precision transformations",
            line("propagate_qdq"),
            "there is no fake quantisation in ONNX; Q and DQ play that part",
        ),
        Theirs(
            "ConstantFolding and Validate between all of these",
            Repeat((line("simplify"), line("fold_constants"), line("dead_code_elimination"))),
        ),
        Theirs(
            "plugin: FuseConvolutionSimpleOperation, FuseConvolutionSumAndActivation, "
            "FuseEltwiseAndSimple, FuseReduceAndSimpleOperation",
            line("fuse", "simple operations into what comes before them"),
        ),
        Theirs("plugin: layout selection, by votes of primitives", line("assign_layout")),
        Theirs("DropDoubleReorders, MergeTransposeAndReorder", line("fuse_data_movement")),
        Theirs("FuseConvolutionAndDWConvolution", None, "two convolutions are two kernels here"),
    ),
    alike="Matchers over patterns in stages, constants folded between them, and an elementwise "
    "chain is one generated kernel.",
    unlike="OpenVINO's default on machines with bf16 units is bf16; and its fused kernels come "
    "from oneDNN's primitives with their post-operations.",
)
