"""The code of a thread pool: threads of our own that help with a region if they are there in time.

`share(function, data, shares, threads, steps)` runs `function(data, number, shares)` for every
number below `shares`. Each thread has a run of neighbouring numbers, and takes from the others'
when its own are done; so does the caller. It waits for shares that somebody has begun, and for
nothing else: a worker that has no processor is called back, and its shares are done by then. A
caller keeps account of what help saves, and of what it costs to wait for one who has lost its
processor. Where that is more, it works alone for a while: on a busy machine little is lost.

    worker   0 no thread | 1 looks for work | 2 sleeps | 3 works | 5 shall end | a desk: work for it
    desk     next, end: the numbers that are left; of which job, the how-manieth desk, whose
    job      done: workers that are ready (negative when the caller sleeps); what there is to do

Desks and job are on the caller's stack: a worker touches them last when it says that it is done.
Sleeping and waking are Linux's futex; a thread that nobody needs looks for work before it sleeps.
To wake one costs the caller microseconds, so what is small is done without those that sleep, until
it adds up; each woken worker wakes two others. Who finds itself on the caller's processor goes to
another one: else the two would only take turns.
"""

from __future__ import annotations

from compiler.codegen.threads.pool_caller import CALLER
from compiler.codegen.threads.pool_worker import WORKER
from compiler.loops.grain import STEPS_PER_CYCLE
from compiler.targets.target import Target

SHARE, LET_GO, RESET, REST = (f"compilarium.{n}" for n in ("share", "let_go", "reset", "rest"))
"""The functions of a thread pool that others call."""

SHARE_DECLARATION = f'declare void @"{SHARE}"(ptr, ptr, i64, i64, i64)'

MAX_HELPERS = 255

LOOKS = 1000
"""How often who waits looks before it sleeps, where nobody says how long that takes."""

WAKE_STEPS = 150_000 * STEPS_PER_CYCLE
"""Work that is worth waking those who sleep: some 50 us, where waking takes 5 to 10."""

ALONE = 16
"""So many times as long as help has cost it a caller does without: what it can lose is 6 %."""

CREDIT = 10_000_000
"""Saved ticks that count against what help costs, where nobody says how long a tick is."""

_TICKS = {
    "x86_64": ("llvm.readcyclecounter", "", "", ""),
    "aarch64": (
        "llvm.read_volatile_register.i64",
        "metadata",
        "metadata !90001",
        '!90001 = !{!"cntvct_el0"}\n',
    ),
}
"""A clock that goes on at one rate on all processors, whatever it is."""

_FUTEX = {"x86_64": 202, "aarch64": 98}
"""The number of the system call."""

_PAUSE = {
    "x86_64": ("llvm.x86.sse2.pause", "", ""),
    "aarch64": ("llvm.aarch64.hint", "i32", "i32 1"),
}


def has_thread_pool(target: Target) -> bool:
    """Whether threads of our own can be had: on 64-bit Linux of these two kinds."""
    return "linux" in target.triple and _kind(target) in _FUTEX


def _kind(target: Target) -> str:
    return target.triple.split("-")[0]


def pause(target: Target) -> tuple[str, str]:
    """The declaration and the call of what a thread does that looks again and again."""
    name, kind, given = _PAUSE[_kind(target)]
    return f"declare void @{name}({kind})", f"call void @{name}({given})"


def pool_text(target: Target) -> str:
    """The module of a thread pool. Errors: KeyError where `has_thread_pool` is false."""
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
    """A module that asks for a thread pool, with the code of one: it needs the C library alone."""
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

; 128 bytes each: a cache line, and the one that is fetched with it.
%worker = type { i64, i64, i32, [108 x i8] }        ; state, thread, processor of who called last
%desk = type { i64, i64, ptr, i64, ptr, i32, [84 x i8] } ; next, end, job, number, worker, asleep
%job = type { i32, i32, i64, i64, ptr, ptr, ptr } ; done, -, threads, shares, function, data, desks
@workers = internal global [MAX_HELPERS x %worker] zeroinitializer, align 128
@office = internal global [11 x i64]
  [i64 0, i64 0, i64 0, i64 LOOKS, i64 0, i64 WORTH, i64 0, i64 0, i64 0, i64 0, i64 CREDIT],
  align 128
; 0 lock, 1 workers there ever were, 2 how many there may be, 3 looks before sleeping,
; 4 work done without those that sleep, 5 work that waking them is worth, 6 workers there are,
; 7 how often that has to double, 8 when callers may ask for help again, 9 time that help has saved
; so far, 10 as much of that as counts (ticks)

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
