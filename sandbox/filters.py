"""The filter of system calls: a deny-list, as a classic BPF program for one architecture.

A sandbox without this filter would still have no privileges. The filter closes those parts of the
kernel that unprivileged processes rarely need and exploits often use.
"""

from __future__ import annotations

import errno
import platform
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from sandbox import bpf
from sandbox.kernel import NEW_NAMESPACES
from sandbox.result import SandboxError
from sandbox.syscalls import ARCHITECTURES, Architecture

AF_UNIX = 1
TIOCSTI, TIOCLINUX, TIOCSETD = 0x5412, 0x541C, 0x5423
QUERY_PERSONALITY = 0xFFFFFFFF
ANY_NAMESPACE = sum(bits for kind, bits in NEW_NAMESPACES.items() if kind != "time")
"""Flags of clone; the flag of time namespaces is part of a signal number in a call of clone."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on the low 32 bits of an argument; the kernel ignores its upper bits.

    The call is denied if the word under `mask` is one of `values`; with `is_allow_list`, if it is
    none of them.
    """

    argument: int
    values: tuple[int, ...]
    mask: int = 0xFFFFFFFF
    is_allow_list: bool = False


@dataclass(frozen=True, slots=True)
class Denied:
    """Calls that fail, always or if an argument meets a condition, and the reason."""

    calls: tuple[str, ...]
    why: str
    test: Condition | None = None
    errno: int = errno.EPERM


DENIED = (
    Denied(("clone3",), "its flags are in memory, which a filter cannot read", errno=errno.ENOSYS),
    Denied(
        ("clone",),
        "new namespaces give capabilities inside them",
        Condition(0, (0,), mask=ANY_NAMESPACE, is_allow_list=True),
    ),
    Denied(
        ("socket", "socketpair"),
        "network protocols, netlink and packet sockets",
        Condition(0, (AF_UNIX,), is_allow_list=True),
    ),
    Denied(
        ("ioctl",),
        "input pushed into a terminal runs as a command of its owner",
        Condition(1, (TIOCSTI, TIOCLINUX, TIOCSETD)),
    ),
    Denied(
        ("personality",),
        "other execution domains disable protections of memory",
        Condition(0, (0, QUERY_PERSONALITY), is_allow_list=True),
    ),
    Denied(
        (
            *("ptrace", "process_vm_readv", "process_vm_writev", "process_madvise"),
            *("kcmp", "pidfd_getfd", "process_mrelease"),
        ),
        "access to other processes",
    ),
    Denied(("io_uring_setup", "io_uring_enter", "io_uring_register"), "calls that no filter sees"),
    Denied(("bpf", "perf_event_open", "userfaultfd"), "kernel interfaces of frequent exploits"),
    Denied(("add_key", "request_key", "keyctl"), "keyrings are outside namespaces"),
    Denied(
        (
            *("mount", "umount2", "pivot_root", "chroot", "swapon", "swapoff"),
            *("fsopen", "fsconfig", "fsmount", "fspick", "move_mount", "mount_setattr"),
            *("open_tree", "open_tree_attr"),
        ),
        "changes of the file system tree",
    ),
    Denied(("unshare", "setns"), "new namespaces give capabilities inside them"),
    Denied(("name_to_handle_at", "open_by_handle_at"), "files outside the visible tree"),
    Denied(
        ("memfd_secret", "memfd_create", "shmget", "msgget", "semget", "mq_open"),
        "memory that no limit of a process counts",
    ),
    Denied(("migrate_pages", "move_pages", "fanotify_init"), "effects on other processes"),
    Denied(
        (
            *("settimeofday", "clock_settime", "clock_adjtime", "adjtimex", "syslog"),
            *("sethostname", "setdomainname", "vhangup", "acct", "reboot"),
            *("quotactl", "quotactl_fd"),
        ),
        "administration of the machine",
    ),
    Denied(
        ("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module"),
        "code in the kernel",
    ),
    Denied(
        ("lookup_dcookie", "nfsservctl", "modify_ldt", "iopl", "ioperm", "_sysctl", "uselib"),
        "obsolete interfaces, and access to the processor",
    ),
)
"""The deny-list; an architecture has only some of the calls."""


@cache
def filter_program(machine: str = "") -> bytes:
    """Return the filter for a machine name, by default this machine.

    Errors: SandboxError for an architecture without a filter.
    """
    name = machine or platform.machine()
    if name not in ARCHITECTURES:
        raise SandboxError(
            f"there is no filter of system calls for the architecture {name}",
            f"use a machine with one of {', '.join(ARCHITECTURES)}",
        )
    return bpf.assemble(instructions(ARCHITECTURES[name]))


def instructions(target: Architecture) -> Sequence[bpf.Instruction]:
    """Return the program: first the architecture, then calls with conditions, then all others."""
    program = [
        bpf.load(bpf.ARCHITECTURE),
        bpf.jump(bpf.JUMP_EQUAL, target.audit_number, 1, 0),
        bpf.give(bpf.KILL_PROCESS),
        bpf.load(bpf.CALL_NUMBER),
    ]
    if target.first_foreign is not None:
        program += [
            bpf.jump(bpf.JUMP_AT_LEAST, target.first_foreign, 0, 1),
            bpf.give(bpf.KILL_PROCESS),
        ]
    for rule in DENIED:
        if rule.test is not None:
            program += _conditional(target, rule, rule.test)
    for number in sorted({rule.errno for rule in DENIED}):
        program += _plain(target, number)
    return [*program, bpf.give(bpf.ALLOW)]


def _conditional(target: Architecture, rule: Denied, test: Condition) -> Iterator[bpf.Instruction]:
    """Decide a call by its argument, and end the program."""
    denied, allowed = bpf.fail_with(rule.errno), bpf.ALLOW
    found, missed = (allowed, denied) if test.is_allow_list else (denied, allowed)
    decision = [bpf.load(bpf.low_word(test.argument)), bpf.keep_bits(test.mask)]
    n = len(test.values)
    decision += [bpf.jump(bpf.JUMP_EQUAL, value, n - i, 0) for i, value in enumerate(test.values)]
    decision += [bpf.give(missed), bpf.give(found)]
    for call in rule.calls:
        if call in target.numbers:
            yield bpf.jump(bpf.JUMP_EQUAL, target.numbers[call], 0, len(decision))
            yield from decision


def _plain(target: Architecture, number: int) -> Iterator[bpf.Instruction]:
    """Deny the calls without a condition that fail with this error number."""
    calls = [
        target.numbers[call]
        for rule in DENIED
        if rule.test is None and rule.errno == number
        for call in rule.calls
        if call in target.numbers
    ]
    for i, call in enumerate(calls):
        is_last = i == len(calls) - 1
        yield bpf.jump(bpf.JUMP_EQUAL, call, len(calls) - 1 - i, 1 if is_last else 0)
    if calls:
        yield bpf.give(bpf.fail_with(number))
