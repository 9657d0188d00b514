"""The levels of a program, from graph to machine code: definitions, and names in other systems."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Level:
    """A form of a program that `emit` returns and the page shows."""

    name: str
    title: str
    known_as: Mapping[str, str]


_DECLARED = (
    Level(
        "graph",
        "The optimised graph: operators on whole tensors, in topological order.",
        {"XLA": "HLO", "TVM": "Relax", "MLIR": "StableHLO, TOSA"},
    ),
    Level(
        "onnx",
        "The optimised graph as an ONNX model, for other runtimes.",
        {"ONNX": "ModelProto"},
    ),
    Level(
        "computation",
        "The formula of each element of a kernel, without an order of the elements.",
        {"Halide": "algorithm", "TVM": "tensor expression", "MLIR": "linalg.generic"},
    ),
    Level(
        "schedules",
        "The scheduling moves that turn the computation of each kernel into loops.",
        {"Halide, TVM": "schedule", "MLIR": "transform dialect"},
    ),
    Level(
        "loops",
        "Loop IR: the loop nests of each kernel over buffers.",
        {"TVM": "TensorIR", "Halide": "statement IR", "MLIR": "affine, scf and vector dialects"},
    ),
    Level(
        "llvm",
        "LLVM IR: the functions of all kernels, before instruction selection.",
        {"MLIR": "llvm dialect"},
    ),
    Level(
        "asm",
        "The assembly of all kernels for the target.",
        {"LLVM": "output of llc"},
    ),
    Level(
        "object",
        "A relocatable object file with the machine code of all kernels.",
        {"XLA": "AOT compilation result", "TVM": "exported library"},
    ),
    Level(
        "memory",
        "The plan of the arena: the offset and the lifetime of each buffer.",
        {"XLA": "buffer assignment", "TVM": "StaticPlanBlockMemory", "TFLite": "memory plan"},
    ),
)

LEVELS = {level.name: level for level in _DECLARED}
"""Every level by its name: from the graph to machine code, and then the memory plan."""
