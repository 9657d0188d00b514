"""The code of a thread pool with work stealing: available workers execute shares of a region.

`share(function, data, shares, threads, steps)` runs `function(data, number, shares)` for every
number below `shares`. Each thread, including the caller, has a range of share numbers, and steals
from other ranges when its range is empty. The caller waits only for shares that have started. If a
worker has no processor, other threads steal its shares, and the caller cancels the worker's
assignment. The caller maintains a balance: the time that workers save, minus the time spent waiting
for preempted workers. While the balance is negative, the caller runs all shares itself. This bounds
the loss on a busy machine.

    worker   0 no thread | 1 spins | 2 sleeps | 3 works | 5 must end | address of an assigned desk
    desk     next and end of its remaining numbers, its job, its index, its worker
    job      number of finished workers (negative while the caller sleeps), then the region's data

The desks (the remaining shares of each thread) and the job are on the caller's stack. So a worker
must not access them after it reports completion. Threads sleep and wake by Linux's futex; an idle
thread spins before it sleeps. Waking a thread costs the caller microseconds, so the caller wakes
workers only after enough work has accumulated. Each woken worker wakes two other workers. A worker
on the caller's processor migrates to another processor: worker and caller would otherwise take
turns on one processor.
"""

from __future__ import annotations

from compiler.codegen.threads.pool_caller import CALLER
from compiler.codegen.threads.pool_worker import WORKER
from compiler.loops.grain import STEPS_PER_CYCLE
from compiler.targets.target import Target

SHARE, LET_GO, RESET, REST = (f"compilarium.{n}" for n in ("share", "let_go", "reset", "rest"))
"""The public functions of a thread pool."""

SHARE_DECLARATION = f'declare void @"{SHARE}"(ptr, ptr, i64, i64, i64)'

MAX_HELPERS = 255

LOOKS = 1000
"""The default spin count before a thread sleeps."""

WAKE_STEPS = 150_000 * STEPS_PER_CYCLE
"""The amount of work that justifies waking workers: about 50 us; waking takes 5 to 10 us."""

ALONE = 16
"""If waking workers makes a caller slower, the caller runs without workers for this multiple of the
lost time. So at most 6 % of the time is lost."""

CREDIT = 10_000_000
"""The default limit of the balance of saved time, in ticks."""

_TICKS = {
    "x86_64": ("llvm.readcyclecounter", "", "", ""),
    "aarch64": (
        "llvm.read_volatile_register.i64",
        "metadata",
        "metadata !90001",
        '!90001 = !{!"cntvct_el0"}\n',
    ),
}
"""For each architecture, the intrinsic that reads a clock with the same constant rate on all
processors."""

_FUTEX = {"x86_64": 202, "aarch64": 98}
"""The system call number of futex."""

_PAUSE = {
    "x86_64": ("llvm.x86.sse2.pause", "", ""),
    "aarch64": ("llvm.aarch64.hint", "i32", "i32 1"),
}


def has_thread_pool(target: Target) -> bool:
    """Return whether the target has a thread pool: 64-bit Linux on x86 and Arm."""
    return "linux" in target.triple and _kind(target) in _FUTEX


def _kind(target: Target) -> str:
    return target.triple.split("-")[0]


def pause(target: Target) -> tuple[str, str]:
    """Return the declaration and the call of the pause instruction for spin loops."""
    name, kind, given = _PAUSE[_kind(target)]
    return f"declare void @{name}({kind})", f"call void @{name}({given})"


def pool_text(target: Target) -> str:
    """Return the module of a thread pool. Errors: KeyError if `has_thread_pool` is false."""
    pause_declaration, pausing = pause(target)
    text = (_OFFICE + WORKER + CALLER).replace("PAUSE", pausing)
    text = text.replace("FUTEX", f"i64 (i64, ...) @syscall(i64 {_FUTEX[_kind(target)]}")
    ticks, register, which, named = _TICKS[_kind(target)]
    text = text.replace("TICKS", f"@{ticks}({which})")
    numbers = {
        "ALONE": ALONE,
        "CREDIT": CREDIT,
        "ALL_BYTES": 128 * MAX_HELPERS,
        "MAX_HELPERS": MAX_HELPERS,
        "LOOKS": LOOKS,
        "WORTH": WAKE_STEPS,
    }
    for word, number in numbers.items():
        text = text.replace(word, str(number))
    intrinsics = f"{named}{pause_declaration}\ndeclare i64 @{ticks}({register})"
    return f'target triple = "{target.triple}"\n{intrinsics}\n{text}'


def with_thread_pool(ir: str, target: Target) -> str:
    """Add the code of a thread pool to a module, which then requires only the C library."""
    if SHARE_DECLARATION not in ir or not has_thread_pool(target):
        return ir
    there = {line for line in ir.splitlines() if line.startswith(("declare", "target"))}
    lines = (line for line in pool_text(target).splitlines() if line not in there)
    return ir.replace(SHARE_DECLARATION, "\n".join(lines), 1)


_OFFICE = """
declare i64 @syscall(i64, ...)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sigfillset(ptr)
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)
declare i32 @getpid()
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i64 @llvm.umax.i64(i64, i64)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)

; 128 bytes each: a cache line, and the adjacent line fetched with it.
%worker = type { i64, i64, i32, [108 x i8] }        ; state, thread, processor of the last caller
%desk = type { i64, i64, ptr, i64, ptr, i32, [84 x i8] } ; next, end, job, number, worker, asleep
%job = type { i32, i32, i64, i64, ptr, ptr, ptr } ; done, -, threads, shares, function, data, desks
@workers = internal global [MAX_HELPERS x %worker] zeroinitializer, align 128
@office = internal global [11 x i64]
  [i64 0, i64 0, i64 0, i64 LOOKS, i64 0, i64 WORTH, i64 0, i64 0, i64 0, i64 0, i64 CREDIT],
  align 128
; 0 lock, 1 highest number of workers so far, 2 maximum number of workers, 3 spins before sleeping,
; 4 work done without sleeping workers, 5 work that justifies waking them, 6 number of workers,
; 7 log2 of the factor of entry 5, 8 time from which callers may use workers again, 9 balance of
; saved time, 10 limit of this balance (times in ticks)

define void @"compilarium.reset"(i64 %most, i64 %looks, i64 %worth, i64 %credit) nounwind {
  call void @llvm.memset.p0.i64(ptr @workers, i8 0, i64 ALL_BYTES, i1 false)
  %most.at = getelementptr i64, ptr @office, i64 2
  %looks.at = getelementptr i64, ptr @office, i64 3
  %worth.at = getelementptr i64, ptr @office, i64 5
  call void @llvm.memset.p0.i64(ptr @office, i8 0, i64 88, i1 false)
  store i64 %most, ptr %most.at
  store i64 %looks, ptr %looks.at
  store i64 %worth, ptr %worth.at
  %credit.at = getelementptr i64, ptr @office, i64 10
  store i64 %credit, ptr %credit.at
  ret void
}

define i64 @"compilarium.rest"(i64 %n) nounwind {
entry:
  %begun = call i64 TICKS
  br label %again
again:
  %i = phi i64 [0, %entry], [%next, %again]
  PAUSE
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %again, label %leave
leave:
  %now = call i64 TICKS
  %ticks = sub i64 %now, %begun
  ret i64 %ticks
}

define internal void @sleep(ptr %at, i32 %while) nounwind {
  %r = call FUTEX, ptr %at, i64 128, i32 %while, ptr null, ptr null, i64 0)
  ret void
}

define internal void @wake(ptr %at) nounwind {
  %r = call FUTEX, ptr %at, i64 129, i64 1, ptr null, ptr null, i64 0)
  ret void
}
"""
