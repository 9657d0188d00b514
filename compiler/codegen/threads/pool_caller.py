"""LLVM text of a thread pool's caller: assign, run, cancel and wait; start and end workers.

Words in capitals are placeholders for target-dependent text.
"""

CALLER = """
; Start a new worker with a desk; return whether the start succeeded.
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

; Assign a desk to each spinning worker, and to sleeping workers if the work justifies waking them.
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

; Cancel the assignments of workers that have not started; wait for all other workers.
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
  %asked.some = icmp ugt i64 %h, 1
  %vain = and i1 %pays, %asked.some
  br i1 %vain, label %dearer, label %out
dearer:
  %shift.next = add i64 %shift, 1
  %shift.most = call i64 @llvm.umin.i64(i64 %shift.next, i64 6)
  store atomic i64 %shift.most, ptr %shift.at monotonic, align 8
  br label %out
out:
  ret void
}

; End the idle workers and join their threads.
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
