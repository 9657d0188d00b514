"""Attacks with processes and memory: bombs, survivors, signals, and access to other processes."""

from __future__ import annotations

from sandbox import Limits
from tests.attacks.declare import (
    OUTSIDE,
    OUTSIDE_AS_ROOT,
    SHORT,
    UNFILTERED,
    attack,
    either,
    ends,
    gives,
    raised,
    refused,
)
from tests.attacks.outside import survivor

MIB = 1 << 20
LITTLE_MEMORY = Limits(seconds=10, memory_bytes=512 * MIB)
MUCH_MEMORY = Limits(seconds=20, memory_bytes=4096 * MIB)
MANY_PROCESSES = Limits(seconds=20, n_processes=500)


def none_survives(given):
    return survivor(given["mark"])


@attack(refused("EAGAIN"), limits=Limits(seconds=4), control=MANY_PROCESSES)
def fork_too_often(given):
    """Create 80 processes."""
    import os
    import time

    for _ in range(80):
        if not os.fork():
            time.sleep(5)
            os._exit(0)


@attack(ends("seconds", "memory", "signalled"), limits=SHORT, outside=none_survives)
def fork_without_end(given):
    """Let every process create processes."""
    import os
    import sys

    while True:
        try:
            if not os.fork() and not os.fork():
                sleep = "import time; time.sleep(60)"
                os.execv(sys.executable, ["python", "-I", "-S", "-c", sleep, given["mark"]])
        except OSError:
            continue


@attack(raised("RuntimeError"), control=MANY_PROCESSES)
def start_too_many_threads(given):
    """Create 80 threads."""
    import threading
    import time

    for _ in range(80):
        threading.Thread(target=time.sleep, args=(1,), daemon=True).start()


@attack(raised("MemoryError"), limits=LITTLE_MEMORY, control=MUCH_MEMORY)
def take_memory(given):
    """Take one gibibyte of memory."""
    bytearray(1 << 30)


@attack(refused("ENOMEM"), limits=LITTLE_MEMORY, control=MUCH_MEMORY)
def map_memory(given):
    """Map one gibibyte of shared memory."""
    import mmap

    mmap.mmap(-1, 1 << 30)


@attack(either(raised("MemoryError"), ends("memory")), limits=LITTLE_MEMORY, control=MUCH_MEMORY)
def take_memory_in_many_processes(given):
    """Take memory in eight processes, each within the limit of a process."""
    import os
    import time

    pids = []
    for _ in range(8):
        pid = os.fork()
        if not pid:
            kept = bytearray(b"x") * (100 << 20)
            time.sleep(0.5)
            os._exit(len(kept) & 0)
        pids.append(pid)
    if any(os.waitpid(pid, 0)[1] for pid in pids):
        raise MemoryError("a process was killed")


@attack(either(raised("MemoryError"), ends("memory")), limits=LITTLE_MEMORY, control=MUCH_MEMORY)
def share_memory_with_many_processes(given):
    """Take shared memory in eight processes, each within the limit of a process."""
    import mmap
    import os
    import time

    pids = []
    for _ in range(8):
        pid = os.fork()
        if not pid:
            kept = mmap.mmap(-1, 100 << 20)
            kept.write(b"x" * (100 << 20))
            time.sleep(0.5)
            os._exit(0)
        pids.append(pid)
    if any(os.waitpid(pid, 0)[1] for pid in pids):
        raise MemoryError("a process was killed")


@attack(refused("EPERM"), control=OUTSIDE)
def hoard_memory_in_unnamed_files(given):
    """Fill a file in memory that no limit of a process counts."""
    import os

    file = os.memfd_create("hoard")
    os.write(file, bytes(1 << 20))


@attack(refused("EPERM"), control=OUTSIDE)
def execute_an_unnamed_file(given):
    """Execute a program that no file system has."""
    import os
    import subprocess

    file = os.memfd_create("program", 0)
    os.write(file, open("/usr/bin/true", "rb").read())
    subprocess.run([f"/proc/self/fd/{file}"], pass_fds=(file,), check=True)


@attack(refused("EPERM"), control=UNFILTERED)
def hoard_memory_of_system_v(given):
    """Create a shared segment, which remains after its process."""
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.shmget(0, ctypes.c_size_t(1 << 20), 0o1600) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@attack(refused("EMFILE"), control=Limits(n_files=4096))
def hoard_pipes(given):
    """Create pipes, whose buffers are memory of the kernel."""
    import os

    for _ in range(200):
        os.pipe()


@attack(refused("ESRCH"), control=OUTSIDE)
def signal_the_parent(given):
    """Send a signal to the process outside."""
    import os

    os.kill(given["pid"], 0)


@attack(either(gives("sent"), ends("signalled", "exited")))
def kill_all(given):
    """Kill every process that this user may kill."""
    import os
    import signal

    os.kill(-1, signal.SIGKILL)
    return "sent"


@attack(either(gives(True), refused("EPERM")))
def kill_the_first_process(given):
    """Kill the first process of the sandbox, whose end would go unnoticed."""
    import os
    import signal
    import time

    os.kill(1, signal.SIGKILL)
    time.sleep(0.1)
    return os.path.exists("/proc/1")


@attack(refused("EPERM"), control=UNFILTERED)
def be_traced(given):
    """Let another process control this one."""
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(0, 0, None, None) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@attack(refused("EPERM", "ESRCH"))
def trace_the_first_process(given):
    """Take control of the first process of the sandbox."""
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(16, 1, None, None) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@attack(refused("EPERM"), control=UNFILTERED)
def read_memory_of_a_process(given):
    """Read the memory of another process with one call."""
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.process_vm_readv(os.getpid(), None, 0, None, 0, 0) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@attack(refused("ENOENT"), control=OUTSIDE)
def read_memory_of_the_parent(given):
    """Open the memory of the process outside."""
    import os

    os.stat(f"/proc/{given['pid']}/mem")


@attack(gives([]), control=OUTSIDE)
def find_a_process_with_more_rights(given):
    """Find a process of the sandbox whose memory would give more rights or higher limits."""
    import os

    def rights(pid):
        with open(f"/proc/{pid}/status") as status, open(f"/proc/{pid}/limits") as limits:
            fields = ("CapEff", "CapPrm", "CapBnd", "NoNewPrivs", "Seccomp:")
            lines = [line for line in status if line.startswith(fields)]
            names = ("Max address", "Max processes", "Max open files", "Max file size", "Max cpu")
            return lines + [line for line in limits if line.startswith(names)]

    own = rights("self")
    return [pid for pid in os.listdir("/proc") if pid.isdigit() and rights(pid) != own]


@attack(
    gives("left"),
    outside=none_survives,
)
def leave_a_daemon(given):
    """Leave a process in a session of its own that ignores signals."""
    import os
    import sys
    import time

    sleep = "import time, signal; signal.signal(15, signal.SIG_IGN); time.sleep(60)"
    if not os.fork():
        os.setsid()
        if not os.fork():
            for number in (0, 1, 2):
                os.close(number)
            os.execv(sys.executable, ["python", "-I", "-S", "-c", sleep, given["mark"]])
        os._exit(0)
    os.wait()
    time.sleep(0.2)
    return "left"


@attack(
    either(gives("left"), ends("output")),
    limits=Limits(seconds=5, output_bytes=MIB),
    outside=none_survives,
)
def leave_a_writer(given):
    """Leave a process that keeps writing to the standard output."""
    import os
    import sys
    import time

    write = "import os\nwhile True: os.write(1, bytes(100))"
    if not os.fork():
        os.execv(sys.executable, ["python", "-I", "-S", "-c", write, given["mark"]])
    time.sleep(0.2)
    return "left"


@attack(ends("seconds"), limits=SHORT)
def ignore_signals(given):
    """Ignore every signal that can be ignored, and never end."""
    import signal

    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        try:
            signal.signal(number, signal.SIG_IGN)
        except OSError:
            continue
    while True:
        pass


@attack(ends("seconds"), limits=SHORT)
def stop_itself(given):
    """Stop, so that whoever waits for the end waits for ever."""
    import os
    import signal

    os.kill(os.getpid(), signal.SIGSTOP)


@attack(ends("signalled"))
def violate_memory(given):
    """Read address 0."""
    import ctypes

    ctypes.string_at(0)


@attack(ends("signalled"))
def abort(given):
    """End as after a failed assertion of native code."""
    import os

    os.abort()


@attack(either(ends("signalled", "memory", "seconds"), raised("MemoryError", "RecursionError")))
def recurse_without_end(given):
    """Exhaust the stack of native code."""
    import sys

    sys.setrecursionlimit(10**9)
    nested = []
    for _ in range(10**5):
        nested = [nested]
    repr(nested)


@attack(refused("EPERM", "EACCES"), control=OUTSIDE_AS_ROOT)
def run_before_all_others(given):
    """Get the processor before all other processes."""
    import os

    os.setpriority(os.PRIO_PROCESS, 0, -20)


@attack(refused("EPERM"), control=OUTSIDE_AS_ROOT)
def run_in_real_time(given):
    """Get the processor for ever, by a real-time scheduler."""
    import os

    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
