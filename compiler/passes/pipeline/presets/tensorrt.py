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
            line("dead_code_elimination", "removes layers whose outputs have no readers"),
        ),
        Theirs(
            "constant folding",
            line("fold_constants", "folds shape computations that ONNX parsers leave"),
        ),
        Theirs(
            "no-op removal, shuffle fusion (transposes and reshapes in a row)",
            line("simplify", "merges consecutive shuffles"),
        ),
        Theirs(
            "Q/DQ propagation and fusion",
            line("propagate_qdq", "quantizes early and dequantizes late"),
            "TensorRT moves quantize up and dequantize down through commuting operators",
        ),
        Theirs(
            "GELU, LayerNorm, softmax patterns",
            line("recognise", "recognises patterns that have a dedicated kernel"),
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
                "merges layers of the same input, such as Inception's 1x1 convolutions",
            ),
        ),
        Theirs("dead layer removal", line("dead_code_elimination")),
        Theirs(
            "vertical fusion: Convolution + bias + activation + elementwise, pointwise fusion, "
            "reduce fusion",
            line("fuse", "fuses epilogues into anchors, and chains of pointwise layers"),
        ),
        Theirs("tensor formats (NCHW, NC/32HW32, NHWC8 ...)", line("assign_layout")),
        Theirs(
            "reformat elimination, concat elimination", line("fuse_data_movement", "merges copies")
        ),
        Theirs(
            "tactic selection by timing, activation memory reuse",
            None,
            "our policies choose kernels without timing; our memory planner runs after the passes",
        ),
    ),
    alike="TensorRT fuses epilogues into anchors and folds scales by the same methods as our "
    "passes.",
    unlike="TensorRT is closed source: the order of its phases is known only from documents and "
    "logs. TensorRT chooses kernels by timing on the device; we choose by counting bytes.",
)
