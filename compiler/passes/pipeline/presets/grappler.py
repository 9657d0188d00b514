"""A preset modelled on Grappler."""

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
    words="Prune, fold, simplify and remap, with two iterations over the list.",
    source="tensorflow/tensorflow, tensorflow/core/grappler/optimizers/meta_optimizer.cc",
    steps=(
        Theirs(
            "model pruner",
            line("dead_code_elimination", "nodes on which no fetched result depends"),
        ),
        Theirs(
            "implementation selector",
            None,
            "a single implementation per operator",
        ),
        Theirs(
            "function optimizer",
            None,
            "functions are inlined when a model is imported",
        ),
        Theirs("common subgraph elimination", line("common_subexpression_elimination")),
        Theirs("debug stripper", line("remove_noops", "removal of identities and assertions")),
        Theirs(
            "constant folding",
            line("fold_constants", "results of at most 10 MB, as in Grappler", max_bytes=10 << 20),
            "Grappler also moves constants through products and sums, as our rules do",
        ),
        Theirs("shape optimizer", line("fold_shapes", "arithmetic on shapes")),
        Theirs(
            "auto mixed precision, pin to host",
            None,
            "precision is an option, not a heuristic",
        ),
        Theirs(
            "arithmetic optimizer (hoists common factors, removes redundant transposes, casts, "
            "reshapes; folds multiplications into transposed products)",
            line("simplify"),
        ),
        Theirs(
            "generic layout optimizer",
            line("sink_transposes", "a minimum cut places transposes at minimum cost"),
            "Grappler switches between NHWC and NCHW with transposes in the graph. Our blocked "
            "layouts are properties of types, which a later pass assigns",
        ),
        Theirs(
            "loop optimizer (invariants)",
            line("loop_invariant_code_motion", "loop-invariant nodes"),
        ),
        Theirs("loop optimizer (loops and branches with known conditions)", line("simplify_loops")),
        Theirs(
            "dependency optimizer",
            line("dead_code_elimination"),
            "ONNX has no control edges",
        ),
        Theirs(
            "a second iteration over the list (two meta-iterations)",
            Repeat(_ROUND, 2, "Grappler runs two meta-iterations by default"),
        ),
        Theirs(
            "remapper (Conv2D + BiasAdd + activation, MatMul + BiasAdd)",
            line("fold_affine", "batch norms and biases fold into weights"),
        ),
        Theirs("remapper", line("fuse", "an anchor with its elementwise epilogue")),
        Theirs(
            "memory optimizer, auto parallel, scoped allocator",
            None,
            "our recomputation and placement are not graph passes",
        ),
    ),
    alike="Everything is a rewrite of a single graph, and a second iteration uses matches that "
    "the first created.",
    unlike="Grappler must preserve names that a caller may fetch. Library "
    "kernels execute the graph, so fusion is a short list of remappings.",
)
