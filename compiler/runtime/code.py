"""The code of a program: functions of distinct kernels, segments of launches, entry points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

from compiler.codegen.jit import Library, Objects
from compiler.codegen.llvm import FunctionText, function_text
from compiler.codegen.module import Launch, declaration, entries, module_of
from compiler.dataclass import dataclass
from compiler.ir.constant import Array
from compiler.limits import check, check_seconds
from compiler.loops.limits import NotLowerable
from compiler.runtime.thunks.constants import ConstantPool
from compiler.runtime.thunks.native import Functions, Launchable, functions
from compiler.runtime.thunks.select import FallbackThunk, Thunk, inner_thunks
from compiler.targets.options import CodeOptions
from compiler.targets.target import Target

Stage = Callable[[str], AbstractContextManager[None]]
"""Function from the name of a compilation step to a context manager that times the step."""

MOST_TEXT = 2_000_000
"""Maximum length of one function's LLVM IR, in characters: LLVM's compile time grows superlinearly,
and LLVM cannot be interrupted. Most kernels of real models have less than 80,000 characters. The
longest known one has 1,300,000: a convolution with a GELU for each of 24 vectors of sums, in a tile
and its remainders, on a machine with 32 registers."""

TEXT_PER_SECOND = 400_000
"""Estimated speed of LLVM: characters of IR compiled per second."""


@dataclass(frozen=True)
class Written:
    """Implementations, and the text of distinct kernels; `objects` is None for other machines."""

    thunks: list[Thunk]
    made: Functions
    texts: list[FunctionText]
    objects: Objects | None


def written_functions(thunks: list[Thunk], options: CodeOptions) -> Written:
    """Generate LLVM IR for each distinct kernel; kernels that LLVM cannot express fall back."""
    made = functions(thunks)
    written, refused = _written(thunks, made, options)
    if not refused:
        return written
    if written.objects is not None:
        written.objects.drop()
    kept = [_without_refused(w, made, refused) for w in thunks]
    return _written(kept, functions(kept), options)[0]


def _written(
    thunks: list[Thunk], made: Functions, options: CodeOptions
) -> tuple[Written, dict[int, str]]:
    """Return the texts of kernels, and the reasons for missing texts by identity of the kernel."""
    target = options.target
    objects = Objects(target, options.effort) if target.name == "host" else None
    texts: list[FunctionText] = []
    refused: dict[int, str] = {}
    for symbol, kernel in made.kernels.items():
        check("llvm")
        try:
            text = function_text(kernel, symbol, target, options.threads, options.forking)
        except NotLowerable as e:
            refused[id(kernel)] = str(e)
            continue
        if len(text.text) > MOST_TEXT:
            refused[id(kernel)] = (
                f"its LLVM IR has {len(text.text):,} characters; the limit is {MOST_TEXT:,}"
            )
            continue
        check_seconds(len(text.text) / TEXT_PER_SECOND, f"machine code for {symbol}")
        texts.append(text)
        if objects is not None and not refused:
            objects.add(text.text, text.declarations)
    return Written(thunks, made, texts, objects), refused


def _without_refused(thunk: Thunk, made: Functions, refused: Mapping[int, str]) -> Thunk:
    for inner in inner_thunks([thunk]):
        shared = made.kernels[made.symbol_of(inner.scheduled.kernel)]
        because = refused.get(id(shared))
        if because is not None:
            place = "" if inner is thunk else f"inside, {inner.node.output}: "
            return FallbackThunk(thunk.node, f"{place}{because}")
    return thunk


def segments(thunks: Sequence[Launchable]) -> list[tuple[int, ...]]:
    """Return the node positions of each segment: adjacent native nodes, or a single fallback."""
    groups: list[tuple[int, ...]] = []
    for number, thunk in enumerate(thunks):
        is_native = not isinstance(thunk, FallbackThunk)
        if groups and is_native and not isinstance(thunks[groups[-1][0]], FallbackThunk):
            groups[-1] += (number,)
        else:
            groups.append((number,))
    return groups


NO_SECTIONS: Mapping[int, tuple[Launch, int]] = {}


def _launches(
    group: Sequence[int], calls: Mapping[int, Launch], instead: Mapping[int, tuple[Launch, int]]
) -> Iterator[Launch]:
    """Yield the launches of a segment in order, with each section as one launch."""
    done = 0
    for number in group:
        if number in instead:
            launch, done = instead[number]
            yield launch
        elif number >= done:
            yield calls[number]


@dataclass(frozen=True)
class Code:
    """All functions of a program: kernels, functions of nodes with regions, and entry points."""

    written: Written
    callers: Sequence[FunctionText]
    entries: str

    @staticmethod
    def of(
        written: Written,
        callers: Sequence[FunctionText],
        calls: Mapping[int, Launch],
        groups: Sequence[tuple[int, ...]],
        is_open: bool = False,
        instead: Mapping[int, tuple[Launch, int]] = NO_SECTIONS,
    ) -> Code:
        """Build the code with one entry point per native segment, numbered in order.

        `instead` maps the number of a launch to a replacement and an end. The replacement is
        launched instead of all launches from that number up to, but excluding, the end.
        """
        ranges: list[tuple[int, int]] = []
        ordered: list[Launch] = []
        for group in groups:
            if group[0] in calls:
                start = len(ordered)
                ordered += _launches(group, calls, instead)
                ranges.append((start, len(ordered)))
        return Code(written, callers, entries(ordered, ranges, is_open))

    def text(self, target: Target) -> str:
        """Return the code as one module."""
        return module_of([*self.written.texts, *self.callers], self.entries, target)

    def library(self, stage: Stage, pool: ConstantPool) -> tuple[Library, Array]:
        """Return the machine code and the weights; weights are packed while LLVM compiles."""
        assert self.written.objects is not None, "machine code exists for this machine only"
        self._close(self.written.objects)
        with stage("pack weights"):
            block = pool.block()
        with stage("machine code"):
            library = self.written.objects.library()
        return library, block

    def _close(self, objects: Objects) -> None:
        kernels = (declaration(s, k) for s, k in self.written.made.kernels.items())
        needed = (d for f in self.callers for d in f.declarations)
        texts = [*(f.text for f in self.callers), self.entries]
        objects.close("\n\n".join(texts), [*kernels, *needed])
