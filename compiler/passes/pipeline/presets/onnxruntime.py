"""In the manner of ONNX Runtime."""

from compiler.passes.pipeline.pipeline import Repeat, line
from compiler.passes.pipeline.presets.manner import Manner, Theirs

MANNER = Manner(
    name="onnxruntime",
    system="ONNX Runtime, CPU, all levels",
    words="Levels: rules and folding, then fusions by name, then blocked channels.",
    source="microsoft/onnxruntime, onnxruntime/core/optimizer/graph_transformer_utils.cc",
    steps=(
        Theirs(
            "level 1 rules: EliminateIdentity, EliminateSlice, UnsqueezeElimination, "
            "EliminateDropout, ExpandElimination, CastElimination, CastChainElimination, "
            "NoopElimination, DivMulFusion, FuseReluClip, GemmSumFusion, GemmTransposeFusion, "
            "NotWhereFusion",
            line("simplify", "rules, until nothing changes", inexact=False),
        ),
        Theirs(
            "ConvAddFusion, ConvMulFusion, ConvBNFusion, PadFusion, MatmulBNFusion",
            line("fold_affine", "scales, shifts and pads vanish into weights"),
        ),
        Theirs("DoubleQDQPairsRemover", line("cleanup_qdq", "first of the level")),
        Theirs(
            "ConstantSharing, CommonSubexpressionElimination",
            line("common_subexpression_elimination", "equal constants, then equal nodes"),
        ),
        Theirs("ConstantFolding", line("fold_constants")),
        Theirs(
            "MatMulAddFusion, ReshapeFusion, FreeDimensionOverride",
            line("simplify", "a product and a bias, chains of reshapes"),
        ),
        Theirs("GeluFusion, LayerNormFusion", line("recognise")),
        Theirs(
            "QDQPropagation, WeightBiasQuantization",
            line("propagate_qdq", "data movement between Q and DQ copies bytes"),
        ),
        Theirs(
            "TransposeOptimizer",
            line("sink_transposes", "last of the level, as there"),
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
                because="each level is applied until it changes nothing, ten times at most",
            ),
            "where it names a fused kernel, ours is made by `fuse` from the parts",
        ),
        Theirs("QDQFinalCleanup", line("cleanup_qdq", "must be last")),
        Theirs(
            "level 3: NchwcTransformer, NhwcTransformer",
            None,
            "belongs to kernels and so stands behind fusion here",
        ),
        Theirs(
            "ConvActivation, ConvAddActivationFusion",
            line("fuse", "bias, residual and activation at the store"),
        ),
        Theirs("NchwcTransformer", line("assign_layout", "blocked channels")),
        Theirs("reorder merging", line("fuse_data_movement")),
    ),
    alike="Rules with a root operator, folding by running the reference, blocked channels with as "
    "few reorders as possible.",
    unlike="Its fusions are a closed list of names, since each needs a hand-written kernel; a "
    "model with another activation keeps its nodes apart.",
)
