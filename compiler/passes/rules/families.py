"""Families of rules: the rules of one module, defined by the docstring of the module.

A family has a row in `KNOWN_AS`: the closest passes or patterns of other systems, if any.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from compiler.dataclass import dataclass
from compiler.passes.engine.rule import RULES, Rule

PACKAGE = "compiler.passes.rules."
"""The package of all families; family names are relative to this package."""


@dataclass(frozen=True, slots=True)
class Family:
    """A rule family: the rules of one module, a definition, and names in other compilers."""

    name: str
    title: str
    rules: tuple[Rule, ...]
    known_as: Mapping[str, str]


KNOWN_AS: Mapping[str, Mapping[str, str]] = {
    "affine_conv": {"TVM": "FoldScaleAxis", "ONNX Runtime": "ConvMulFusion, ConvAddFusion"},
    "affine_matmul": {"TVM": "FoldScaleAxis", "ONNX Runtime": "MatMulScaleFusion, MatmulBNFusion"},
    "affine_pad": {
        "XLA": "AlgebraicSimplifier::FoldConvInputPad",
        "TVM": "FoldExplicitPadding",
        "ONNX Runtime": "PadFusion",
    },
    "affine_signs": {},
    "affine_table": {},
    "bits": {"LLVM": "InstSimplify, InstCombineAndOrXor"},
    "bounds": {"LLVM": "InstCombineCalls", "ONNX Runtime": "FuseReluClip"},
    "casts": {
        "LLVM": "InstCombineCasts",
        "TVM": "SimplifyConsecutiveCast",
        "ONNX Runtime": "CastChainElimination",
    },
    "choices": {"LLVM": "InstCombineSelect"},
    "cleanup_qdq": {
        "ONNX Runtime": "DoubleQDQPairsRemover, ReluQuantFusion, ClipQuantFusion",
    },
    "clips": {},
    "comparisons": {"LLVM": "InstCombineCompares"},
    "copies": {
        "ONNX Runtime": "EliminateSlice",
        "onnxoptimizer": "eliminate_nop_concat, eliminate_nop_pad, eliminate_nop_split",
    },
    "deciding": {"LLVM": "InstSimplify"},
    "distribute": {"LLVM": "InstCombine: foldUsingDistributiveLaws"},
    "exponentials": {"LLVM": "SimplifyLibCalls", "XLA": "AlgebraicSimplifier"},
    "extremes": {"LLVM": "InstCombineCalls"},
    "fold_affine": {
        "XLA": "BatchNormExpander",
        "TVM": "DecomposeOpsForInference",
        "ONNX Runtime": "ConvBNFusion",
    },
    "gather_constants": {"LLVM": "Reassociate"},
    "inverses": {"LLVM": "InstCombineMulDivRem"},
    "known_signs": {"LLVM": "InstCombine with ValueTracking"},
    "logic": {"LLVM": "InstCombineAndOrXor"},
    "magnitudes": {},
    "negated_constants": {"LLVM": "InstCombineAddSub, InstCombineNegator"},
    "neutral": {"LLVM": "InstSimplify", "ONNX Runtime": "NoopElimination"},
    "noops": {
        "ONNX Runtime": "EliminateIdentity, NoopElimination",
        "onnxoptimizer": "eliminate_nop_cast, eliminate_nop_reshape, eliminate_nop_transpose",
    },
    "powers": {
        "LLVM": "SimplifyLibCalls",
        "MLIR": "populateMathAlgebraicSimplificationPatterns",
    },
    "product_order": {"CLRS": "matrix-chain multiplication"},
    "products": {},
    "quotients": {"LLVM": "InstCombineMulDivRem"},
    "reassociate": {"LLVM": "Reassociate", "XLA": "AlgebraicSimplifier"},
    "recognise.attention": {"XLA": "CudnnFusedMHARewriter", "ONNX Runtime": "AttentionFusion"},
    "recognise.blocks": {"OpenVINO": "DepthToSpaceFusion"},
    "recognise.exact": {"OpenVINO": "SoftPlusFusion"},
    "recognise.gelu": {"ONNX Runtime": "GeluFusion, FastGeluFusion", "OpenVINO": "GeluFusion"},
    "recognise.group_norm": {"ONNX Runtime": "FusionGroupNorm"},
    "recognise.hard": {"OpenVINO": "HSwishFusion, HSigmoidFusion"},
    "recognise.kept_axes": {"onnxoptimizer": "fuse_consecutive_reduce_unsqueeze"},
    "recognise.layer_norm": {
        "XLA": "CudnnNormRewriter",
        "ONNX Runtime": "LayerNormFusion, SimplifiedLayerNormFusion",
        "OpenVINO": "MVNFusion, RMSFusion",
    },
    "recognise.norm_parameters": {},
    "recognise.rotary": {"ONNX Runtime": "FusionRotaryEmbeddings", "OpenVINO": "RoPEFusion"},
    "recognise.shuffle": {"OpenVINO": "ShuffleChannelsFusion"},
    "recognise.slopes": {"OpenVINO": "LeakyReluFusion, PReluFusion"},
    "recognise.smooth": {
        "ONNX Runtime": "QuickGeluFusion",
        "OpenVINO": "SwishFusion, MishFusion",
    },
    "recognise.softmax": {"XLA": "SoftmaxRewriterTriton", "OpenVINO": "SoftmaxFusion"},
    "recognise.sums": {},
    "reductions": {"XLA": "AlgebraicSimplifier", "OpenVINO": "ReduceMerge"},
    "selections": {"LLVM": "InstCombineSelect"},
    "separable_windows": {},
    "shorter_windows": {},
    "signs": {"LLVM": "InstCombineAddSub, InstCombineNegator"},
    "sums": {},
    "views.expands": {},
    "views.gathers": {"ONNX Runtime": "GatherToSliceFusion"},
    "views.matmul_operands": {"XLA": "TransposeFolding", "ONNX Runtime": "MatmulTransposeFusion"},
    "views.pads": {"MLIR": "FoldConsecutiveConstantPadding"},
    "views.reductions": {"onnxoptimizer": "fuse_consecutive_reduce_unsqueeze"},
    "views.reshapes": {"MLIR": "ComposeReassociativeReshapeOps", "XLA": "AlgebraicSimplifier"},
    "views.slices": {
        "MLIR": "MergeConsecutiveExtractSlice",
        "onnxoptimizer": "fuse_consecutive_slices",
    },
    "views.squeezes": {
        "onnxoptimizer": "fuse_consecutive_squeezes, fuse_consecutive_unsqueezes",
    },
    "views.transposes": {
        "MLIR": "ConsolidateTransposeOptimization",
        "onnxoptimizer": "fuse_consecutive_transposes",
    },
    "views.units": {},
}
"""For each family, by system: names of similar passes, classes or source files; may be empty."""


def families() -> dict[str, Family]:
    """Return the families of all declared rules by name, sorted."""
    members: dict[str, list[Rule]] = {}
    for each in RULES.values():
        members.setdefault(_module(each), []).append(each)
    made = (_family(module, members[module]) for module in sorted(members))
    return {family.name: family for family in made}


def _module(declared: Rule) -> str:
    file = declared.source.partition(":")[0]
    return "compiler." + file.removesuffix(".py").replace("/", ".")


def _family(module: str, rules: list[Rule]) -> Family:
    name = module.removeprefix(PACKAGE)
    first_line = (sys.modules[module].__doc__ or "").partition("\n")[0]
    sentence, stop, _ = first_line.partition(".")
    return Family(name, sentence + stop, tuple(rules), KNOWN_AS.get(name, {}))
