"""Parallel loops as LLVM functions: a region of a kernel becomes a part that every thread runs.

    fork(...)    puts the operands on the stack and asks the OpenMP runtime for a team
    thread(data) takes them from there, with the number of the thread and how many there are
    part(...)    runs the share of one thread; its pointers keep what is known of them

Sources: libgomp's `GOMP_parallel`, and `__kmpc_fork_call` of the runtime of LLVM and Intel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.codegen.access.params import Param
from compiler.codegen.threads.pool_text import SHARE, SHARE_DECLARATION
from compiler.dataclass import dataclass
from compiler.targets.options import Forking

THREAD, TEAM = "%thread", "%team"
"""The last two parameters of a part: which thread runs it, and how many threads there are."""

_GOMP = "declare void @GOMP_parallel(ptr, ptr, i32, i32)"
_KMPC = (
    "%ident = type { i32, i32, i32, i32, ptr }",
    '@"ident.text" = private unnamed_addr constant [23 x i8] c";unknown;unknown;0;0;;\\00"',
    '@"ident" = private unnamed_addr constant %ident '
    '{ i32 0, i32 2, i32 0, i32 22, ptr @"ident.text" }',
    "declare i32 @__kmpc_global_thread_num(ptr)",
    "declare void @__kmpc_push_num_threads(ptr, i32, i32)",
    "declare void @__kmpc_fork_call(ptr, i32, ptr, ...)",
)
NUMBER_OF_THREADS = "omp_get_num_threads"
"""What every region calls, whichever runtime there is."""

_QUERIES = ("declare i32 @omp_get_thread_num()", f"declare i32 @{NUMBER_OF_THREADS}()")


SHARES = 2
"""How many shares of a region there are for each thread of our own."""


@dataclass(frozen=True, slots=True)
class Region:
    """A part's name without its kind, and its parameters, all pointers and i64."""

    symbol: str
    params: tuple[Param, ...]

    def name(self, kind: str) -> str:
        """The function of this kind: `fork`, `thread` or `part`."""
        return f'@"{self.symbol}.{kind}"'

    @property
    def names(self) -> tuple[str, ...]:
        """The values of the parameters inside the region's own functions."""
        return tuple(name for _, name in self.params)

    def arguments(self, values: Sequence[str]) -> str:
        """Values of the parameters as a call gives them."""
        pairs = zip(self.params, values, strict=True)
        return ", ".join(f"{kind.split()[0]} {value}" for (kind, _), value in pairs)

    def part(self, values: Sequence[str], thread: str, team: str) -> str:
        """The call that runs the share of one thread."""
        given = [a for a in (self.arguments(values),) if a]
        given += [f"i64 {thread}", f"i64 {team}"]
        return f"call void {self.name('part')}({', '.join(given)})"

    def fork(self, values: Sequence[str]) -> str:
        """The call that runs all of it, on several threads."""
        return f"call void {self.name('fork')}({self.arguments(values)})"


def declarations(forking: Forking) -> tuple[str, ...]:
    """What a module with regions needs to know of whoever has the threads."""
    if forking == "pool":
        return (SHARE_DECLARATION,)
    return (*_QUERIES, *(_KMPC if forking == "kmpc" else (_GOMP,)))


def part_head(region: Region) -> str:
    """The first line of the function that a part's lines go into."""
    params = [f"{kind} {name}" for kind, name in region.params]
    params += [f"i64 {THREAD}", f"i64 {TEAM}"]
    return f"define internal void {region.name('part')}({', '.join(params)}) nounwind {{"


def fork_text(
    region: Region, threads: int, forking: Forking, work: int, shares: int | None = None
) -> str:
    """The functions `fork` and `thread` of a region; `work` is how many half cycles it takes.

    `shares` is in how many parts a thread pool does it.
    """
    shares = threads * SHARES if shares is None else shares
    team = _team(region.name("thread"), threads, forking, work, shares)
    return "\n".join([*_fork(region, team), "", *_thread(region, forking)])


def _fork(region: Region, team: Sequence[str]) -> Iterator[str]:
    plain = ", ".join(f"{kind.split()[0]} {name}" for kind, name in region.params)
    yield f"define internal void {region.name('fork')}({plain}) nounwind {{"
    yield f"  %data = alloca [{max(len(region.params), 1)} x i64]"
    for i, (kind, name) in enumerate(region.params):
        yield f"  %at{i} = getelementptr i64, ptr %data, i64 {i}"
        yield f"  store {kind.split()[0]} {name}, ptr %at{i}"
    yield from team
    yield "  ret void"
    yield "}"


def _team(thread: str, threads: int, forking: Forking, work: int, shares: int) -> Sequence[str]:
    if forking == "pool":
        numbers = f"i64 {shares}, i64 {threads}, i64 {work}"
        return [f'  call void @"{SHARE}"(ptr {thread}, ptr %data, {numbers})']
    if forking == "gomp":
        return [f"  call void @GOMP_parallel(ptr {thread}, ptr %data, i32 {threads}, i32 0)"]
    return [
        '  %caller = call i32 @__kmpc_global_thread_num(ptr @"ident")',
        f'  call void @__kmpc_push_num_threads(ptr @"ident", i32 %caller, i32 {threads})',
        "  call void (ptr, i32, ptr, ...) @__kmpc_fork_call("
        f'ptr @"ident", i32 1, ptr {thread}, ptr %data)',
    ]


def _thread(region: Region, forking: Forking) -> Iterator[str]:
    # The runtime of LLVM first hands over where the numbers of the thread are.
    before = "ptr %global, ptr %bound, " if forking == "kmpc" else ""
    after = f", i64 {THREAD}, i64 {TEAM}" if forking == "pool" else ""
    yield f"define internal void {region.name('thread')}({before}ptr %data{after}) nounwind {{"
    for i, (kind, name) in enumerate(region.params):
        yield f"  %at{i} = getelementptr i64, ptr %data, i64 {i}"
        yield f"  {name} = load {kind.split()[0]}, ptr %at{i}"
    if forking != "pool":
        yield "  %thread32 = call i32 @omp_get_thread_num()"
        yield f"  %team32 = call i32 @{NUMBER_OF_THREADS}()"
        yield f"  {THREAD} = zext i32 %thread32 to i64"
        yield f"  {TEAM} = zext i32 %team32 to i64"
    yield f"  {region.part(region.names, THREAD, TEAM)}"
    yield "  ret void"
    yield "}"
