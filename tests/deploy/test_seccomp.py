"""Tests of the seccomp profile for containers: a sandbox works below it, and only because of it."""

from __future__ import annotations

import ctypes
import json
import platform
import re
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from sandbox.availability import CONTAINER_FIX
from tests.bpf_machine import library
from tests.deploy.commands import DEPLOY
from tests.users import environment, start_as

PROFILE = DEPLOY / "seccomp.json"
FOR_SANDBOXES = ("clone", "unshare", "setns", "mount", "umount2", "pivot_root", "sethostname")
DANGEROUS = (
    *("bpf", "kexec_load", "init_module", "finit_module", "delete_module", "perf_event_open"),
    *("ptrace", "process_vm_writev", "add_key", "keyctl", "userfaultfd", "io_uring_setup"),
    *("open_by_handle_at", "reboot", "swapon", "settimeofday", "clone3"),
)
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_OPERATIONS = {"SCMP_CMP_NE": 1, "SCMP_CMP_EQ": 4}
_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}

LOADER = """
import os, sys
from tests.deploy.test_seccomp import load
load(sys.stdin.read())
os.execv(sys.executable, [sys.executable, "-m", "sandbox.selftest"])
"""


class _Comparison(ctypes.Structure):
    _fields_ = (
        ("argument", ctypes.c_uint),
        ("operation", ctypes.c_int),
        ("first", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    )


def load(text: str) -> None:
    """Put this process below a profile of a container, as container engines do."""
    profile = json.loads(text)
    seccomp = library()
    refusal = _ERRNO | profile["defaultErrnoRet"]
    made = ctypes.c_void_p(seccomp.seccomp_init(ctypes.c_uint32(refusal)))
    for rule in profile["syscalls"]:
        if applies(rule):
            add(seccomp, made, rule)
    assert seccomp.seccomp_load(made) == 0


def applies(rule: Mapping[str, Any]) -> bool:
    architectures = rule.get("includes", {}).get("arches", list(_NAMES.values()))
    return _NAMES[platform.machine()] in architectures


def add(seccomp: ctypes.CDLL, made: ctypes.c_void_p, rule: Mapping[str, Any]) -> None:
    tests = [
        _Comparison(each["index"], _OPERATIONS[each["op"]], each["value"], 0)
        for each in rule.get("args", ())
    ]
    for name in rule["names"]:
        number = seccomp.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:  # others are of newer kernels, or of other architectures
            array = (_Comparison * max(len(tests), 1))(*tests)
            code = seccomp.seccomp_rule_add_array(
                made, ctypes.c_uint32(_ALLOW), number, len(tests), array
            )
            assert code == 0, name


@pytest.fixture(scope="module")
def profile() -> dict[str, Any]:
    return json.loads(PROFILE.read_text(encoding="utf-8"))


def allowed(profile: Mapping[str, Any]) -> set[str]:
    return {name for rule in profile["syscalls"] for name in rule["names"] if not rule.get("args")}


def test_the_profile_allows_what_the_remedy_names(profile: dict[str, Any]) -> None:
    assert tuple(profile["syscalls"][0]["names"]) == FOR_SANDBOXES
    named = re.search(r"allows ([\w, ]+?), and with", CONTAINER_FIX)
    assert named
    assert tuple(re.split(r", | and ", named[1])) == FOR_SANDBOXES


def test_the_profile_denies_dangerous_calls(profile: dict[str, Any]) -> None:
    assert profile["defaultAction"] == "SCMP_ACT_ERRNO"
    assert {rule["action"] for rule in profile["syscalls"]} == {"SCMP_ACT_ALLOW"}
    assert not allowed(profile) & set(DANGEROUS)


def self_test(profile: Mapping[str, Any]) -> dict[str, Any]:
    done = subprocess.run(
        [*start_as("ordinary"), sys.executable, "-c", LOADER],
        input=json.dumps(profile).encode(),
        env=environment(),
        cwd=DEPLOY.parent,
        stdout=subprocess.PIPE,
        timeout=300,
    )
    return json.loads(done.stdout)


def test_a_sandbox_works_below_the_profile(profile: dict[str, Any]) -> None:
    report = self_test(profile)
    assert report["obstacle"] == ""
    assert [each for each in report["findings"] if not each["ok"]] == []
    assert len(report["findings"]) > 30


@pytest.mark.parametrize("without", ["unshare", "mount", "pivot_root", "sethostname", "setns"])
def test_without_one_of_its_calls_there_is_none(profile: dict[str, Any], without: str) -> None:
    first, *others = profile["syscalls"]
    names = [name for name in first["names"] if name != without]
    report = self_test({**profile, "syscalls": [{**first, "names": names}, *others]})
    assert report["obstacle"] or any(not each["ok"] for each in report["findings"])
