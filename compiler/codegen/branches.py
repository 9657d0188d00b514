"""Independent chains of launches that threads run concurrently, as one launchable function.

both(...)     passes the chains to the thread pool, one chain per share
share(number) calls the kernels of the chain with this number in order
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.codegen.llvm import FunctionText
from compiler.codegen.module import Arg, Launch
from compiler.codegen.threads.forks import THREAD, Region, fork_text, part_head
from compiler.codegen.threads.pool_text import SHARE_DECLARATION

Chain = Sequence[Launch]


def side_by_side(
    symbol: str, chains: Sequence[Chain], threads: int, work: int
) -> tuple[Launch, FunctionText]:
    """Return the launch of all chains, and its function; `work` is the total work of all chains.

    Units: `work` in half cycles.
    """
    args = tuple(dict.fromkeys(a for chain in chains for launch in chain for a in launch.args))
    names = {a: f"%a{i}" for i, a in enumerate(args)}
    region = Region(symbol, tuple(("ptr", name) for name in names.values()))
    params = ", ".join(f"ptr {name}" for name in names.values())
    lines = [
        *_part(region, chains, names),
        fork_text(region, threads, "pool", work, len(chains)),
        "",
        f'define void @"{symbol}"({params}) nounwind {{',
        f"  {region.fork(region.names)}",
        "  ret void",
        "}",
    ]
    return Launch(symbol, args), FunctionText("\n".join(lines), (SHARE_DECLARATION,))


def _part(region: Region, chains: Sequence[Chain], names: dict[Arg, str]) -> Iterator[str]:
    yield part_head(region)
    cases = " ".join(f"i64 {i}, label %chain{i}" for i in range(len(chains)))
    yield f"  switch i64 {THREAD}, label %leave [{cases}]"
    for i, chain in enumerate(chains):
        yield f"chain{i}:"
        for launch in chain:
            given = ", ".join(f"ptr {names[a]}" for a in launch.args)
            yield f'  call void @"{launch.symbol}"({given})'
        yield "  br label %leave"
    yield from ("leave:", "  ret void", "}", "")
