"""Terms of loops, code, memory, runs, checks and measurements."""

from __future__ import annotations

from app.glossary.term import Section, Term

LOOPS_AND_CODE = Section(
    "Loops and code",
    (
        Term(
            "computation",
            "the value of each element of a node or fusion, without an order of the elements",
            "`compiler/compute/`",
            "TVM: tensor expression; Halide: algorithm",
        ),
        Term(
            "stage",
            "one assignment of a computation: target, scalar expression, axes",
            "`compiler/compute/computation.py`",
            "Halide: stage of a `Func`",
            is_marked=False,
        ),
        Term(
            "routine",
            "statements in a fixed order, used instead of a stage for sorting, prefix "
            "sums, and writes at computed indices",
            "`compiler/compute/computation.py`",
            "TVM: `extern`",
        ),
        Term(
            "fetch",
            "a read at a computed index, clamped to the tensor",
            "`compiler/compute/scalar.py`",
            "LLVM: gather",
            is_marked=False,
        ),
        Term(
            "schedule",
            "the moves that turn a computation into loops",
            "`compiler/schedule/`",
            "Halide, TVM: schedule",
            is_marked=False,
        ),
        Term(
            "move",
            "one transformation of a loop nest: split, reorder, vectorise, pack",
            "`compiler/schedule/`",
            "TVM: schedule primitive; MLIR: transform",
            is_marked=False,
        ),
        Term(
            "packing",
            "a constant stored at compile time in the order in which a kernel reads it",
            "`compiler/schedule/operands/packing.py`",
            "BLIS: packing",
            forms=("packed",),
        ),
        Term(
            "kernel",
            "a loop nest over buffers, compiled to one function",
            "`compiler/loops/nodes.py`",
            "XLA: kernel; TVM: `PrimFunc`",
        ),
        Term(
            "target",
            "facts about a machine: vector bytes, registers, caches",
            "`compiler/targets/`",
            "LLVM: target",
            is_marked=False,
        ),
        Term(
            "Loop IR",
            "the form of a kernel as explicit loops over buffers",
            "`compiler/loops/`",
            "TVM: TensorIR; MLIR: affine dialect",
        ),
        Term(
            "LLVM IR",
            "the typed instructions from which LLVM generates machine code",
            "`compiler/codegen/`",
            "LLVM: IR",
        ),
        Term(
            "extent",
            "the number of iterations of a loop, or of elements along an axis; for the arena, the "
            "end of the highest live buffer",
            "`compiler/loops/nodes.py`",
            "TVM, Halide: extent",
        ),
        Term(
            "vector loop",
            "a loop whose iterations are the elements of a vector register, computed by "
            "one instruction",
            "`compiler/loops/nodes.py`",
            "LLVM: loop vectorization",
            forms=(
                "vectorised",
                "vectorise",
                "vectorises",
            ),
        ),
        Term(
            "lane",
            "the place of one element in a vector register; one instruction computes all lanes",
            "`compiler/targets/`",
            "LLVM: vector element; CUDA: lane of a warp",
            forms=("lanes",),
        ),
        Term(
            "register tile",
            "a tile of sums that stay in registers while a kernel adds all their terms",
            "`compiler/schedule/`",
            "BLIS: micro-tile",
        ),
        Term(
            "latency",
            "the time from the start of an instruction until others can use its result",
            "`compiler/machine/`",
            "LLVM: latency of a scheduling model",
        ),
        Term(
            "tile",
            "a block of the iterations of a loop nest, small enough for registers or a cache",
            "`compiler/schedule/`",
            "Halide: tile; MLIR: tiling",
            forms=(
                "tiles",
                "tiled",
            ),
        ),
        Term(
            "spill",
            "the store of a register to memory because a function needs more values "
            "than there are registers",
            "`compiler/codegen/`",
            "LLVM: spill",
            forms=(
                "spills",
                "spilled",
            ),
        ),
        Term(
            "Winograd",
            "a convolution algorithm that transforms tiles to reduce the number of multiplications",
            "`compiler/passes/algorithms/`",
            "cuDNN, oneDNN: Winograd",
        ),
    ),
)

MEMORY_AND_RUNNING = Section(
    "Memory and running",
    (
        Term(
            "buffer",
            "memory for a value between its first write and its last read",
            "`compiler/memory/`",
            "XLA: buffer, allocation slice",
        ),
        Term(
            "in place",
            "of a node: its result takes the memory of an operand that nothing reads afterwards",
            "`compiler/memory/`",
            "XLA: input-output aliasing; MLIR: in-place bufferization",
        ),
        Term(
            "plan",
            "an offset for every buffer; buffers that are live at the same time do not overlap",
            "`compiler/memory/plan.py`",
            "XLA: buffer assignment; TFLite: memory plan",
        ),
        Term(
            "arena",
            "the single allocation that a plan divides among buffers",
            "`compiler/runtime/`",
            "TFLite, ONNX Runtime: arena",
        ),
        Term(
            "room",
            "a buffer of the maximum size of a result, and the number of elements in use",
            "`compiler/ops/ordering/selections.py`",
            "XLA: bounded dynamic dimension",
            is_marked=False,
        ),
        Term(
            "launch",
            "one call of a kernel by a program, on given buffers",
            "`compiler/runtime/`",
            "CUDA: launch",
        ),
        Term(
            "call overhead",
            "the duration of a call apart from its work: several microseconds from Python, much "
            "less for a launch within a run",
            "`compiler/machine/roofline.py`",
            "CUDA: launch overhead",
        ),
        Term(
            "call",
            "one entry from Python into a compiled program: a run is one call with many launches",
            "`compiler/runtime/`",
            is_marked=False,
        ),
        Term(
            "program",
            "kernels in launch order, an arena, packed constants, and one native entry point",
            "`compiler/runtime/`",
            "XLA: executable; TVM: runtime module",
            is_marked=False,
        ),
        Term(
            "fallback",
            "a node that the reference implementation evaluates, because no code was "
            "generated for it",
            "`compiler/runtime/`",
            "ONNX Runtime: fallback provider",
        ),
        Term(
            "thunk",
            "a unit of execution of a program: code of one or more nodes, and the "
            "values that it reads and writes",
            "`compiler/runtime/thunks/select.py`",
            "XLA: thunk",
        ),
        Term(
            "crossing",
            "a switch between generated code and the reference within a run",
            "`compiler/runtime/thunks/partition.py`",
        ),
        Term(
            "part",
            "a group of nodes whose sizes are all known before the first node of the group runs",
            "`compiler/runtime/open/cut.py`",
            is_marked=False,
        ),
        Term(
            "bucket",
            "code for chosen values of open sizes; smaller inputs may be padded up to these sizes",
            "`compiler/runtime/buckets.py`",
            "TensorFlow Serving: bucket",
            is_marked=False,
        ),
        Term(
            "specialization",
            "code compiled at run time for the shapes or parameters of a call",
            "`compiler/runtime/program.py`",
            "Julia, PyTorch: specialization",
        ),
        Term(
            "preview",
            "the predicted execution of a graph, before code exists",
            "`compiler/runtime/preview.py`",
            is_marked=False,
        ),
        Term(
            "fate",
            "the way in which a node of the model is executed: by native code, as a "
            "view, by the reference, or not at all (eliminated)",
            "`compiler/runtime/preview.py`",
            is_marked=False,
        ),
        Term(
            "live",
            "of a value: written already, and still to be read",
            "`compiler/memory/`",
            "LLVM: live interval",
        ),
        Term(
            "traffic",
            "the bytes that kernels read from memory and write to memory",
            "`compiler/passes/engine/cost.py`",
            "XLA: bytes accessed",
        ),
        Term(
            "DRAM",
            "the main memory of a machine, which is larger and slower than its caches",
            "`compiler/machine/machine.py`",
        ),
        Term(
            "cache",
            "fast memory in the processor for data in recent use: L1 is the smallest and fastest, "
            "then come L2 and L3",
            "`compiler/machine/machine.py`",
            forms=("caches",),
        ),
        Term(
            "cache line",
            "the unit of transfer between memory and cache, 64 bytes on most processors",
            "`compiler/targets/`",
            forms=("cache lines",),
        ),
    ),
)

CHECKS_AND_MEASUREMENTS = Section(
    "Checks and measurements",
    (
        Term(
            "peer",
            "another runtime, measured in the same run as Compilarium",
            "`benchmarks/`",
            is_marked=False,
        ),
        Term(
            "sample",
            "a small application of an operator, or a model that ships with the program",
            "`compiler/ops/`, `samples/`",
            is_marked=False,
        ),
        Term(
            "case",
            "a test model of the onnx package, with its inputs and expected outputs",
            "`compiler/conformance/cases.py`",
            "ONNX: node test",
            is_marked=False,
        ),
        Term(
            "outcome",
            "the result of a case: native, mixed, fallback, refused, wrong or crashed",
            "`compiler/conformance/outcome.py`",
            is_marked=False,
        ),
        Term(
            "reference",
            "the implementation of each operator in NumPy, which defines the right result",
            "`compiler/reference.py`",
            "ONNX: reference evaluator",
        ),
        Term(
            "ULP",
            "unit in the last place: the distance between two neighbouring floating- point numbers",
            "`compiler/check/`",
            forms=("ULPs",),
        ),
        Term(
            "relative error",
            "the largest difference from the reference, divided by the largest value of "
            "the reference",
            "`compiler/check/`",
            forms=("relative errors",),
        ),
        Term(
            "tolerance",
            "the relative error up to which a result counts as right",
            "`compiler/check/`",
            "NumPy: rtol",
        ),
        Term(
            "roofline",
            "a bound on speed: the minimum of the processor's peak, and of bandwidth times "
            "operations per byte",
            "`compiler/machine/`",
            "Williams, Waterman and Patterson 2009",
            forms=("rooflines",),
        ),
        Term(
            "intensity",
            "operations per byte of traffic, which decides whether arithmetic or memory "
            "limits a kernel",
            "`compiler/machine/`",
            "roofline model: operational intensity",
        ),
        Term(
            "lower bound",
            "a limit below which no plan or program can fall",
            "`compiler/memory/`, `compiler/machine/`",
            forms=("lower bounds",),
        ),
        Term(
            "disturbed",
            "of a measurement: other work used the processors, so the measured times may be too "
            "long",
            "`compiler/bench/disturbance.py`",
            "",
            forms=("undisturbed",),
        ),
        Term(
            "median",
            "the middle of the sorted times: half of the runs were faster",
            "`compiler/bench/`",
            forms=("medians",),
        ),
        Term(
            "confidence interval",
            "the range that contains the true value with the stated probability: 95 % for times, "
            "99 % for comparisons",
            "`compiler/bench/`",
            forms=("confidence intervals",),
        ),
        Term(
            "flop",
            "one floating-point operation; a multiply-add counts as two",
            "`compiler/passes/engine/cost.py`",
            forms=("flops",),
        ),
    ),
)
