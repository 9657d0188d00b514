"""The code of a crew: threads of our own that help with a region if they are there in time.

`share(function, data, shares, threads, steps)` runs `function(data, number, shares)` for every
number below `shares`. Each thread has a run of neighbouring numbers, and takes from the others'
when its own are done; so does the caller. It waits for shares that somebody has begun, and for
nothing else: a helper that has no processor is called back, and its shares are done by then. A
caller keeps account of what help saves, and of what it costs to wait for one who has lost its
processor. Where that is more, it works alone for a while: on a busy machine little is lost.

    worker   0 no thread | 1 looks for work | 2 sleeps | 3 works | 5 shall end | a desk: work for it
    desk     next, end: the numbers that are left; of which job, the how-manieth desk, whose
    job      done: helpers that are ready (negative when the caller sleeps); what there is to do

Desks and job are on the caller's stack: a helper touches them last when it says that it is done.
Sleeping and waking are Linux's futex; a thread that nobody needs looks for work before it sleeps.
To wake one costs the caller microseconds, so what is small is done without those that sleep, until
it adds up; each woken helper wakes two others. Who finds itself on the caller's processor goes to
another one: else the two would only take turns.
"""

from __future__ import annotations

from compiler.loops.grain import STEPS_PER_CYCLE
from compiler.targets.target import Target

SHARE, LET_GO, RESET, REST = (f"compilarium.{n}" for n in ("share", "let_go", "reset", "rest"))
"""The functions of a crew that others call."""

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
        "metadata !0",
        '!0 = !{!"cntvct_el0"}\n',
    ),
}
"""A clock that goes on at one rate on all processors, whatever it is."""

_FUTEX = {"x86_64": 202, "aarch64": 98}
"""The number of the system call."""

_PAUSE = {
    "x86_64": ("llvm.x86.sse2.pause", "", ""),
    "aarch64": ("llvm.aarch64.hint", "i32", "i32 1"),
}


def has_crew(target: Target) -> bool:
    """Whether threads of our own can be had: on 64-bit Linux of these two kinds."""
    return "linux" in target.triple and _kind(target) in _FUTEX


def _kind(target: Target) -> str:
    return target.triple.split("-")[0]


def crew_text(target: Target) -> str:
    """The module of a crew. Errors: KeyError where `has_crew` is false."""
    name, kind, given = _PAUSE[_kind(target)]
    text = _TEXT.replace("PAUSE", f"call void @{name}({given})")
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
    intrinsics = f"{named}declare void @{name}({kind})\ndeclare i64 @{ticks}({register})"
    return f'target triple = "{target.triple}"\n{intrinsics}\n{text}'


def with_crew(ir: str, target: Target) -> str:
    """A module that asks for a crew, with the code of one: it needs the C library alone."""
    if SHARE_DECLARATION not in ir or not has_crew(target):
        return ir
    there = {line for line in ir.splitlines() if line.startswith(("declare", "target"))}
    lines = (line for line in crew_text(target).splitlines() if line not in there)
    return ir.replace(SHARE_DECLARATION, "\n".join(lines), 1)


_TEXT = """
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

; The work of one thread: its own desk, then those of the others in turn. How many shares it did.
define internal i64 @take(ptr %desk) nounwind {
entry:
  %job.at = getelementptr %desk, ptr %desk, i64 0, i32 2
  %job = load ptr, ptr %job.at
  %number.at = getelementptr %desk, ptr %desk, i64 0, i32 3
  %number = load i64, ptr %number.at
  %threads.at = getelementptr %job, ptr %job, i64 0, i32 2
  %threads = load i64, ptr %threads.at
  %shares.at = getelementptr %job, ptr %job, i64 0, i32 3
  %shares = load i64, ptr %shares.at
  %function.at = getelementptr %job, ptr %job, i64 0, i32 4
  %function = load ptr, ptr %function.at
  %data.at = getelementptr %job, ptr %job, i64 0, i32 5
  %data = load ptr, ptr %data.at
  %desks.at = getelementptr %job, ptr %job, i64 0, i32 6
  %desks = load ptr, ptr %desks.at
  br label %other
other:
  %i = phi i64 [0, %entry], [%i.next, %empty]
  %n = phi i64 [0, %entry], [%n.here, %empty]
  %sum = add i64 %number, %i
  %past = icmp uge i64 %sum, %threads
  %wrapped = sub i64 %sum, %threads
  %place = select i1 %past, i64 %wrapped, i64 %sum
  %from = getelementptr %desk, ptr %desks, i64 %place
  %end.at = getelementptr %desk, ptr %from, i64 0, i32 1
  %end = load i64, ptr %end.at
  br label %look
look:
  %n.here = phi i64 [%n, %other], [%n.next, %run]
  %seen = load atomic i64, ptr %from monotonic, align 8
  %some = icmp ult i64 %seen, %end
  br i1 %some, label %try, label %empty
try:
  %mine = atomicrmw add ptr %from, i64 1 monotonic
  %got = icmp ult i64 %mine, %end
  br i1 %got, label %run, label %empty
run:
  call void %function(ptr %data, i64 %mine, i64 %shares)
  %n.next = add i64 %n.here, 1
  br label %look
empty:
  %i.next = add i64 %i, 1
  %more = icmp ult i64 %i.next, %threads
  br i1 %more, label %other, label %leave
leave:
  ret i64 %n.here
}

; Wakes the two helpers that the thread at a desk is to wake, if they sleep.
define internal void @wake_two(ptr %desks, i64 %number, i64 %threads) nounwind {
entry:
  %double = mul i64 %number, 2
  %first = add i64 %double, 1
  %last = add i64 %double, 2
  br label %each
each:
  %i = phi i64 [%first, %entry], [%next, %done]
  %there = icmp ult i64 %i, %threads
  br i1 %there, label %ask, label %done
ask:
  %asleep.at = getelementptr %desk, ptr %desks, i64 %i, i32 5
  %asleep = load atomic i32, ptr %asleep.at acquire, align 4
  %is = icmp eq i32 %asleep, 1
  br i1 %is, label %try, label %done
try:
  %was = atomicrmw xchg ptr %asleep.at, i32 0 acq_rel
  %still = icmp eq i32 %was, 1
  br i1 %still, label %call, label %done
call:
  %worker.at = getelementptr %desk, ptr %desks, i64 %i, i32 4
  %worker = load ptr, ptr %worker.at
  call void @wake(ptr %worker)
  br label %done
done:
  %next = add i64 %i, 1
  %more = icmp ule i64 %next, %last
  br i1 %more, label %each, label %leave
leave:
  ret void
}

; Whether a helper is on the processor of who called it: they would only take turns.
define internal i1 @is_in_the_way(ptr %worker) nounwind {
  %caller.at = getelementptr %worker, ptr %worker, i64 0, i32 2
  %caller = load atomic i32, ptr %caller.at monotonic, align 4
  %here = call i32 @sched_getcpu()
  %same = icmp eq i32 %here, %caller
  ret i1 %same
}

; Go to another processor that this process may use, if there is one.
define internal void @step_aside() nounwind {
entry:
  %mask = alloca [128 x i8], align 8
  call void @llvm.memset.p0.i64(ptr %mask, i8 0, i64 128, i1 false)
  %process = call i32 @getpid()
  %got = call i32 @sched_getaffinity(i32 %process, i64 128, ptr %mask)
  %here = call i32 @sched_getcpu()
  %is.one = icmp ult i32 %here, 1024
  %good = icmp eq i32 %got, 0
  %may = and i1 %is.one, %good
  br i1 %may, label %go, label %leave
go:
  %byte.number = lshr i32 %here, 3
  %byte.at = getelementptr i8, ptr %mask, i32 %byte.number
  %byte = load i8, ptr %byte.at
  %low = trunc i32 %here to i8
  %bit.number = and i8 %low, 7
  %bit = shl i8 1, %bit.number
  %others = xor i8 %bit, -1
  %rest = and i8 %byte, %others
  store i8 %rest, ptr %byte.at
  %r = call i32 @sched_setaffinity(i32 0, i64 128, ptr %mask)
  br label %leave
leave:
  ret void
}

; A helper's life.
define internal ptr @live(ptr %worker) nounwind {
entry:
  %looks.at = getelementptr i64, ptr @office, i64 3
  br label %fresh
fresh:
  %looks = load i64, ptr %looks.at
  %blocks = call i1 @is_in_the_way(ptr %worker)
  br i1 %blocks, label %aside, label %look
aside:
  call void @step_aside()
  %blocks.still = call i1 @is_in_the_way(ptr %worker)
  %few = select i1 %blocks.still, i64 1, i64 %looks
  br label %look
look:
  %n = phi i64 [%looks, %fresh], [%few, %aside], [%less, %idle]
  %state = load atomic i64, ptr %worker acquire, align 8
  %is.desk = icmp ugt i64 %state, 15
  br i1 %is.desk, label %accept, label %other
accept:
  %pair = cmpxchg ptr %worker, i64 %state, i64 3 acq_rel monotonic
  %mine = extractvalue { i64, i1 } %pair, 1
  br i1 %mine, label %work, label %fresh
work:
  %desk = inttoptr i64 %state to ptr
  %job.at = getelementptr %desk, ptr %desk, i64 0, i32 2
  %job = load ptr, ptr %job.at
  %threads.at = getelementptr %job, ptr %job, i64 0, i32 2
  %threads = load i64, ptr %threads.at
  %desks.at = getelementptr %job, ptr %job, i64 0, i32 6
  %desks = load ptr, ptr %desks.at
  %number.at = getelementptr %desk, ptr %desk, i64 0, i32 3
  %number = load i64, ptr %number.at
  call void @wake_two(ptr %desks, i64 %number, i64 %threads)
  %declines = call i1 @is_in_the_way(ptr %worker)
  br i1 %declines, label %say, label %help
help:
  %n.done = call i64 @take(ptr %desk)
  br label %say
say:
  store atomic i64 1, ptr %worker release, align 8
  %before = atomicrmw add ptr %job, i32 1 acq_rel
  %waits = icmp slt i32 %before, 0
  br i1 %waits, label %tell, label %fresh
tell:
  call void @wake(ptr %job)
  br label %fresh
other:
  %ends = icmp eq i64 %state, 5
  br i1 %ends, label %leave, label %idle
idle:
  PAUSE
  %less = sub i64 %n, 1
  %more = icmp sgt i64 %less, 0
  br i1 %more, label %look, label %tired
tired:
  %slept = cmpxchg ptr %worker, i64 1, i64 2 acq_rel monotonic
  %sleeps = extractvalue { i64, i1 } %slept, 1
  br i1 %sleeps, label %asleep, label %fresh
asleep:
  call void @sleep(ptr %worker, i32 2)
  %now = load atomic i64, ptr %worker acquire, align 8
  %same = icmp eq i64 %now, 2
  br i1 %same, label %asleep, label %fresh
leave:
  ret ptr null
}

; A new helper with work on its desk; whether there is one.
define internal i1 @hire(ptr %desk) nounwind {
entry:
  %set = alloca [16 x i64]
  %old = alloca [16 x i64]
  %locked = cmpxchg ptr @office, i64 0, i64 1 acquire monotonic
  %is = extractvalue { i64, i1 } %locked, 1
  br i1 %is, label %inside, label %no
inside:
  %count.at = getelementptr i64, ptr @office, i64 1
  %n = load atomic i64, ptr %count.at monotonic, align 8
  br label %find
find:
  %i = phi i64 [0, %inside], [%next, %taken]
  %free.worker = getelementptr %worker, ptr @workers, i64 %i
  %full = icmp uge i64 %i, MAX_HELPERS
  br i1 %full, label %unlock, label %ask
ask:
  %state = load atomic i64, ptr %free.worker acquire, align 8
  %free = icmp eq i64 %state, 0
  br i1 %free, label %start, label %taken
taken:
  %next = add i64 %i, 1
  br label %find
start:
  %worker.at = getelementptr %desk, ptr %desk, i64 0, i32 4
  store ptr %free.worker, ptr %worker.at
  %work = ptrtoint ptr %desk to i64
  store atomic i64 %work, ptr %free.worker release, align 8
  %caller.at = getelementptr %worker, ptr %free.worker, i64 0, i32 2
  %cpu = call i32 @sched_getcpu()
  store atomic i32 %cpu, ptr %caller.at monotonic, align 4
  %a = call i32 @sigfillset(ptr %set)
  %b = call i32 @pthread_sigmask(i32 2, ptr %set, ptr %old)
  %thread.at = getelementptr %worker, ptr %free.worker, i64 0, i32 1
  %failed = call i32 @pthread_create(ptr %thread.at, ptr null, ptr @live, ptr %free.worker)
  %c = call i32 @pthread_sigmask(i32 2, ptr %old, ptr null)
  %good = icmp eq i32 %failed, 0
  br i1 %good, label %count, label %give_up
count:
  %at.least = add i64 %i, 1
  %higher = call i64 @llvm.umax.i64(i64 %n, i64 %at.least)
  store atomic i64 %higher, ptr %count.at release, align 8
  %alive.at = getelementptr i64, ptr @office, i64 6
  %alive = atomicrmw add ptr %alive.at, i64 1 monotonic
  store atomic i64 0, ptr @office release, align 8
  ret i1 1
give_up:
  store atomic i64 0, ptr %free.worker release, align 8
  br label %unlock
unlock:
  store atomic i64 0, ptr @office release, align 8
  br label %no
no:
  ret i1 0
}

define void @"compilarium.share"(
  ptr %function, ptr %data, i64 %shares, i64 %threads, i64 %steps
) nounwind {
entry:
  %begun = call i64 TICKS
  %until.at = getelementptr i64, ptr @office, i64 8
  %until = load atomic i64, ptr %until.at monotonic, align 8
  %early = icmp slt i64 %begun, %until
  br i1 %early, label %by.itself, label %together
by.itself:
  %number = phi i64 [0, %entry], [%number.next, %by.itself]
  call void %function(ptr %data, i64 %number, i64 %shares)
  %number.next = add i64 %number, 1
  %number.more = icmp ult i64 %number.next, %shares
  br i1 %number.more, label %by.itself, label %over
over:
  ret void

together:
  %job = alloca %job, align 128
  %desks = alloca %desk, i64 %threads, align 128
  store atomic i32 0, ptr %job monotonic, align 4
  %threads.at = getelementptr %job, ptr %job, i64 0, i32 2
  store i64 %threads, ptr %threads.at
  %shares.at = getelementptr %job, ptr %job, i64 0, i32 3
  store i64 %shares, ptr %shares.at
  %function.at = getelementptr %job, ptr %job, i64 0, i32 4
  store ptr %function, ptr %function.at
  %data.at = getelementptr %job, ptr %job, i64 0, i32 5
  store ptr %data, ptr %data.at
  %desks.at = getelementptr %job, ptr %job, i64 0, i32 6
  store ptr %desks, ptr %desks.at
  br label %lay
lay:
  %d = phi i64 [0, %together], [%d.next, %lay]
  %d.next = add i64 %d, 1
  %low.many = mul i64 %d, %shares
  %low = udiv i64 %low.many, %threads
  %high.many = mul i64 %d.next, %shares
  %high = udiv i64 %high.many, %threads
  %desk = getelementptr %desk, ptr %desks, i64 %d
  store atomic i64 %low, ptr %desk monotonic, align 8
  %desk.end = getelementptr %desk, ptr %desk, i64 0, i32 1
  store i64 %high, ptr %desk.end
  %desk.job = getelementptr %desk, ptr %desk, i64 0, i32 2
  store ptr %job, ptr %desk.job
  %desk.number = getelementptr %desk, ptr %desk, i64 0, i32 3
  store i64 %d, ptr %desk.number
  %desk.asleep = getelementptr %desk, ptr %desk, i64 0, i32 5
  store atomic i32 0, ptr %desk.asleep monotonic, align 4
  %d.more = icmp ult i64 %d.next, %threads
  br i1 %d.more, label %lay, label %ready

; Helpers that look for work get a desk each; those that sleep, if there is enough to do.
ready:
  %count.at = getelementptr i64, ptr @office, i64 1
  %count = load atomic i64, ptr %count.at acquire, align 8
  %debt.at = getelementptr i64, ptr @office, i64 4
  %debt = load atomic i64, ptr %debt.at monotonic, align 8
  %owed = add i64 %debt, %steps
  %worth.at = getelementptr i64, ptr @office, i64 5
  %worth = load i64, ptr %worth.at
  %shift.at = getelementptr i64, ptr @office, i64 7
  %shift = load atomic i64, ptr %shift.at monotonic, align 8
  %price = shl i64 %worth, %shift
  %pays = icmp uge i64 %owed, %price
  %cpu = call i32 @sched_getcpu()
  br label %next
next:
  %w = phi i64 [0, %ready], [%w.next, %passed]
  %s = phi i64 [1, %ready], [%s.next, %passed]
  %missed = phi i1 [0, %ready], [%missed.next, %passed]
  %s.free = icmp ult i64 %s, %threads
  %w.there = icmp ult i64 %w, %count
  %go.on = and i1 %s.free, %w.there
  br i1 %go.on, label %meet, label %asked
meet:
  %worker = getelementptr %worker, ptr @workers, i64 %w
  %state = load atomic i64, ptr %worker monotonic, align 8
  %work.desk = getelementptr %desk, ptr %desks, i64 %s
  %work = ptrtoint ptr %work.desk to i64
  %sleeping = icmp eq i64 %state, 2
  %looking = icmp eq i64 %state, 1
  %woken = and i1 %sleeping, %pays
  %take = or i1 %looking, %woken
  br i1 %take, label %prepare, label %passed
prepare:
  %work.worker = getelementptr %desk, ptr %work.desk, i64 0, i32 4
  store ptr %worker, ptr %work.worker
  %caller.at = getelementptr %worker, ptr %worker, i64 0, i32 2
  store atomic i32 %cpu, ptr %caller.at monotonic, align 4
  %pair = cmpxchg ptr %worker, i64 %state, i64 %work acq_rel monotonic
  %got = extractvalue { i64, i1 } %pair, 1
  %to.wake = and i1 %got, %sleeping
  br i1 %to.wake, label %note, label %passed
note:
  %work.asleep = getelementptr %desk, ptr %work.desk, i64 0, i32 5
  store atomic i32 1, ptr %work.asleep release, align 4
  br label %passed
passed:
  %given = phi i1 [0, %meet], [%got, %prepare], [1, %note]
  %left = phi i1 [%sleeping, %meet], [0, %prepare], [0, %note]
  %missed.next = or i1 %missed, %left
  %one = zext i1 %given to i64
  %s.next = add i64 %s, %one
  %w.next = add i64 %w, 1
  br label %next

asked:
  %alive.at = getelementptr i64, ptr @office, i64 6
  %alive = load atomic i64, ptr %alive.at monotonic, align 8
  %most.at = getelementptr i64, ptr @office, i64 2
  %most = load i64, ptr %most.at
  %wanted = sub i64 %threads, 1
  %limit = call i64 @llvm.umax.i64(i64 %most, i64 %wanted)
  br label %grow
grow:
  %h = phi i64 [%s, %asked], [%h.next, %hired]
  %there = phi i64 [%alive, %asked], [%there.next, %hired]
  %h.free = icmp ult i64 %h, %threads
  %below = icmp ult i64 %there, %limit
  %may = and i1 %h.free, %below
  %shall = and i1 %may, %pays
  br i1 %shall, label %hiring, label %begin
hiring:
  %new.desk = getelementptr %desk, ptr %desks, i64 %h
  %is.new = call i1 @hire(ptr %new.desk)
  br i1 %is.new, label %hired, label %begin
hired:
  %h.next = add i64 %h, 1
  %there.next = add i64 %there, 1
  br label %grow
begin:
  %lacking = or i1 %missed, %may
  %sum = select i1 %lacking, i64 %owed, i64 %debt
  %still.owed = select i1 %pays, i64 0, i64 %sum
  store atomic i64 %still.owed, ptr %debt.at monotonic, align 8
  call void @wake_two(ptr %desks, i64 0, i64 %h)
  %mine = call i64 @take(ptr %desks)
  br label %recall

; Who has not come is called back; the others are waited for.
recall:
  %r = phi i64 [1, %begin], [%r.next, %recalled]
  %came = phi i32 [0, %begin], [%came.next, %recalled]
  %r.more = icmp ult i64 %r, %h
  br i1 %r.more, label %call, label %wait
call:
  %r.desk = getelementptr %desk, ptr %desks, i64 %r
  %r.worker.at = getelementptr %desk, ptr %r.desk, i64 0, i32 4
  %r.worker = load ptr, ptr %r.worker.at
  %r.work = ptrtoint ptr %r.desk to i64
  %r.asleep.at = getelementptr %desk, ptr %r.desk, i64 0, i32 5
  %r.asleep = load atomic i32, ptr %r.asleep.at acquire, align 4
  %r.sleeps = icmp eq i32 %r.asleep, 1
  %r.state = select i1 %r.sleeps, i64 2, i64 1
  %r.seen = load atomic i64, ptr %r.worker monotonic, align 8
  %r.waits = icmp eq i64 %r.seen, %r.work
  br i1 %r.waits, label %try, label %recalled
try:
  %r.pair = cmpxchg ptr %r.worker, i64 %r.work, i64 %r.state acq_rel monotonic
  %r.back = extractvalue { i64, i1 } %r.pair, 1
  br label %recalled
recalled:
  %absent = phi i1 [0, %call], [%r.back, %try]
  %present = xor i1 %absent, 1
  %came.one = zext i1 %present to i32
  %came.next = add i32 %came, %came.one
  %r.next = add i64 %r, 1
  br label %recall
wait:
  %through = call i64 TICKS
  %looks.at = getelementptr i64, ptr @office, i64 3
  %looks = load i64, ptr %looks.at
  br label %look
look:
  %n = phi i64 [%looks, %wait], [%n.less, %pause]
  %done = load atomic i32, ptr %job acquire, align 4
  %all = icmp eq i32 %done, %came
  br i1 %all, label %leave, label %pause
pause:
  PAUSE
  %n.less = sub i64 %n, 1
  %n.more = icmp sgt i64 %n.less, 0
  br i1 %n.more, label %look, label %lie_down
lie_down:
  %before = atomicrmw or ptr %job, i32 -2147483648 acq_rel
  br label %dream
dream:
  %value = load atomic i32, ptr %job acquire, align 4
  %counted = and i32 %value, 2147483647
  %ready.all = icmp eq i32 %counted, %came
  br i1 %ready.all, label %leave, label %sleep
sleep:
  call void @sleep(ptr %job, i32 %value)
  br label %dream
leave:
  %now = call i64 TICKS
  %worked = sub i64 %through, %begun
  %took = sub i64 %now, %begun
  %any = call i64 @llvm.umax.i64(i64 %mine, i64 1)
  %product = mul i64 %worked, %shares
  %alone = udiv i64 %product, %any
  %saved = sub i64 %alone, %took
  %account.at = getelementptr i64, ptr @office, i64 9
  %account = load atomic i64, ptr %account.at monotonic, align 8
  %credit.at = getelementptr i64, ptr @office, i64 10
  %credit = load i64, ptr %credit.at
  %total = add i64 %account, %saved
  %balance = call i64 @llvm.smin.i64(i64 %total, i64 %credit)
  %good = icmp sge i64 %balance, 0
  br i1 %good, label %keep, label %learn
learn:
  %while = mul i64 %balance, -ALONE
  %again = add i64 %now, %while
  store atomic i64 %again, ptr %until.at monotonic, align 8
  br label %keep
keep:
  %kept = call i64 @llvm.smax.i64(i64 %balance, i64 0)
  store atomic i64 %kept, ptr %account.at monotonic, align 8
  %helped = icmp ult i64 %mine, %shares
  br i1 %helped, label %well, label %nobody
well:
  store atomic i64 0, ptr %shift.at monotonic, align 8
  ret void
nobody:
  br i1 %pays, label %dearer, label %out
dearer:
  %shift.next = add i64 %shift, 1
  %shift.most = call i64 @llvm.umin.i64(i64 %shift.next, i64 6)
  store atomic i64 %shift.most, ptr %shift.at monotonic, align 8
  br label %out
out:
  ret void
}

; Ends the helpers that have nothing to do, and waits until they are gone.
define void @"compilarium.let_go"() nounwind {
entry:
  br label %lock
lock:
  %locked = cmpxchg ptr @office, i64 0, i64 1 acquire monotonic
  %is = extractvalue { i64, i1 } %locked, 1
  br i1 %is, label %inside, label %pause
pause:
  PAUSE
  br label %lock
inside:
  %count.at = getelementptr i64, ptr @office, i64 1
  %n = load atomic i64, ptr %count.at monotonic, align 8
  br label %each
each:
  %i = phi i64 [0, %inside], [%next, %gone]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %ask, label %leave
ask:
  %worker = getelementptr %worker, ptr @workers, i64 %i
  %state = load atomic i64, ptr %worker monotonic, align 8
  %awake = icmp eq i64 %state, 1
  %asleep = icmp eq i64 %state, 2
  %idle = or i1 %awake, %asleep
  br i1 %idle, label %tell, label %gone
tell:
  %pair = cmpxchg ptr %worker, i64 %state, i64 5 acq_rel monotonic
  %told = extractvalue { i64, i1 } %pair, 1
  br i1 %told, label %join, label %ask
join:
  call void @wake(ptr %worker)
  %thread.at = getelementptr %worker, ptr %worker, i64 0, i32 1
  %thread = load i64, ptr %thread.at
  %r = call i32 @pthread_join(i64 %thread, ptr null)
  store atomic i64 0, ptr %worker release, align 8
  %alive.at = getelementptr i64, ptr @office, i64 6
  %alive = atomicrmw sub ptr %alive.at, i64 1 monotonic
  br label %gone
gone:
  %next = add i64 %i, 1
  br label %each
leave:
  store atomic i64 0, ptr @office release, align 8
  ret void
}
"""
