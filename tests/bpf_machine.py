"""An interpreter of classic BPF, and filters made by libseccomp to compare with."""

from __future__ import annotations

import ctypes
import os
import struct
import tempfile
from collections.abc import Iterator, Sequence

from sandbox.filters import ANY_NAMESPACE, DENIED, Condition, Denied
from sandbox.syscalls import Architecture

LOAD, AND, RETURN = 0x20, 0x54, 0x06
_JUMPS = {
    0x15: lambda a, k: a == k,
    0x25: lambda a, k: a > k,
    0x35: lambda a, k: a >= k,
    0x45: lambda a, k: bool(a & k),
}
_ALWAYS = 0x05

ALLOW, KILL_PROCESS, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_BAD_ARCHITECTURE, _MASKED_EQUAL = 2, 7

FAMILIES = range(46)
PERSONALITIES = (0x8, 0x40000, 0x400000, 0xFFFFFFFE)
BEYOND_64_BITS = 1 << 32


def decide(program: bytes, architecture: int, number: int, arguments: Sequence[int] = ()) -> int:
    """Return the value that a filter gives for a system call."""
    values = [*arguments, *[0] * (6 - len(arguments))]
    record = struct.pack("<iIQ6Q", _signed(number), architecture, 0, *values)
    code = list(struct.iter_unpack("=HBBI", program))
    accumulator = at = 0
    while True:
        operation, if_true, if_false, constant = code[at]
        at += 1
        if operation == LOAD:
            (accumulator,) = struct.unpack_from("<I", record, constant)
        elif operation == AND:
            accumulator &= constant
        elif operation == RETURN:
            return constant
        elif operation == _ALWAYS:
            at += constant
        else:
            at += if_true if _JUMPS[operation](accumulator, constant) else if_false


def _signed(number: int) -> int:
    return number - (1 << 32) if number >= 1 << 31 else number


class _Comparison(ctypes.Structure):
    _fields_ = (
        ("argument", ctypes.c_uint),
        ("operation", ctypes.c_int),
        ("first", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    )


def library() -> ctypes.CDLL:
    """Return libseccomp, which Debian's package manager depends on."""
    found = ctypes.CDLL("libseccomp.so.2")
    found.seccomp_init.restype = ctypes.c_void_p
    return found


def number_of(target: Architecture, call: str) -> int:
    """Return the number of a system call, negative if libseccomp does not know it."""
    token = ctypes.c_uint32(target.audit_number)
    return library().seccomp_syscall_resolve_name_arch(token, call.encode())


def denied_values(test: Condition) -> Iterator[tuple[int, int]]:
    """Yield masks and values of an argument that a condition denies."""
    if not test.is_allow_list:
        yield from ((test.mask, value) for value in test.values)
    elif test.mask == ANY_NAMESPACE:
        yield from ((1 << bit, 1 << bit) for bit in range(32) if ANY_NAMESPACE & (1 << bit))
    else:
        others = FAMILIES if len(test.values) == 1 else PERSONALITIES
        yield from ((test.mask, value) for value in others if value not in test.values)


def by_libseccomp(target: Architecture) -> bytes:
    """Return the deny-list as libseccomp compiles it."""
    lib = library()
    context = ctypes.c_void_p(lib.seccomp_init(ctypes.c_uint32(ALLOW)))
    native = lib.seccomp_arch_native() & 0xFFFFFFFF
    if native != target.audit_number:
        assert lib.seccomp_arch_add(context, ctypes.c_uint32(target.audit_number)) == 0
        assert lib.seccomp_arch_remove(context, ctypes.c_uint32(native)) == 0
    lib.seccomp_attr_set(context, _BAD_ARCHITECTURE, ctypes.c_uint32(KILL_PROCESS))
    for rule in DENIED:
        for call in rule.calls:
            number = lib.seccomp_syscall_resolve_name(call.encode())
            if call in target.numbers and number != -1:
                _add(lib, context, rule, number)
    with tempfile.TemporaryFile() as file:
        assert lib.seccomp_export_bpf(context, file.fileno()) == 0
        lib.seccomp_release(context)
        file.seek(0, os.SEEK_SET)
        return file.read()


def _add(lib: ctypes.CDLL, context: ctypes.c_void_p, rule: Denied, number: int) -> None:
    action = ctypes.c_uint32(ERRNO | rule.errno)
    if rule.test is None:
        assert lib.seccomp_rule_add_array(context, action, number, 0, None) == 0
        return
    for mask, value in denied_values(rule.test):
        comparison = _Comparison(rule.test.argument, _MASKED_EQUAL, mask, value)
        added = lib.seccomp_rule_add_array(context, action, number, 1, ctypes.byref(comparison))
        assert added == 0, (rule, value)
