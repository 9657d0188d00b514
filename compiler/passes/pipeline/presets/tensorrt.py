"""A preset modelled on TensorRT."""

from compiler.passes.pipeline.pipeline import line
from compiler.passes.pipeline.presets.manner import Manner, Theirs

MANNER = Manner(
    name="tensorrt",
    system="NVIDIA TensorRT",
    words="Remove dead layers, fuse layers vertically and horizontally, then choose kernels by "
    "timing.",
    source="TensorRT developer guide: layer fusion catalogue, builder phases",
    steps=(
        Theirs(
            "dead layer removal",
            line("dead_code_elimination", "outputs without readers"),
        ),
        Theirs(
            "constant folding",
            line("fold_constants", "ONNX parsers leave shape computations"),
        ),
        Theirs(
            "no-op removal, shuffle fusion (transposes and reshapes in a row)",
            line("simplify", "consecutive shuffles merge"),
        ),
        Theirs(
            "Q/DQ propagation and fusion",
            line("propagate_qdq", "quantize early, dequantize late"),
            "TensorRT moves a quantize up and a dequantize down as far as operators commute",
        ),
        Theirs(
            "GELU, LayerNorm, softmax patterns",
            line("recognise", "a pattern with a dedicated kernel"),
        ),
        Theirs("attention patterns", line("recognise_attention")),
        Theirs(
            "Convolution + Scale, FullyConnected + Scale",
            line("fold_affine", "scales fold into weights"),
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
            "a policy chooses kernels, not timing; our memory planner runs after the passes",
        ),
    ),
    alike="Vertical fusion at an anchor's store is the same method, as is folding scales.",
    unlike="TensorRT is closed: the order of its phases is known only from its documents and "
    "logs. It chooses kernels by timing on the device, we by counted bytes.",
)
