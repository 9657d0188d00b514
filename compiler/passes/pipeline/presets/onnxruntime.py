"""A preset modelled on ONNX Runtime."""

from compiler.passes.pipeline.pipeline import Repeat, line
from compiler.passes.pipeline.presets.manner import Manner, Theirs

MANNER = Manner(
    name="onnxruntime",
    system="ONNX Runtime, CPU, all levels",
    words="Three levels: rules and folding, then named fusions, then blocked channels.",
    source="microsoft/onnxruntime, onnxruntime/core/optimizer/graph_transformer_utils.cc",
    steps=(
        Theirs(
            "level 1 rules: EliminateIdentity, EliminateSlice, UnsqueezeElimination, "
            "EliminateDropout, ExpandElimination, CastElimination, CastChainElimination, "
            "NoopElimination, DivMulFusion, FuseReluClip, GemmSumFusion, GemmTransposeFusion, "
            "NotWhereFusion",
            line("simplify", "applies rules until nothing changes", inexact=False),
        ),
        Theirs(
            "ConvAddFusion, ConvMulFusion, ConvBNFusion, PadFusion, MatmulBNFusion",
            line("fold_affine", "scales, shifts and pads fold into weights"),
        ),
        Theirs(
            "DoubleQDQPairsRemover", line("cleanup_qdq", "before the other passes of the level")
        ),
        Theirs(
            "ConstantSharing, CommonSubexpressionElimination",
            line("common_subexpression_elimination", "merges equal constants, then equal nodes"),
        ),
        Theirs("ConstantFolding", line("fold_constants")),
        Theirs(
            "MatMulAddFusion, ReshapeFusion, FreeDimensionOverride",
            line("simplify", "merges a product with a bias, and chains of reshapes"),
        ),
        Theirs("GeluFusion, LayerNormFusion", line("recognise")),
        Theirs(
            "QDQPropagation, WeightBiasQuantization",
            line("propagate_qdq", "data movement between Q and DQ copies bytes"),
        ),
        Theirs(
            "TransposeOptimizer",
            line("sink_transposes", "last in the level, as in ONNX Runtime"),
        ),
        Theirs(
            "level 2: ClipQuantFusion, QDQSelectorAction, GemmActivation, MatMulIntegerToFloat, "
            "AttentionFusion, EmbedLayerNorm, GatherSliceToSplit, BiasGelu, SkipLayerNorm, "
            "QuickGelu, MatMulScale",
            Repeat(
                (
                    line("recognise_attention"),
                    line("recognise"),
                    line("simplify"),
                    line("fold_split_concat"),
                    line("dead_code_elimination"),
                ),
                because="each level repeats until nothing changes, at most ten times",
            ),
            "ONNX Runtime selects a named kernel; our `fuse` generates it from the nodes",
        ),
        Theirs("QDQFinalCleanup", line("cleanup_qdq", "removes pairs that the passes above leave")),
        Theirs(
            "level 3: NchwcTransformer, NhwcTransformer",
            None,
            "we assign layouts per kernel, so the pass follows fusion (see below)",
        ),
        Theirs(
            "ConvActivation, ConvAddActivationFusion",
            line("fuse", "fuses bias, residual and activation as the epilogue of an anchor"),
        ),
        Theirs("NchwcTransformer", line("assign_layout", "assigns blocked channels")),
        Theirs("reorder merging", line("fuse_data_movement")),
    ),
    alike="Each rule matches at a root operator, constant folding runs the operators themselves, "
    "and blocked channels need few copies between layouts.",
    unlike="ONNX Runtime has a fixed list of fusions, since each needs a hand-written kernel. An "
    "activation outside this list is not fused.",
)
