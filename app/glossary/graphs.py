"""Terms of models, graphs, passes and rules."""

from __future__ import annotations

from app.glossary.term import Section, Term

MODELS_AND_GRAPHS = Section(
    "Models and graphs",
    (
        Term("model", "an ONNX file, or its bytes", "`compiler/frontend/`", is_marked=False),
        Term(
            "graph",
            "typed nodes in topological order, with inputs, results and constants",
            "`compiler/ir/graph.py`",
            "LLVM: function; XLA: computation; TVM: function",
        ),
        Term(
            "node",
            "one application of an operator in a graph",
            "`compiler/ir/graph.py`",
            "LLVM, XLA: instruction; MLIR: operation",
        ),
        Term(
            "value",
            "a result of a node or an input of the graph, with a name and one definition (SSA)",
            "`compiler/ir/graph.py`",
            "LLVM, MLIR: value",
            is_marked=False,
        ),
        Term(
            "result",
            "a value that the graph returns to its caller",
            "`compiler/ir/graph.py`",
            "XLA: root; ONNX: output",
            is_marked=False,
        ),
        Term(
            "constant",
            "a value known at compile time, stored as splat, literal, bytes or a "
            "position in the model file",
            "`compiler/ir/constant.py`",
            "XLA: literal; ONNX: initializer",
        ),
        Term(
            "splat",
            "a constant whose elements are all equal, stored once",
            "`compiler/ir/constant.py`",
            "LLVM, MLIR: splat",
        ),
        Term(
            "dimension",
            "the size of an axis: a number, a symbol, or an affine expression of symbols",
            "`compiler/ir/affine.py`",
            "MLIR: affine expression; ONNX: `dim_param`",
        ),
        Term(
            "open size",
            "a dimension known only at run time: a symbol in types, a parameter of kernels",
            "`compiler/loops/sizes.py`, `compiler/runtime/open/program.py`",
            "MLIR: dynamic dimension; TVM: symbolic shape",
        ),
        Term(
            "layout",
            "the order of the elements of a tensor in memory",
            "`compiler/ir/types.py`",
            "XLA, TVM: layout",
        ),
        Term(
            "contiguous",
            "of elements: one after another in memory, without gaps",
            "`compiler/ir/types.py`",
            "NumPy: C-contiguous",
        ),
        Term(
            "stride",
            "the distance in memory from an element to the next one along an axis; of a window, "
            "its step along an axis",
            "`compiler/ir/types.py`",
            "NumPy: strides; ONNX: attribute strides",
            is_marked=False,
        ),
        Term(
            "blocked layout",
            "a layout that stores small blocks of channels together, for instance `c16` for blocks "
            "of 16 channels",
            "`compiler/passes/layout/`",
            "oneDNN: nChw16c; TVM: NCHWc",
        ),
        Term(
            "relayout",
            "an operator that copies a tensor into another layout",
            "`compiler/ops/data_movement/`",
            "XLA: copy with another layout; oneDNN: reorder",
        ),
        Term(
            "name scope",
            "the part of a name before a slash; it groups nodes as in the source of the model",
            "`app/grouping/scopes.py`",
            "TensorFlow: name scope",
        ),
        Term(
            "view",
            "a tensor that reads the memory of another tensor with other sizes or strides, and "
            "so needs no copy",
            "`compiler/ops/data_movement/reshape.py`",
            "MLIR: `memref` view; numpy: view",
            is_marked=False,
        ),
        Term(
            "operator",
            "a declaration: schema, type rule, description and facets",
            "`compiler/ir/operator.py`",
            "MLIR: operation definition (ODS)",
        ),
        Term(
            "facet",
            "one part of the declaration of an operator: reference, cost, lowering, "
            "import, samples",
            "`compiler/ir/operator.py`",
            "MLIR: interface",
        ),
        Term(
            "trait",
            "a property of an operator that passes query, such as `commutative` or `increasing`",
            "`compiler/ir/operator.py`",
            "MLIR: trait",
        ),
        Term(
            "foreign",
            "an ONNX operator without a declaration, evaluated by `onnx.reference`",
            "`compiler/ops/evaluation/foreign.py`",
            "XLA: custom call",
        ),
        Term(
            "origin",
            "the name of an ONNX node from which a node was created",
            "everywhere",
            "LLVM: debug location; XLA: op metadata",
        ),
        Term(
            "opset",
            "the version of ONNX's set of operators that a model was written for",
            "`compiler/frontend/`",
            "ONNX: opset version",
        ),
        Term(
            "broadcast",
            "the repetition of a tensor along axes of size 1, so that its shape fits "
            "another operand",
            "`compiler/ops/`",
            "NumPy, ONNX: broadcasting",
            forms=(
                "broadcasts",
                "broadcasting",
            ),
        ),
    ),
)

PASSES_AND_RULES = Section(
    "Passes and rules",
    (
        Term(
            "rule",
            "a pattern and its replacement, with a description, an example, and a near "
            "miss that the rule must not rewrite",
            "`compiler/passes/engine/rule.py`",
            "MLIR: rewrite pattern",
        ),
        Term(
            "pass", "a function from graph to graph", "`compiler/passes/`", "LLVM, MLIR, XLA: pass"
        ),
        Term(
            "specialise",
            "the stage that replaces open sizes by numbers; it precedes the passes, no pipeline "
            "lists it, and it has no number",
            "`compiler/ir/infer.py`",
            "PyTorch: shape specialization",
            forms=("specialised", "specialises"),
            is_marked=False,
        ),
        Term(
            "pipeline",
            "a list of passes with their options, and a reason per line",
            "`compiler/passes/pipeline/pipeline.py`",
            "LLVM: pass pipeline",
        ),
        Term(
            "preset", "a pipeline with a name", "`compiler/passes/pipeline/presets/`", "LLVM: `-O2`"
        ),
        Term(
            "fixed point",
            "a graph that a pass, or a group of passes, leaves unchanged",
            "`compiler/passes/pipeline/`",
            "MLIR: fixed point of the greedy rewriter",
        ),
        Term(
            "alias",
            "a short form or former name of a pass, accepted in the text of a pipeline",
            "`compiler/passes/engine/declaration.py`",
            forms=("aliases",),
        ),
        Term(
            "step",
            "one rewrite that a pass applied or declined, with its reason",
            "`compiler/trace.py`",
            "LLVM: optimization remark",
            is_marked=False,
        ),
        Term(
            "event",
            "the effect of one pass: graphs before and after, seconds, steps",
            "`compiler/trace.py`",
            is_marked=False,
        ),
        Term(
            "trace", "all events of a compilation, in order", "`compiler/trace.py`", is_marked=False
        ),
        Term(
            "ledger",
            "all applied and declined steps of a trace",
            "the page",
            "LLVM: `-Rpass`, `-Rpass-missed`",
        ),
        Term(
            "fusion",
            "a node that contains a graph and becomes one kernel",
            "`compiler/ops/fusion.py`",
            "XLA: fusion instruction; TVM: primitive function",
            forms=(
                "fused",
                "fuse",
                "fuses",
            ),
        ),
        Term(
            "fusion policy",
            "the choice of nodes that share a kernel, with a reason for each pair of "
            "nodes in different kernels",
            "`compiler/passes/fusion/policy.py`",
            "XLA: fusion priority, `ShouldFuse`",
        ),
        Term(
            "elementwise",
            "of an operator: each element of the result depends on one element of each operand",
            "`compiler/ops/elementwise/`",
            "XLA: elementwise; TVM: `kElemWise`; MLIR: `Elementwise` trait",
            forms=("elementwise operation", "elementwise operations"),
        ),
        Term(
            "reduction",
            "the combination of elements along an axis into one, such as their sum or maximum",
            "`compiler/ops/reductions/`",
            "XLA: reduce; TVM: `kCommReduce`; MLIR: reduction iterator",
        ),
        Term(
            "data movement",
            "an operator that copies elements to other places without arithmetic",
            "`compiler/ops/data_movement/`",
            "TVM: `kInjective`; ONNX: Transpose, Slice, Concat",
        ),
        Term(
            "share a loop",
            "of two operators: one loop over the elements computes both, so the value between them "
            "is not stored",
            "`compiler/passes/fusion/`",
            "polyhedral compilation: loop fusion; Halide: `compute_at`",
            forms=("sharing a loop", "shared loop"),
        ),
        Term(
            "contraction",
            "a matrix product or convolution: sums of products",
            "`compiler/compute/`",
            "MLIR: `linalg` contraction; XLA: dot, convolution",
        ),
        Term(
            "parameter",
            "an input whose elements determine the generated code: axes, pads, counts",
            "`compiler/passes/control_flow/parameters.py`",
            is_marked=False,
        ),
        Term(
            "near miss",
            "a graph that resembles the pattern of a rewrite, but that the rewrite must "
            "leave unchanged",
            "`compiler/passes/engine/rule.py`",
            forms=("near misses",),
        ),
        Term(
            "epilogue",
            "the elementwise operations that a kernel applies to its results before it stores them",
            "`compiler/schedule/`",
            "CUTLASS, XLA: epilogue",
        ),
        Term(
            "halo",
            "a border of zeros around an image in memory, so that windows at the edge "
            "need no bounds tests",
            "`compiler/passes/layout/`",
            "TVM: padding; oneDNN: physical padding",
            forms=("halos",),
        ),
        Term(
            "rewrite",
            "a change of the graph that a pass applies in one place",
            "`compiler/passes/engine/rewrite.py`",
            "MLIR: pattern rewrite",
        ),
        Term(
            "provenance",
            "the link from every node, kernel, buffer and instruction to the ONNX nodes "
            "that it came from",
            "`compiler/ir/graph.py`",
            "LLVM: debug information",
        ),
        Term(
            "quantization",
            "the storage of numbers as small integers with a scale and a zero point",
            "`compiler/passes/quantization/`",
            "ONNX: QuantizeLinear",
            forms=(
                "quantized",
                "quantize",
                "quantizes",
            ),
        ),
    ),
)
