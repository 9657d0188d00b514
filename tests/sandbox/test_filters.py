"""Tests of the filter of system calls: numbers and decisions are those of libseccomp."""

from __future__ import annotations

import errno
import signal

import pytest

from sandbox import bpf
from sandbox.filters import DENIED, Condition, Denied, filter_program, instructions
from sandbox.result import SandboxError
from sandbox.syscalls import AARCH64, ARCHITECTURES, X86_64, Architecture
from tests import bpf_machine
from tests.bpf_machine import ALLOW, ERRNO, KILL_PROCESS, decide

NEWER_THAN_LIBSECCOMP_2_5 = {"open_tree_attr"}
"""Calls of Linux 6.15, which the libseccomp of Debian 12 does not know."""

BOTH = pytest.mark.parametrize("target", [X86_64, AARCH64], ids=lambda target: target.name)
LAST_CALL = 520


def program_of(target: Architecture) -> bytes:
    return bpf.assemble(instructions(target))


@BOTH
def test_numbers_are_those_of_libseccomp(target: Architecture) -> None:
    for call, number in target.numbers.items():
        known = bpf_machine.number_of(target, call)
        assert known == number or call in NEWER_THAN_LIBSECCOMP_2_5, call


@BOTH
def test_the_filter_names_every_call_that_the_architecture_has(target: Architecture) -> None:
    named = {call for rule in DENIED for call in rule.calls}
    assert set(target.numbers) <= named
    for call in named - set(target.numbers):
        assert bpf_machine.number_of(target, call) < 0, f"{target.name} has {call}"


@BOTH
def test_decisions_without_arguments_are_those_of_libseccomp(target: Architecture) -> None:
    ours, theirs = program_of(target), bpf_machine.by_libseccomp(target)
    newer = {target.numbers[call] for call in NEWER_THAN_LIBSECCOMP_2_5}
    conditional = {target.numbers[c] for rule in DENIED if rule.test for c in rule.calls}
    for number in set(range(LAST_CALL)) - newer - conditional:
        expected = decide(theirs, target.audit_number, number)
        assert decide(ours, target.audit_number, number) == expected, number
    assert decide(ours, target.audit_number, target.numbers["clone3"]) == ERRNO | errno.ENOSYS


CONDITIONAL = [(rule, rule.test) for rule in DENIED if rule.test is not None]


@BOTH
@pytest.mark.parametrize(("rule", "test"), CONDITIONAL, ids=lambda r: getattr(r, "calls", None))
def test_decisions_by_argument_are_those_of_libseccomp(
    target: Architecture, rule: Denied, test: Condition
) -> None:
    ours, theirs = program_of(target), bpf_machine.by_libseccomp(target)
    values = {value for _, value in bpf_machine.denied_values(test)} | {*test.values}
    if "clone" in rule.calls:
        values.add(signal.SIGCHLD)  # the flags of fork
    for call in rule.calls:
        for value in values | {v + bpf_machine.BEYOND_64_BITS for v in values}:
            arguments = [0] * test.argument + [value]
            expected = decide(theirs, target.audit_number, target.numbers[call], arguments)
            found = decide(ours, target.audit_number, target.numbers[call], arguments)
            assert found == expected, (call, value)


@BOTH
def test_other_architectures_are_killed(target: Architecture) -> None:
    i386 = 0x40000003
    (other,) = {X86_64.audit_number, AARCH64.audit_number} - {target.audit_number}
    for architecture in (i386, other):
        for number in (0, 60, target.numbers["ptrace"]):
            assert decide(program_of(target), architecture, number) == KILL_PROCESS


def test_the_x32_interface_is_killed() -> None:
    for number in (0x40000000, 0x40000000 + X86_64.numbers["ptrace"], 0x7FFFFFFF):
        assert decide(program_of(X86_64), X86_64.audit_number, number) == KILL_PROCESS
        theirs = bpf_machine.by_libseccomp(X86_64)
        assert decide(theirs, X86_64.audit_number, number) == KILL_PROCESS


def test_an_ordinary_call_is_allowed_and_a_missing_rule_is_seen() -> None:
    read, ptrace = 0, X86_64.numbers["ptrace"]
    assert decide(program_of(X86_64), X86_64.audit_number, read) == ALLOW
    fewer = Architecture("x86_64", X86_64.audit_number, {"mount": 165}, X86_64.first_foreign)
    assert decide(bpf.assemble(instructions(fewer)), X86_64.audit_number, ptrace) == ALLOW
    assert decide(program_of(X86_64), X86_64.audit_number, ptrace) == ERRNO | errno.EPERM


def test_an_architecture_without_a_filter_has_no_sandbox() -> None:
    with pytest.raises(SandboxError, match="riscv64"):
        filter_program("riscv64")
    assert all(filter_program(name) for name in ARCHITECTURES)
