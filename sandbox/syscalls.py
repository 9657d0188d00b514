"""Numbers of the system calls that the filter names, for x86-64 and AArch64.

The tests compare each number with libseccomp. Calls since Linux 5.1 have the same number on both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_SINCE_5_1 = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "memfd_secret": 447,
    "process_mrelease": 448,
    "open_tree_attr": 467,
}

_X86_64 = {
    "socket": 41,
    "socketpair": 53,
    "clone": 56,
    "ioctl": 16,
    "personality": 135,
    "ptrace": 101,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "kcmp": 312,
    "bpf": 321,
    "perf_event_open": 298,
    "userfaultfd": 323,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "mount": 165,
    "umount2": 166,
    "pivot_root": 155,
    "chroot": 161,
    "unshare": 272,
    "setns": 308,
    "name_to_handle_at": 303,
    "open_by_handle_at": 304,
    "memfd_create": 319,
    "shmget": 29,
    "msgget": 68,
    "semget": 64,
    "mq_open": 240,
    "fanotify_init": 300,
    "migrate_pages": 256,
    "move_pages": 279,
    "settimeofday": 164,
    "clock_settime": 227,
    "clock_adjtime": 305,
    "adjtimex": 159,
    "sethostname": 170,
    "setdomainname": 171,
    "syslog": 103,
    "swapon": 167,
    "swapoff": 168,
    "vhangup": 153,
    "acct": 163,
    "quotactl": 179,
    "reboot": 169,
    "kexec_load": 246,
    "kexec_file_load": 320,
    "init_module": 175,
    "finit_module": 313,
    "delete_module": 176,
    "lookup_dcookie": 212,
    "nfsservctl": 180,
    "modify_ldt": 154,
    "iopl": 172,
    "ioperm": 173,
    "_sysctl": 156,
    "uselib": 134,
}

_AARCH64 = {
    "socket": 198,
    "socketpair": 199,
    "clone": 220,
    "ioctl": 29,
    "personality": 92,
    "ptrace": 117,
    "process_vm_readv": 270,
    "process_vm_writev": 271,
    "kcmp": 272,
    "bpf": 280,
    "perf_event_open": 241,
    "userfaultfd": 282,
    "add_key": 217,
    "request_key": 218,
    "keyctl": 219,
    "mount": 40,
    "umount2": 39,
    "pivot_root": 41,
    "chroot": 51,
    "unshare": 97,
    "setns": 268,
    "name_to_handle_at": 264,
    "open_by_handle_at": 265,
    "memfd_create": 279,
    "shmget": 194,
    "msgget": 186,
    "semget": 190,
    "mq_open": 180,
    "fanotify_init": 262,
    "migrate_pages": 238,
    "move_pages": 239,
    "settimeofday": 170,
    "clock_settime": 112,
    "clock_adjtime": 266,
    "adjtimex": 171,
    "sethostname": 161,
    "setdomainname": 162,
    "syslog": 116,
    "swapon": 224,
    "swapoff": 225,
    "vhangup": 58,
    "acct": 89,
    "quotactl": 60,
    "reboot": 142,
    "kexec_load": 104,
    "kexec_file_load": 294,
    "init_module": 105,
    "finit_module": 273,
    "delete_module": 106,
    "lookup_dcookie": 18,
    "nfsservctl": 42,
}


@dataclass(frozen=True, slots=True)
class Architecture:
    """A processor architecture: its number in audit records, and its system calls by name.

    System calls from `first_foreign` on belong to another ABI of the same processor.
    """

    name: str
    audit_number: int
    numbers: Mapping[str, int]
    first_foreign: int | None = None


X86_64 = Architecture("x86_64", 0xC000003E, {**_X86_64, **_SINCE_5_1}, first_foreign=0x40000000)
AARCH64 = Architecture("aarch64", 0xC00000B7, {**_AARCH64, **_SINCE_5_1})

ARCHITECTURES: Mapping[str, Architecture] = {"x86_64": X86_64, "aarch64": AARCH64, "arm64": AARCH64}
"""The architectures with a filter, by the machine name of the operating system."""
