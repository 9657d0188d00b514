"""Attacks on the kernel: system calls of frequent exploits, and calls of other interfaces."""

from __future__ import annotations

import platform
import textwrap

from sandbox.syscalls import ARCHITECTURES
from tests.attacks.declare import (
    OUTSIDE_AS_ROOT,
    UNFILTERED,
    attack,
    ends,
    refused,
)

NUMBERS = ARCHITECTURES[platform.machine()].numbers
_TEXT = '''
def {name}(given):
    """{words}"""
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    words = [ctypes.c_char_p(a) if isinstance(a, bytes) else ctypes.c_long(a) for a in {arguments}]
    if libc.syscall(ctypes.c_long({number}), *words) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
'''

NEW_USER, SIGCHLD, SESSION_KEYRING, DETACH = 0x10000000, 17, -3, 2
READ_IMPLIES_EXEC, USER_MODE_ONLY = 0x400000, 1
TIOCSTI = 0x5412

CALLS = {
    "io_uring_setup": ("Start asynchronous calls, which no filter sees.", (8, 0), UNFILTERED),
    "bpf": ("Load a program into the kernel.", (0, 0, 0), OUTSIDE_AS_ROOT),
    "perf_event_open": ("Count events of the processor.", (0, 0, -1, -1, 0), OUTSIDE_AS_ROOT),
    "userfaultfd": ("Pause the kernel at page faults.", (USER_MODE_ONLY,), UNFILTERED),
    "keyctl": ("Find the keyring of the session.", (0, SESSION_KEYRING, 1, 0, 0), UNFILTERED),
    "add_key": ("Store memory in a keyring.", (b"user", b"k", b"v", 1, -2), UNFILTERED),
    "unshare": ("Become root in a new user namespace.", (NEW_USER,), UNFILTERED),
    "setns": ("Join another namespace.", (0, 0), UNFILTERED),
    "clone": ("Create a process in a new user namespace.", (NEW_USER | SIGCHLD,), UNFILTERED),
    "mount": ("Mount a file system.", (b"tmpfs", b"/box", b"tmpfs", 0, 0), None),
    "umount2": ("Uncover what is below /box.", (b"/box", DETACH), None),
    "pivot_root": ("Exchange the root.", (b"/box", b"/box"), None),
    "chroot": ("Change the root, to leave it again.", (b"/box",), None),
    "fsopen": ("Mount by the newer interface.", (b"tmpfs", 0), None),
    "open_tree": ("Copy a tree of mounts.", (-100, b"/", 0), UNFILTERED),
    "mount_setattr": ("Make mounts writable.", (-100, b"/", 0, 0, 0), UNFILTERED),
    "name_to_handle_at": ("Name a file beyond its path.", (-100, b"/", 0, 0, 0), UNFILTERED),
    "open_by_handle_at": ("Open a file without a path.", (-100, 0, 0), UNFILTERED),
    "memfd_secret": ("Hide memory from the kernel.", (0,), UNFILTERED),
    "personality": ("Make all memory executable.", (READ_IMPLIES_EXEC,), UNFILTERED),
    "settimeofday": ("Set the clock of the machine.", (0, 0), None),
    "ioctl": ("Push input into a terminal.", (0, TIOCSTI, b"x"), UNFILTERED),
    "syslog": ("Read the messages of the kernel.", (10, 0, 0), OUTSIDE_AS_ROOT),
    "sethostname": ("Rename the machine.", (b"attacked", 8), None),
    "reboot": ("Restart the machine.", (0, 0, 0, 0), None),
    "init_module": ("Load code into the kernel.", (0, 0, b""), None),
    "kexec_load": ("Replace the kernel.", (0, 0, 0, 0), None),
    "quotactl": ("Change quotas of disks.", (0, 0, 0, 0), UNFILTERED),
    "pidfd_getfd": ("Take an open file of a process.", (0, 0, 0), UNFILTERED),
    "move_pages": ("Find the memory of a process.", (0, 0, 0, 0, 0, 0), UNFILTERED),
}
"""Calls that must fail with EPERM: words, arguments, and where another result shows otherwise."""


def declare(name, words, number, arguments, control, held):
    text = _TEXT.format(name=name, words=words, number=number, arguments=arguments)
    space = {}
    exec(compile(text, name, "exec"), space)
    function = space[name]
    attack(held, control=control, code=textwrap.dedent(text).strip())(function)


for call, (words, arguments, control) in CALLS.items():
    declare(f"call_{call}", words, NUMBERS[call], arguments, control, refused("EPERM"))

declare(
    "call_clone3",
    "Create a process with flags in memory.",
    NUMBERS["clone3"],
    (0, 0),
    UNFILTERED,
    refused("ENOSYS"),
)
declare(
    "push_input_with_upper_bits",
    "Push input into a terminal, with bits set that the kernel ignores.",
    NUMBERS["ioctl"],
    (0, TIOCSTI | (1 << 32), b"x"),
    UNFILTERED,
    refused("EPERM"),
)

if platform.machine() == "x86_64":
    X32_GETPID = 0x40000000 + 39
    declare(
        "call_by_x32",
        "Call the kernel by the x32 interface.",
        X32_GETPID,
        (),
        UNFILTERED,
        ends("signalled"),
    )

    @attack(ends("signalled"), control=UNFILTERED)
    def call_by_32_bits(given):
        """Call the kernel by the interface of 32-bit programs."""
        import ctypes
        import mmap

        memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        # mov eax, 20 (getpid); int 0x80; ret
        memory.write(bytes.fromhex("b814000000cd80c3"))
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        ctypes.CFUNCTYPE(ctypes.c_int)(address)()
