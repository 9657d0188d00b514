"""In the manner of TensorRT."""

from compiler.passes.pipeline.pipeline import line
from compiler.passes.pipeline.presets.manner import Manner, Theirs

MANNER = Manner(
    name="tensorrt",
    system="NVIDIA TensorRT",
    words="Dead layers out, vertical and horizontal layer fusion, then kernels by timing.",
    source="TensorRT developer guide: layer fusion catalogue, builder phases",
    steps=(
        Theirs(
            "dead layer removal", line("dead_code_elimination", "outputs that nobody asked for")
        ),
        Theirs("constant folding", line("fold_constants", "ONNX parsers leave shapes to compute")),
        Theirs(
            "no-op removal, shuffle fusion (transposes and reshapes in a row)",
            line("simplify", "two shuffles are one"),
        ),
        Theirs(
            "Q/DQ propagation and fusion",
            line("propagate_qdq", "quantise early, dequantise late"),
            "TensorRT moves a quantize up and a dequantize down as far as operators commute",
        ),
        Theirs(
            "GELU, LayerNorm, softmax patterns",
            line("recognise", "a pattern with a kernel of its own"),
        ),
        Theirs("attention patterns", line("recognise_attention")),
        Theirs(
            "Convolution + Scale, FullyConnected + Scale",
            line("fold_affine", "scales into weights"),
        ),
        Theirs("common layers merged", line("common_subexpression_elimination")),
        Theirs(
            "horizontal layer fusion (layers that read one tensor)",
            line(
                "combine_parallel_contractions",
                "Inception's 1x1 convolutions are the well-known case",
            ),
        ),
        Theirs("dead layer removal", line("dead_code_elimination")),
        Theirs(
            "vertical fusion: Convolution + bias + activation + elementwise, pointwise fusion, "
            "reduce fusion",
            line("fuse", "chains behind an anchor, and chains of pointwise layers"),
        ),
        Theirs("tensor formats (NCHW, NC/32HW32, NHWC8 ...)", line("assign_layout")),
        Theirs(
            "reformat elimination, concat elimination", line("fuse_data_movement", "fewer copies")
        ),
        Theirs(
            "tactic selection by timing, activation memory reuse",
            None,
            "kernels come from a policy, not from timing; memory is planned after the passes",
        ),
    ),
    alike="Vertical fusion at an anchor's store is the same idea, and so is folding scales.",
    unlike="TensorRT is closed: the order of its phases is known from its documents and logs only. "
    "It decides by timing kernels on the device, we by counted bytes.",
)
