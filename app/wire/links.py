"""Links from each line of a kernel's LLVM IR or assembly to a line at the level above."""

from __future__ import annotations

from collections.abc import Iterator

from app.wire import VERSION
from app.wire.programs import first_kernels, split_assembly, split_llvm
from app.wire.shapes.stages import KernelLinks
from app.wire.texts import LINES_KEPT
from compiler.codegen.debug import Listings, without_locations
from compiler.codegen.llvm import function_lines
from compiler.runtime.program import Program
from compiler.runtime.thunks.kernels import KernelInfo
from compiler.targets.options import CodeOptions


def llvm_links(k: KernelInfo, text: str, program: Program, threads: int) -> list[int]:
    """Map each line of a kernel's LLVM IR to the line of Loop IR that it implements, else to -1.

    The list is empty if a second code generation gives a different number of lines.
    """
    if k.loops is None:
        return []
    forking = CodeOptions(program.target).forking
    _, lines = function_lines(k.loops, k.symbol, program.target, threads, forking)
    return list(lines) if len(lines) == len(text.split("\n")) else []


def kernel_links(
    program: Program, threads: int, made: Listings
) -> Iterator[tuple[str, KernelLinks]]:
    """Yield name and payload of each kernel's links; kernels with the same function share one.

    `made` is the program's assembly, passed in because its generation is slow.
    """
    texts = split_llvm(str(program.emit("llvm")))
    asm = asm_links(made)
    for number, k in first_kernels(program):
        text = texts.get(k.symbol)
        yield (
            f"kernel-{number}-links",
            {
                "version": VERSION,
                "kernel": number,
                "llvm": llvm_links(k, text, program, threads)[:LINES_KEPT] if text else [],
                "asm": asm.get(k.symbol, [])[:LINES_KEPT],
            },
        )


def asm_links(made: Listings) -> dict[str, list[int]]:
    """For each function, map each assembly line to the LLVM IR line that it implements, or to -1.

    If debug locations change a function's assembly, its list is empty, because links could be
    wrong.
    """
    plain = split_assembly(made.plain)
    found: dict[str, list[int]] = {}
    for name, text in split_assembly(made.located).items():
        kept, of = without_locations(text.split("\n"))
        wanted = plain.get(name, "").split("\n")
        found[name] = of[: len(wanted)] if kept[: len(wanted)] == wanted else []
    return found
