"""A program as text at each level: graph, loops, LLVM IR, assembly, and others."""

from __future__ import annotations

from collections.abc import Callable

from compiler.codegen import jit
from compiler.codegen.threads.pool_text import with_thread_pool
from compiler.runtime.built import Built
from compiler.runtime.levels import LEVELS
from compiler.runtime.thunks.kernels import KernelInfo
from compiler.schedule.language.sections import section

KINDS = tuple(LEVELS)

OF_GRAPHS = ("graph", "onnx")
"""Kinds of output that need neither known sizes nor generated code."""


def emit(built: Built, kind: str) -> str | bytes:
    """Return the program at one level; `object` is a relocatable object file.

    An object file includes the thread pool unless the threads come from OpenMP. `kind` is one of
    KINDS except `onnx`, which is built from another graph.
    """
    match kind:
        case "graph":
            return f"{built.graph}\n"
        case "computation":
            return _joined(_per_function(built, lambda k: str(k.computation)))
        case "schedules":
            return _joined(_sections(built))
        case "loops":
            return _joined([str(k) for k in built.functions.values()])
        case "llvm":
            return built.llvm
        case "asm":
            return jit.assembly(built.llvm, built.target)
        case "object":
            return jit.object_code(with_thread_pool(built.llvm, built.target), built.target)
        case "memory":
            return f"{built.plan}\n"
        case _:
            raise AssertionError(f"{kind} is not a kind")


def _per_function(built: Built, text: Callable[[KernelInfo], str]) -> list[str]:
    """Return a text for each distinct kernel, made from the first launch that uses the kernel."""
    first: dict[str, KernelInfo] = {}
    for k in built.kernels:
        if k.computation is not None and k.symbol:
            first.setdefault(k.symbol, k)
    return [text(k) for k in first.values()]


def _sections(built: Built) -> list[str]:
    """Return the schedule of each distinct kernel, under the names of all its launches."""
    users: dict[str, list[KernelInfo]] = {}
    for k in built.kernels:
        if k.computation is not None and k.symbol:
            users.setdefault(k.symbol, []).append(k)
    return [section([k.name for k in ks], ks[0].moves) for ks in users.values()]


def _joined(parts: list[str]) -> str:
    return "\n\n".join(parts) + "\n" if parts else ""
