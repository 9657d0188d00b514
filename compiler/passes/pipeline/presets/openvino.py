"""A preset modelled on OpenVINO."""

from compiler.passes.pipeline.pipeline import Repeat, line
from compiler.passes.pipeline.presets.manner import Manner, Theirs

MANNER = Manner(
    name="openvino",
    system="OpenVINO, CPU plugin",
    words="Common transformations, common fusions, low precision, then the plugin's own fusions.",
    source="openvinotoolkit/openvino, src/common/transformations and src/plugins/intel_cpu",
    steps=(
        Theirs(
            "MarkDequantization",
            None,
            "we fold or keep quantized constants according to their cost",
        ),
        Theirs("EliminateConvert", line("remove_noops")),
        Theirs("ConstantFolding", line("fold_constants")),
        Theirs(
            "ConvertQuantizeDequantize",
            line("cleanup_qdq", "removes quantize and dequantize pairs that cancel"),
        ),
        Theirs(
            "SimplifyShapeOfSubGraph, CommonEliminations, PullThroughReduce",
            line("fold_shapes", "simplifies arithmetic on shapes"),
        ),
        Theirs(
            "GatherNopElimination, SplitSqueezeConcatFusion and further eliminations",
            line(
                "simplify", "removes no-ops, and Split nodes whose results are concatenated again"
            ),
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
            line("algebraic_simplification", "lets a product read its operand transposed"),
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
            "code generation decomposes composite operators",
        ),
        Theirs(
            "FakeQuantize fusions, low-precision transformations",
            line("propagate_qdq"),
            "ONNX expresses fake quantization by a pair of Q and DQ",
        ),
        Theirs(
            "ConstantFolding and Validate between all of these passes",
            Repeat((line("simplify"), line("fold_constants"), line("dead_code_elimination"))),
        ),
        Theirs(
            "plugin: FuseConvolutionSimpleOperation, FuseConvolutionSumAndActivation, "
            "FuseEltwiseAndSimple, FuseReduceAndSimpleOperation",
            line("fuse", "elementwise operations fuse into the operator before them"),
        ),
        Theirs(
            "plugin: layout selection by votes of primitives",
            line("assign_layout"),
        ),
        Theirs("DropDoubleReorders, MergeTransposeAndReorder", line("fuse_data_movement")),
        Theirs("FuseConvolutionAndDWConvolution", None, "our kernels have at most one convolution"),
    ),
    alike="Stages of pattern matchers alternate with constant folding, and each elementwise chain "
    "has a generated kernel.",
    unlike="OpenVINO defaults to bf16 on machines with bf16 units. OpenVINO's fused kernels "
    "are oneDNN's primitives with post-operations.",
)
