"""In the manner of Grappler."""

from compiler.passes.pipeline.pipeline import Repeat, line
from compiler.passes.pipeline.presets.manner import Manner, Theirs

_ROUND = (
    line("dead_code_elimination"),
    line("common_subexpression_elimination"),
    line("fold_constants"),
    line("simplify"),
    line("loop_invariant_code_motion"),
)

MANNER = Manner(
    name="grappler",
    system="Grappler (TensorFlow)",
    words="Prune, fold, simplify, remap: the whole list twice.",
    source="tensorflow/tensorflow, tensorflow/core/grappler/optimizers/meta_optimizer.cc",
    steps=(
        Theirs(
            "model pruner", line("dead_code_elimination", "what the fetched results do not need")
        ),
        Theirs("implementation selector", None, "one implementation per operator"),
        Theirs("function optimizer", None, "functions are written out when a model is imported"),
        Theirs("common subgraph elimination", line("common_subexpression_elimination")),
        Theirs("debug stripper", line("remove_noops", "identities and checks")),
        Theirs(
            "constant folding",
            line("fold_constants", "results of at most 10 MB, as there", max_bytes=10 << 20),
            "Grappler also pushes constants through products and sums, which are rules of ours",
        ),
        Theirs("shape optimizer", line("fold_shapes", "arithmetic on shapes")),
        Theirs("auto mixed precision, pin to host", None, "precision is asked for, not guessed"),
        Theirs(
            "arithmetic optimizer (hoists common factors, removes redundant transposes, casts, "
            "reshapes; folds multiplications into transposed products)",
            line("simplify"),
        ),
        Theirs(
            "generic layout optimizer",
            line("sink_transposes", "transposes to where they cost least"),
            "moves between NHWC and NCHW with transposes in the graph; our blocked layouts are not "
            "nodes of the model and come later",
        ),
        Theirs(
            "loop optimizer (invariants)",
            line("loop_invariant_code_motion", "what is the same in every step"),
        ),
        Theirs("loop optimizer (loops and branches that are known)", line("simplify_loops")),
        Theirs(
            "dependency optimizer",
            line("dead_code_elimination"),
            "there are no control edges in ONNX",
        ),
        Theirs(
            "the whole list once more (two meta-iterations)",
            Repeat(_ROUND, 2, "Grappler's default is two rounds"),
        ),
        Theirs(
            "remapper (Conv2D + BiasAdd + activation, MatMul + BiasAdd)",
            line("fold_affine", "batch norms and biases"),
        ),
        Theirs("remapper", line("fuse", "one anchor with what follows it")),
        Theirs(
            "memory optimizer, auto parallel, scoped allocator",
            None,
            "recomputation and placement are no passes on the graph here",
        ),
    ),
    alike="Everything is a rewrite of one graph, and a second round catches what the first made.",
    unlike="Grappler must not lose names that a caller may fetch, and hands its graph to library "
    "kernels: fusion is a short list of remappings.",
)
