"""The LLVM module of a program: its kernels, and entry points that launch them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from compiler.codegen.llvm import FunctionText, function_text
from compiler.dataclass import dataclass
from compiler.loops.nodes import Kernel
from compiler.targets.options import Forking
from compiler.targets.target import Target

Space = Literal["arena", "constants", "input", "output", "slot", "table"]


@dataclass(frozen=True, slots=True)
class Arg:
    """A pointer argument: an offset into the arena or the constants, or a caller's array.

    Units: for the arena and the constants, `offset` is in bytes; for inputs and outputs, `offset`
    is a position. In code for open shapes, each run has a table of arena offsets and sizes. A
    `slot` is a pointer into the arena: its `offset` is the position of the arena offset in the
    table. A `table` argument is the pointer to the table.
    """

    space: Space
    offset: int


@dataclass(frozen=True, slots=True)
class Launch:
    """One call of a kernel; `sizes` are numbers or, for open shapes, positions in a run's table."""

    symbol: str
    args: tuple[Arg, ...]
    sizes: tuple[int, ...] = ()


def module_ir(
    kernels: Mapping[str, Kernel],
    launches: Sequence[Launch],
    target: Target,
    segments: Sequence[tuple[int, int]] = (),
    *,
    threads: int = 1,
    forking: Forking = "gomp",
) -> str:
    """Emit a module with every kernel under its symbol, and the entry points.

    `run` executes all launches in order. Each of `run_0`, `run_1`... executes one segment,
    `launches[first:end]`. The caller can run other code between segments. An entry point has the
    signature `void run(ptr arena, ptr constants, ptr* inputs, ptr* outputs)`.
    Errors: NotLowerable for a kernel that cannot be emitted.
    """
    functions = [
        function_text(k, symbol, target, threads, forking) for symbol, k in kernels.items()
    ]
    return module_of(functions, entries(launches, segments), target)


def module_of(functions: Sequence[FunctionText], entries: str, target: Target) -> str:
    """Emit a module with these functions, their declarations, and entry points."""
    declarations = dict.fromkeys(d for f in functions for d in f.declarations)
    parts = [f'target triple = "{target.triple}"', "\n".join(declarations)]
    parts += [*(f.text for f in functions), entries]
    return "\n\n".join(p for p in parts if p) + "\n"


def entries(
    launches: Sequence[Launch],
    segments: Sequence[tuple[int, int]] = (),
    is_open: bool = False,
) -> str:
    """Emit the definitions of all entry points.

    Entry points of code for open sizes have a fifth pointer: the run's table of offsets and sizes.
    """
    parts = [entry_text("run", launches, is_open)]
    parts += [entry_text(f"run_{i}", launches[a:b], is_open) for i, (a, b) in enumerate(segments)]
    return "\n\n".join(parts)


def declaration(symbol: str, kernel: Kernel) -> str:
    """Return the declaration of a kernel for its callers."""
    params = ", ".join([*("ptr" for _ in kernel.params), *("i64" for _ in kernel.sizes)])
    return f'declare void @"{symbol}"({params}) nounwind'


def entry_text(name: str, launches: Sequence[Launch], is_open: bool = False) -> str:
    """Return the definition of one entry point."""
    return "\n".join([*entry_lines(name, launches, is_open=is_open)[0], "  ret void", "}"])


def entry_lines(
    name: str, launches: Sequence[Launch], others: Sequence[Arg] = (), *, is_open: bool = False
) -> tuple[list[str], dict[Arg, str]]:
    """Return the lines of an entry point up to its last call, and the names of its pointers.

    `others` are pointers to emit in addition to the pointers of the launches.
    """
    table = ", ptr %table" if is_open else ""
    lines = [
        f"define void @{name}(ptr %arena, ptr %constants, ptr %inputs, ptr %outputs{table}) "
        "nounwind {"
    ]
    known: dict[Arg, str] = {}
    for arg in (*(a for x in launches for a in x.args), *others):
        if arg not in known:
            known[arg] = f"%a{len(known)}"
            lines += _pointer(known[arg], arg)
    for launch in launches:
        numbers = [f"%n{len(lines)}.{i}" for i in range(len(launch.sizes))]
        for number, slot in zip(numbers, launch.sizes, strict=True):
            lines += from_table(number, slot)
        args = ", ".join(
            [*(f"ptr {known[a]}" for a in launch.args), *(f"i64 {n}" for n in numbers)]
        )
        lines.append(f'  call void @"{launch.symbol}"({args})')
    return lines, known


def _pointer(name: str, arg: Arg) -> list[str]:
    if arg.space in ("arena", "constants", "table"):
        return [f"  {name} = getelementptr i8, ptr %{arg.space}, i64 {arg.offset}"]
    if arg.space == "slot":
        return [
            *from_table(f"{name}.offset", arg.offset),
            f"  {name} = getelementptr i8, ptr %arena, i64 {name}.offset",
        ]
    return [
        f"  {name}.at = getelementptr ptr, ptr %{arg.space}s, i64 {arg.offset}",
        f"  {name} = load ptr, ptr {name}.at",
    ]


def from_table(name: str, slot: int) -> list[str]:
    """Return the lines that load a number from a run's table into the SSA value `name`."""
    return [
        f"  {name}.at = getelementptr i64, ptr %table, i64 {slot}",
        f"  {name} = load i64, ptr {name}.at",
    ]
