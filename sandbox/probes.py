"""Assertions about a sandbox that code inside can check, one declaration each.

A probe returns "" if its assertion holds, else what it found. Its docstring is the assertion. The
self-test runs the probes inside a sandbox, in a new process and in a joined child.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import importlib.util
import json
import mmap
import os
import platform
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sandbox import kernel
from sandbox.bubblewrap import HOSTNAME, NOBODY, SHARED_MEMORY_BYTES
from sandbox.limits import Limits
from sandbox.seal import SCRATCH, SHARED_MEMORY
from sandbox.syscalls import ARCHITECTURES
from sandbox.view import ENVIRONMENT

REPORT = "please report this machine, with the output of compilarium doctor --json"
_READABLE = f"chmod -R o+rX {sys.prefix} {sys.base_prefix}"
_TIB = 1 << 40
_MOST_OWN_PROCESSES = 8
_REFUSED = (errno.EPERM, errno.EACCES, errno.EROFS, errno.ENOSYS)


@dataclass(frozen=True, slots=True)
class Probe:
    """An assertion, its check inside, and the remedy if it fails."""

    name: str
    claim: str
    fix: str
    check: Callable[[Limits], str]


PROBES: dict[str, Probe] = {}


def probe(fix: str = REPORT) -> Callable[[Callable[[Limits], str]], Callable[[Limits], str]]:
    """Declare a function as a probe."""

    def declare(check: Callable[[Limits], str]) -> Callable[[Limits], str]:
        name = check.__name__
        PROBES[name] = Probe(name, (check.__doc__ or "").strip(), fix, check)
        return check

    return declare


def main(limits: Limits, names: Sequence[str]) -> None:
    """Run the probes and print a JSON line for each: its name, and what it found."""
    for name in names:
        try:
            found = PROBES[name].check(limits)
        except Exception as e:
            found = f"{type(e).__name__}: {e}"
        print(json.dumps([name, found]), flush=True)


def _status(field: str) -> str:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return line.split(":", 1)[1].strip()
    return ""


def _refusal(what: str, attempt: Callable[[], object]) -> str:
    """Return "" if the attempt is refused, else what happened."""
    try:
        attempt()
    except OSError as e:
        return "" if e.errno in _REFUSED else f"{what}: {e.strerror}"
    return f"{what} succeeded"


def _call(name: str, *arguments: int) -> Callable[[], object]:
    numbers = ARCHITECTURES[platform.machine()].numbers
    return lambda: kernel.syscall(numbers[name], *arguments)


@probe()
def user(_: Limits) -> str:
    """The process is an unknown user without groups of the host."""
    ids = {os.getuid(), os.geteuid(), os.getgid(), os.getegid(), *os.getgroups()}
    return "" if ids == {NOBODY} else f"user and group ids {sorted(ids)}"


@probe()
def no_capabilities(_: Limits) -> str:
    """The process has no capabilities and cannot gain any."""
    fields = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
    some = {name: _status(name) for name in fields if int(_status(name), 16)}
    return f"{some}" if some else ""


@probe("use Linux 3.5 or newer")
def no_new_privileges(_: Limits) -> str:
    """No program that the process starts gains privileges."""
    return "" if _status("NoNewPrivs") == "1" else f"NoNewPrivs is {_status('NoNewPrivs')!r}"


@probe("use a kernel with CONFIG_SECCOMP_FILTER")
def system_call_filter(_: Limits) -> str:
    """A filter decides about the system calls of the process."""
    return "" if _status("Seccomp") == "2" else f"Seccomp is {_status('Seccomp')!r}"


@probe()
def own_hostname(_: Limits) -> str:
    """The process does not see the name of the host."""
    return "" if socket.gethostname() == HOSTNAME else f"the name is {socket.gethostname()}"


@probe()
def own_processes(_: Limits) -> str:
    """Only processes of the sandbox are visible."""
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return "" if len(pids) <= _MOST_OWN_PROCESSES else f"{len(pids)} processes are visible"


@probe()
def own_environment(_: Limits) -> str:
    """The environment has exactly the declared variables."""
    differing = set(os.environ.items()) ^ set(ENVIRONMENT.items())
    return f"differing variables: {sorted(dict(differing))}" if differing else ""


@probe()
def no_parent_environment(_: Limits) -> str:
    """The environment of the parent process is not visible."""
    visible: list[str] = []
    for pid in ("self", "1"):
        with suppress(OSError):
            variables = Path("/proc", pid, "environ").read_bytes().split(b"\0")
            named = {os.fsdecode(v.partition(b"=")[0]) for v in variables if v}
            visible += sorted(named - set(ENVIRONMENT))
    return f"visible: {visible}" if visible else ""


@probe()
def no_configuration(_: Limits) -> str:
    """No configuration, home folder or data of the system is visible."""
    with open("/proc/self/mountinfo") as lines:
        mounts = {os.fsdecode(line.split()[4]).replace("\\040", " ") for line in lines}
    folders = ("/etc/passwd", "/home", "/var", "/run", "/sys", "/boot", "/mnt", "/srv", "/root")
    some = [path for each in folders for path in _outside_mounts(each, mounts)]
    return f"visible: {some[:10]}" if some else ""


def _outside_mounts(path: str, mounts: Collection[str]) -> Iterator[str]:
    """Yield what is visible at a path, except this Python and the inputs, which are mounts."""
    if path in mounts or not os.path.lexists(path):
        return
    if not any(mount.startswith(f"{path}/") for mount in mounts):
        yield path
        return
    for name in os.listdir(path):
        yield from _outside_mounts(f"{path}/{name}", mounts)


@probe()
def read_only(_: Limits) -> str:
    """The system, the root, /dev and the settings of the kernel are not writable."""
    places = ("/usr", "/", "/dev", "/sandbox", "/dev/pts", sys.base_prefix)
    for place in places:
        path = os.path.join(place, "trial")
        if found := _refusal(f"writing {path}", lambda path=path: open(path, "wb").close()):
            return found
    setting = "/proc/sys/kernel/core_pattern"
    return _refusal(f"writing {setting}", lambda: open(setting, "wb").close())


def _capacity(folder: str, at_most: int) -> str:
    found = os.statvfs(folder)
    n_bytes = found.f_blocks * found.f_frsize
    # tmpfs rounds its size up to whole pages.
    return "" if 0 < n_bytes <= at_most + mmap.PAGESIZE else f"{folder} holds {n_bytes:,} bytes"


@probe()
def scratch_is_bounded(limits: Limits) -> str:
    """The scratch folder holds no more than its limit."""
    return _capacity(SCRATCH, limits.scratch_bytes)


@probe()
def shared_memory_is_bounded(_: Limits) -> str:
    """The folder of shared memory holds no more than its limit."""
    return _capacity(SHARED_MEMORY, SHARED_MEMORY_BYTES)


@probe()
def memory_is_bounded(limits: Limits) -> str:
    """An allocation larger than the limit fails."""
    try:
        mmap.mmap(-1, limits.memory_bytes).close()
    except (OSError, MemoryError):
        return ""
    return f"an allocation of {limits.memory_bytes:,} bytes succeeded"


@probe()
def files_are_bounded(_: Limits) -> str:
    """A file larger than the limit fails, even a sparse one."""
    path = os.path.join(SCRATCH, "sparse")
    with open(path, "wb") as file:
        try:
            file.truncate(_TIB)
        except OSError:
            return ""
        finally:
            os.unlink(path)
    return "a sparse file of 1 TiB was created"


@probe()
def no_network(_: Limits) -> str:
    """Sockets of network protocols, of netlink and of raw packets are refused."""
    for name in ("AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET", "AF_VSOCK"):
        family = getattr(socket, name)
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
            if found := _refusal(name, lambda f=family, k=kind: socket.socket(f, k).close()):
                return found
    return ""


@probe()
def no_new_namespaces(_: Limits) -> str:
    """unshare, setns and clone with new namespaces are refused."""
    new_user, child_signal = kernel.NEW_NAMESPACES["user"], 17
    attempts = {
        "unshare": _call("unshare", new_user),
        "setns": _call("setns", 0, 0),
        "clone": _call("clone", new_user | child_signal, 0, 0, 0, 0),
        "clone3": _call("clone3", 0, 0),
    }
    return next(filter(None, (_refusal(name, a) for name, a in attempts.items())), "")


@probe()
def no_mounts(_: Limits) -> str:
    """mount and its newer replacements are refused."""
    names = ("mount", "umount2", "pivot_root", "fsopen", "open_tree", "move_mount", "mount_setattr")
    return next(filter(None, (_refusal(n, _call(n, 0, 0, 0, 0, 0)) for n in names)), "")


@probe()
def no_tracing(_: Limits) -> str:
    """Reading and changing other processes is refused."""
    names = ("ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd")
    return next(filter(None, (_refusal(n, _call(n, 0, 1, 0, 0, 0, 0)) for n in names)), "")


@probe()
def no_kernel_interfaces(_: Limits) -> str:
    """io_uring, bpf, perf events, keyrings and file handles are refused."""
    names = ("io_uring_setup", "bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key")
    names += ("open_by_handle_at", "memfd_secret")
    return next(filter(None, (_refusal(n, _call(n, 0, 0, 0, 0, 0)) for n in names)), "")


@probe()
def no_terminal_input(_: Limits) -> str:
    """Pushing input into a terminal is refused, with any upper bits of the request."""
    terminal_input = 0x5412
    ioctl = ARCHITECTURES[platform.machine()].numbers["ioctl"]
    with open(os.devnull, "rb") as file:
        number = file.fileno()
        requests = (terminal_input, terminal_input | (1 << 32))
        attempts = [lambda r=r: kernel.syscall(ioctl, number, r, b"x") for r in requests]
        found = [_refusal("TIOCSTI", attempt) for attempt in attempts]
        found.append(_refusal("TIOCSTI", lambda: fcntl.ioctl(number, terminal_input, b"x")))
    return next(filter(None, found), "")


@contextmanager
def _children() -> Generator[Callable[[], int]]:
    """Yield a function that forks a waiting child; at the end, all children end."""
    reading, writing = os.pipe()
    pids: list[int] = []

    def fork() -> int:
        pid = os.fork()
        if not pid:
            os.close(writing)
            os.read(reading, 1)
            os._exit(0)
        pids.append(pid)
        return pid

    try:
        yield fork
    finally:
        os.close(writing)
        os.close(reading)
        for pid in pids:
            os.waitpid(pid, 0)


@probe("use Linux 5.14 or newer; as root, the sandbox needs a dedicated user")
def processes_are_bounded(limits: Limits) -> str:
    """Forking stops at the limit of processes."""
    with _children() as fork:
        for n in range(limits.n_processes + 1):
            try:
                fork()
            except BlockingIOError:
                return "" if n >= limits.n_processes // 2 else f"forking stopped at {n} processes"
    return f"{limits.n_processes + 1} processes were created"


@probe()
def child_processes_work(_: Limits) -> str:
    """A program can be started."""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", "print(6 * 7)"], capture_output=True)
    return "" if done.stdout == b"42\n" else f"it printed {done.stdout!r}, {done.stderr[-200:]!r}"


@probe()
def threads_work(_: Limits) -> str:
    """A thread can be started."""
    done = threading.Event()
    thread = threading.Thread(target=done.set)
    thread.start()
    thread.join()
    return "" if done.is_set() else "the thread did not run"


@probe(_READABLE)
def numpy_works(_: Limits) -> str:
    """NumPy can be imported and multiplies matrices."""
    if not importlib.util.find_spec("numpy"):
        return ""
    import numpy as np

    return "" if (np.ones((3, 5)) @ np.ones((5, 2)) == 5).all() else "a product is wrong"


_ADD = """
define i32 @add(i32 %a, i32 %b) {
  %c = add i32 %a, %b
  ret i32 %c
}
"""


@probe(_READABLE)
def machine_code_works(_: Limits) -> str:
    """Machine code can be generated and called."""
    if not importlib.util.find_spec("llvmlite"):
        return ""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    with llvm.create_mcjit_compiler(llvm.parse_assembly(_ADD), machine) as engine:
        engine.finalize_object()
        add = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int)(
            engine.get_function_address("add")
        )
        return "" if add(2, 40) == 42 else f"2 + 40 gave {add(2, 40)}"
