"""Memory requirements of kernel orders, for wide graphs and the models of the other benchmarks.

    python -m benchmarks.orders [--exact] [--wide] [--output orders.json] [FOLDER ...]

Two orders are baselines: the order in which the model lists its nodes, and Kahn's breadth-first
order. `best` is the order that `compile` uses; `--exact` adds the lowest peak of all orders, which
may take minutes. `--wide` selects the wide graphs only. Live bytes are lower bounds of the planned
arenas. Nothing is compiled: kernels are only selected and ordered.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

from benchmarks.subjects import catalogue
from benchmarks.wide_graphs import WIDE
from compiler.frontend import load
from compiler.memory.orders import order_tasks
from compiler.passes.pipeline.run import run_pipeline
from compiler.passes.pipeline.text import as_pipeline
from compiler.runtime.thunks.arrange import Needs, needed, placed
from compiler.runtime.thunks.launch_order import launch_tasks, ordered_launches
from compiler.runtime.thunks.partition import grouped
from compiler.runtime.thunks.select import Selector, Thunk, Unlaunched
from compiler.targets.options import CodeOptions


@dataclass(frozen=True, slots=True)
class Row:
    """The peaks of one model. Units: bytes, seconds.

    `is_lowest` states that no order has a lower peak than `best`.
    """

    model: str
    n_launches: int
    listed_bytes: int
    breadth_first_bytes: int
    best_bytes: int
    is_lowest: bool
    lowest_bytes: int | None
    listed_arena_bytes: int
    best_arena_bytes: int
    seconds: float


def measure(model: str, data: bytes, exact: bool) -> Row:
    """Order the launches of one model by each method; return the peaks."""
    thunks, needs = _needs(data)
    launches = [w for w in thunks if not isinstance(w, Unlaunched)]
    tasks = launch_tasks(launches, [(n,) for n in range(len(launches))], needs)
    start = perf_counter()
    best = order_tasks(tasks)
    seconds = perf_counter() - start
    lowest = order_tasks(tasks, "dp") if exact else None
    chosen = ordered_launches(thunks, needs, (), "best")
    return Row(
        model,
        len(tasks),
        best.given_bytes,
        order_tasks(tasks, "breadth_first").peak_bytes,
        best.peak_bytes,
        best.is_lowest,
        lowest.peak_bytes if lowest is not None and lowest.is_lowest else None,
        placed(needs).plan.peak_bytes,
        chosen.arrangement.plan.peak_bytes,
        seconds,
    )


def _needs(data: bytes) -> tuple[Sequence[Thunk], Needs]:
    graph = load(data)
    graph, _ = run_pipeline(graph, as_pipeline("default"), verify=False, keep_declined=False)
    thunks = grouped(list(Selector(graph, CodeOptions()).thunks()))
    return thunks, needed(graph, thunks)


def lines(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of the table, with geometric means. Units: 1000 bytes."""
    yield "| model | launches | listed | breadth first | best | lowest | arena listed | best | ms |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for r in rows:
        lowest = r.best_bytes if r.is_lowest else r.lowest_bytes
        cells = (
            r.model,
            str(r.n_launches),
            *(f"{n / 1000:.0f}" for n in (r.listed_bytes, r.breadth_first_bytes, r.best_bytes)),
            "" if lowest is None else f"{lowest / 1000:.0f}",
            *(f"{n / 1000:.0f}" for n in (r.listed_arena_bytes, r.best_arena_bytes)),
            f"{r.seconds * 1000:.0f}",
        )
        yield f"| {' | '.join(cells)} |"
    yield ""
    for words, before, after in (
        ("listed", lambda r: r.listed_bytes, lambda r: r.best_bytes),
        ("breadth first", lambda r: r.breadth_first_bytes, lambda r: r.best_bytes),
        ("the listed order's arena", lambda r: r.listed_arena_bytes, lambda r: r.best_arena_bytes),
    ):
        yield f"best against {words}: {1 - _mean(rows, before, after):.1%} less in geometric mean"


def _mean(rows: Sequence[Row], before: Callable[[Row], int], after: Callable[[Row], int]) -> float:
    ratios = [after(r) / before(r) for r in rows if before(r)]
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def main() -> None:
    """Print the table; raise an error if `best` needs more memory than the listed order."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--wide", action="store_true")
    parser.add_argument("--output", type=Path, default=None)
    parser.add_argument("folders", nargs="*", type=Path)
    given = parser.parse_args()
    wide = [measure(name, make(), given.exact) for name, make in WIDE.items()]
    print("\n".join(lines(wide)))
    others: list[Row] = []
    if not given.wide:
        for name, read in catalogue(given.folders).items():
            others.append(measure(name, read().model.SerializeToString(), given.exact))
        changed = [r for r in others if r.best_arena_bytes != r.listed_arena_bytes]
        print(f"\nOf {len(others)} other models these change:\n")
        print("\n".join(lines(changed)))
    rows = [*wide, *others]
    if given.output is not None:
        given.output.write_text(json.dumps([asdict(r) for r in rows], indent=1))
    worse = [r.model for r in rows if r.best_bytes > r.listed_bytes]
    worse += [r.model for r in rows if r.best_arena_bytes > r.listed_arena_bytes]
    assert not worse, f"models that need more memory than in their listed order: {worse}"


if __name__ == "__main__":
    main()
