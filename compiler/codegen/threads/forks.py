"""Outlining of parallel loops: a region of a kernel becomes functions that every thread runs.

    fork(...)    stores the operands on the stack and requests a team of threads
    thread(data) loads the operands, the number of the thread and the size of the team
    part(...)    runs the share of one thread; its pointers keep the attributes of kernel params

Sources: libgomp's `GOMP_parallel`, and `__kmpc_fork_call` of the runtime of LLVM and Intel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.codegen.access.params import Param
from compiler.codegen.threads.pool_text import SHARE, SHARE_DECLARATION
from compiler.dataclass import dataclass
from compiler.targets.options import Forking

THREAD, TEAM = "%thread", "%team"
"""The last two parameters of `part`: the index of the thread, and the size of the team."""

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
"""The OpenMP function that every region calls, with any OpenMP runtime."""

_QUERIES = ("declare i32 @omp_get_thread_num()", f"declare i32 @{NUMBER_OF_THREADS}()")


SHARES = 2
"""The number of shares into which a region is divided, per thread of the pool."""


@dataclass(frozen=True, slots=True)
class Region:
    """The base name of a region's functions, and their parameters: pointers and i64."""

    symbol: str
    params: tuple[Param, ...]

    def name(self, kind: str) -> str:
        """Return the name of the function `fork`, `thread` or `part`."""
        return f'@"{self.symbol}.{kind}"'

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parameters inside the functions of the region."""
        return tuple(name for _, name in self.params)

    def arguments(self, values: Sequence[str]) -> str:
        """Return the argument list of a call."""
        pairs = zip(self.params, values, strict=True)
        return ", ".join(f"{kind.split()[0]} {value}" for (kind, _), value in pairs)

    def part(self, values: Sequence[str], thread: str, team: str) -> str:
        """Return the call that runs the share of one thread."""
        given = [a for a in (self.arguments(values),) if a]
        given += [f"i64 {thread}", f"i64 {team}"]
        return f"call void {self.name('part')}({', '.join(given)})"

    def fork(self, values: Sequence[str]) -> str:
        """Return the call that runs the region on several threads."""
        return f"call void {self.name('fork')}({self.arguments(values)})"


def declarations(forking: Forking) -> tuple[str, ...]:
    """Return the declarations of the threading runtime."""
    if forking == "pool":
        return (SHARE_DECLARATION,)
    return (*_QUERIES, *(_KMPC if forking == "kmpc" else (_GOMP,)))


def part_head(region: Region) -> str:
    """Return the first line of the function `part`."""
    params = [f"{kind} {name}" for kind, name in region.params]
    params += [f"i64 {THREAD}", f"i64 {TEAM}"]
    return f"define internal void {region.name('part')}({', '.join(params)}) nounwind {{"


def fork_text(
    region: Region, threads: int, forking: Forking, work: int, shares: int | None = None
) -> str:
    """Emit the functions `fork` and `thread` of a region; `work` is its time in half cycles.

    `shares` is the number of shares for a thread pool; the default is `SHARES` per thread.
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
    # LLVM's runtime passes pointers to the thread numbers as the first arguments.
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
