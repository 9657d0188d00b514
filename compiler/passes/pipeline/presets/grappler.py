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
    words="Prune, fold and simplify in two iterations over the list, then remap.",
    source="tensorflow/tensorflow, tensorflow/core/grappler/optimizers/meta_optimizer.cc",
    steps=(
        Theirs(
            "model pruner",
            line("dead_code_elimination", "removes nodes on which no fetched result depends"),
        ),
        Theirs(
            "implementation selector",
            None,
            "our operators have a single implementation each",
        ),
        Theirs(
            "function optimizer",
            None,
            "functions are inlined when a model is imported",
        ),
        Theirs("common subgraph elimination", line("common_subexpression_elimination")),
        Theirs("debug stripper", line("remove_noops", "removes identities and assertions")),
        Theirs(
            "constant folding",
            line(
                "fold_constants",
                "stores results of at most 10 MB, as Grappler does",
                max_bytes=10 << 20,
            ),
            "Grappler also moves constants through products and sums, as our rules do",
        ),
        Theirs("shape optimizer", line("fold_shapes", "simplifies arithmetic on shapes")),
        Theirs(
            "auto mixed precision, pin to host",
            None,
            "we leave precision to an option, not to a heuristic",
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
            line("loop_invariant_code_motion", "moves loop-invariant nodes out of loops"),
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
        Theirs("remapper", line("fuse", "fuses an anchor with its elementwise epilogue")),
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
