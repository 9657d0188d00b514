"""LLVM text of a thread pool's worker: spin, sleep, run shares, migrate.

Words in capitals are placeholders for target-dependent text.
"""

WORKER = """
; Run the shares of a desk, then steal shares of all other desks; return the number of shares run.
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

; Wake the two children of a desk in the binary wake-up tree, if they sleep.
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

; Whether a worker is on the processor of its caller, so that the two threads would alternate.
define internal i1 @is_in_the_way(ptr %worker) nounwind {
  %caller.at = getelementptr %worker, ptr %worker, i64 0, i32 2
  %caller = load atomic i32, ptr %caller.at monotonic, align 4
  %here = call i32 @sched_getcpu()
  %same = icmp eq i32 %here, %caller
  ret i1 %same
}

; Migrate to another processor of the process's affinity mask, if the mask has another one.
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

; The main loop of a worker.
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
"""
