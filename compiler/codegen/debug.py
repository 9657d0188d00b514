"""The mapping of assembly lines to lines of a function's LLVM text.

LLVM's code generator preserves debug locations. In a copy of the module, the debug location of each
instruction is its line number. The assembly of the copy contains these locations. Without them, it
is the assembly of the module, except for AArch64: there, LLVM combines other loads and stores.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from compiler.codegen.jit import assembly
from compiler.dataclass import dataclass
from compiler.targets.target import Target

_DEFINE = re.compile(r'define\b[^@]*@(?:"([^"]+)"|([\w.$-]+))\(')
_METADATA = re.compile(r"^!(\d+) = ", re.MULTILINE)
_LOCATION = re.compile(r"\s+\.loc\s+\d+\s+(\d+)\b")
_ADDED = re.compile(r"\s+\.(loc|cfi_\w+|file\s+\d)\b|\.L(tmp|func_begin)\d+:")
"""Matches directives that occur only in listings with debug locations."""
_SECTION = re.compile(r"\s+\.(text\b|section\s+(?P<debug>\.debug_)?)")
_UNCHANGED = ("x86_64", "riscv64")
"""The machines whose code is the same with debug locations, in ELF files."""


@dataclass(frozen=True, slots=True)
class Listings:
    """The assembly of a module, and that of its copy with debug locations in some functions."""

    plain: str
    located: str


def listings(ir: str, symbols: Collection[str], target: Target) -> Listings:
    """Return both listings of a module whose functions never unwind.

    LLVM generates the code only once for machines whose code is the same with debug locations.
    """
    located = assembly(with_locations(ir, symbols), target)
    kind, _, system = target.triple.partition("-")
    if kind in _UNCHANGED and "linux" in system:
        return Listings(_without_debug_information(located), located)
    return Listings(assembly(ir, target), located)


def _without_debug_information(located: str) -> str:
    """Remove debug locations and the sections of debug information from the assembly of a
    module."""
    kept: list[str] = []
    is_debug = False
    for line in located.split("\n"):
        section = _SECTION.match(line)
        if section:
            is_debug = section["debug"] is not None
        if not is_debug and not _ADDED.match(line):
            kept.append(line)
    return "\n".join(kept).rstrip("\n") + "\n"


def with_locations(ir: str, symbols: Collection[str]) -> str:
    """Add debug locations to some functions of a module: line numbers of instructions, from 1."""
    used = [int(n) for n in _METADATA.findall(ir)]
    return "\n".join(_located(ir.split("\n"), symbols, max(used, default=-1) + 1))


def _located(lines: Sequence[str], symbols: Collection[str], first: int) -> Iterator[str]:
    unit, file, kind, flag = range(first, first + 4)
    number = first + 4
    added = [
        f"!llvm.dbg.cu = !{{!{unit}}}",
        f"!llvm.module.flags = !{{!{flag}}}",
        f"!{unit} = distinct !DICompileUnit(language: DW_LANG_C99, file: !{file}, "
        "isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly)",
        f'!{file} = !DIFile(filename: "kernels.ll", directory: "")',
        f"!{kind} = !DISubroutineType(types: !{{}})",
        f'!{flag} = !{{i32 2, !"Debug Info Version", i32 3}}',
    ]
    function, start, open_list = -1, 0, False
    for i, line in enumerate(lines):
        match = _DEFINE.match(line)
        if match:
            function = -1
            name = match[1] or match[2]
            if name in symbols and line.endswith(" {"):
                function, number, start = number, number + 1, i
                added.append(
                    f'!{function} = distinct !DISubprogram(name: "f{function}", file: !{file}, '
                    f"line: 1, type: !{kind}, scopeLine: 1, unit: !{unit}, "
                    "spFlags: DISPFlagDefinition)"
                )
                line = f"{line[:-2]} !dbg !{function} {{"
        elif line == "}":
            function = -1
        elif function >= 0 and line.startswith("  "):
            open_list = (open_list or line.endswith("[")) and not line.lstrip().startswith("]")
            if not open_list:
                added.append(f"!{number} = !DILocation(line: {i - start + 1}, scope: !{function})")
                line, number = f"{line}, !dbg !{number}", number + 1
        yield line
    yield from added


def without_locations(lines: Sequence[str]) -> tuple[list[str], list[int]]:
    """Remove debug locations from assembly; also return the LLVM line of each row (-1: none)."""
    kept: list[str] = []
    of: list[int] = []
    now = -1
    for line in lines:
        found = _LOCATION.match(line)
        if found:
            now = int(found[1]) - 1
        elif not _ADDED.match(line):
            kept.append(line)
            is_instruction = line.startswith("\t") and not line.startswith(("\t.", "\t#"))
            of.append(now if is_instruction else -1)
    return kept, of
