"""The mapping of assembly lines to lines of a function's LLVM text.

LLVM's code generator preserves debug locations. In a copy of the module, the debug location of each
instruction is its line number. The assembly of the copy contains these locations.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

_DEFINE = re.compile(r'define\b[^@]*@(?:"([^"]+)"|([\w.$-]+))\(')
_METADATA = re.compile(r"^!(\d+) = ", re.MULTILINE)
_LOCATION = re.compile(r"\s+\.loc\s+\d+\s+(\d+)\b")
_ADDED = re.compile(r"\s+\.(loc|cfi_\w+|file)\b|\.L(tmp|func_begin)\d+:")
"""Matches directives that occur only in listings with debug locations."""


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
