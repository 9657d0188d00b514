"""Launches that several threads run by a static plan, as one launchable function.

    launch(...)   counts the dependences of each task, and passes lanes to the thread pool as shares
    share(lane)   runs the lane's next task if it is ready, else steals a task of another lane
    take(lane)    returns the next task of a lane, BUSY if the task is not ready, DONE at the end

A lane is the ordered list of tasks of one thread. If the next task of its own lane is not ready, a
thread takes the next task of another lane. That task must be ready and untaken. All tasks therefore
complete with any number of threads, even with a single thread. Proof of progress: consider the
first untaken task in program order. It is always the next task of its lane, and all its dependences
are taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from compiler.codegen.llvm import FunctionText
from compiler.codegen.module import Arg, Launch
from compiler.codegen.threads.forks import THREAD, Region, fork_text, part_head
from compiler.codegen.threads.pool_text import SHARE_DECLARATION, pause
from compiler.targets.target import Target

Lane = Sequence[int]
"""The tasks that one thread runs, in order; each task is a number from 0."""

APART = 16
"""The distance between the cursors of two lanes, in units of i64: one cache line per cursor."""

BUSY, DONE = -1, -2

STATE = "%state"


def by_lanes(
    symbol: str,
    tasks: Sequence[Launch],
    lanes: Sequence[Lane],
    after: Mapping[int, Sequence[int]],
    work: int,
    target: Target,
) -> tuple[Launch, FunctionText]:
    """Return one launch that runs all tasks, and the function that it calls.

    `after` maps each task to the tasks that depend on it; `work` is the total time of all tasks in
    half cycles.
    """
    args = tuple(dict.fromkeys(a for t in tasks for a in t.args))
    names = {a: f"%a{i}" for i, a in enumerate(args)}
    region = Region(symbol, (*(("ptr", name) for name in names.values()), ("ptr", STATE)))
    declaration, pausing = pause(target)
    lines = [
        *_tables(symbol, lanes),
        *_take(symbol, len(lanes)),
        *_part(region, tasks, lanes, after, names, pausing),
        fork_text(region, len(lanes), "pool", work, len(lanes)),
        "",
        *_launch(region, tasks, lanes, after, names),
    ]
    return Launch(symbol, args), FunctionText("\n".join(lines), (SHARE_DECLARATION, declaration))


def _tables(symbol: str, lanes: Sequence[Lane]) -> Iterator[str]:
    flat = [t for lane in lanes for t in lane]
    starts = [sum(map(len, lanes[:i])) for i in range(len(lanes))]
    for name, numbers in (("order", flat), ("starts", starts), ("lengths", map(len, lanes))):
        row = [f"i64 {n}" for n in numbers]
        table = f"[{len(row)} x i64] [{', '.join(row)}]"
        yield f'@"{symbol}.{name}" = private unnamed_addr constant {table}'
    yield ""


def _take(symbol: str, n_lanes: int) -> Iterator[str]:
    yield f"""define internal i64 @"{symbol}.take"(ptr {STATE}, i64 %lane) nounwind {{
  %slot = mul i64 %lane, {APART}
  %cursor = getelementptr i64, ptr {STATE}, i64 %slot
  %at = load atomic i64, ptr %cursor acquire, align 8
  %length.at = getelementptr i64, ptr @"{symbol}.lengths", i64 %lane
  %length = load i64, ptr %length.at
  %ended = icmp uge i64 %at, %length
  br i1 %ended, label %done, label %look
look:
  %start.at = getelementptr i64, ptr @"{symbol}.starts", i64 %lane
  %start = load i64, ptr %start.at
  %place = add i64 %start, %at
  %task.at = getelementptr i64, ptr @"{symbol}.order", i64 %place
  %task = load i64, ptr %task.at
  %count = add i64 %task, {APART * n_lanes}
  %count.at = getelementptr i64, ptr {STATE}, i64 %count
  %left = load atomic i64, ptr %count.at acquire, align 8
  %waits = icmp ne i64 %left, 0
  br i1 %waits, label %busy, label %try
try:
  %next = add i64 %at, 1
  %pair = cmpxchg ptr %cursor, i64 %at, i64 %next acq_rel acquire, align 8
  %won = extractvalue {{ i64, i1 }} %pair, 1
  %taken = select i1 %won, i64 %task, i64 {BUSY}
  ret i64 %taken
busy:
  ret i64 {BUSY}
done:
  ret i64 {DONE}
}}
"""


def _part(
    region: Region,
    tasks: Sequence[Launch],
    lanes: Sequence[Lane],
    after: Mapping[int, Sequence[int]],
    names: Mapping[Arg, str],
    pausing: str,
) -> Iterator[str]:
    n = len(lanes)
    yield part_head(region)
    yield "  br label %try0"
    for k in range(n):
        yield f"try{k}:"
        yield f"  %shifted{k} = add i64 {THREAD}, {k}"
        yield f"  %lane{k} = urem i64 %shifted{k}, {n}"
        yield f'  %got{k} = call i64 @"{region.symbol}.take"(ptr {STATE}, i64 %lane{k})'
        yield f"  %is{k} = icmp sge i64 %got{k}, 0"
        yield f"  br i1 %is{k}, label %run, label %{f'try{k + 1}' if k + 1 < n else 'wait'}"
    yield "wait:"
    yield "  %most0 = add i64 %got0, 0"
    for k in range(1, n):
        yield f"  %more{k} = icmp sgt i64 %got{k}, %most{k - 1}"
        yield f"  %most{k} = select i1 %more{k}, i64 %got{k}, i64 %most{k - 1}"
    yield f"  %over = icmp eq i64 %most{n - 1}, {DONE}"
    yield "  br i1 %over, label %leave, label %rest"
    yield from ("rest:", f"  {pausing}", "  br label %try0")
    yield "run:"
    found = ", ".join(f"[%got{k}, %try{k}]" for k in range(n))
    yield f"  %task = phi i64 {found}"
    cases = " ".join(f"i64 {t}, label %task{t}" for t in range(len(tasks)))
    yield f"  switch i64 %task, label %leave [{cases}]"
    for t, launch in enumerate(tasks):
        given = ", ".join(f"ptr {names[a]}" for a in launch.args)
        yield f"task{t}:"
        yield f'  call void @"{launch.symbol}"({given})'
        for follower in after.get(t, ()):
            at = f"%after{t}.{follower}"
            yield f"  {at} = getelementptr i64, ptr {STATE}, i64 {APART * n + follower}"
            yield f"  %was{t}.{follower} = atomicrmw sub ptr {at}, i64 1 acq_rel, align 8"
        yield "  br label %try0"
    yield from ("leave:", "  ret void", "}", "")


def _launch(
    region: Region,
    tasks: Sequence[Launch],
    lanes: Sequence[Lane],
    after: Mapping[int, Sequence[int]],
    names: Mapping[Arg, str],
) -> Iterator[str]:
    waits = [0] * len(tasks)
    for followers in after.values():
        for f in followers:
            waits[f] += 1
    params = ", ".join(f"ptr {name}" for name in names.values())
    yield f'define void @"{region.symbol}"({params}) nounwind {{'
    yield f"  {STATE} = alloca [{APART * len(lanes) + len(tasks)} x i64], align 128"
    numbers = {APART * i: 0 for i in range(len(lanes))}
    numbers.update({APART * len(lanes) + t: n for t, n in enumerate(waits)})
    for place, n in numbers.items():
        yield f"  %at{place} = getelementptr i64, ptr {STATE}, i64 {place}"
        yield f"  store i64 {n}, ptr %at{place}"
    yield f"  {region.fork(region.names)}"
    yield from ("  ret void", "}")
