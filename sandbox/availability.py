"""Obstacles on this machine: what a sandbox lacks, and the exact remedy for each."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sandbox import bubblewrap, cgroups, landlock
from sandbox.result import SandboxError
from sandbox.syscalls import ARCHITECTURES

INSTALL = "sudo apt-get install bubblewrap (or your system's equivalent)"

APPARMOR_FIX = """\
printf 'abi <abi/4.0>,\\ninclude <tunables/global>\\nprofile bwrap /usr/bin/bwrap \
flags=(unconfined) {\\n  userns,\\n}\\n' | sudo tee /etc/apparmor.d/bwrap \
&& sudo apparmor_parser -r /etc/apparmor.d/bwrap"""
"""Since Ubuntu 23.10, AppArmor permits user namespaces only to programs with such a profile."""

CONTAINER_FIX = (
    "start the container with a seccomp profile that allows clone, unshare, setns, mount, umount2, "
    "pivot_root and sethostname, and with an unmasked /proc: docker run --security-opt "
    "seccomp=deploy/seccomp.json --security-opt systempaths=unconfined "
    "--security-opt apparmor=unconfined"
)


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about this machine; a setting is None if the kernel does not have it."""

    system: str
    machine: str
    program: str | None
    version: tuple[int, ...]
    unprivileged_namespaces: str | None
    n_namespaces: str | None
    apparmor_restricts: str | None
    is_root: bool
    is_in_container: bool


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A missing part of the sandbox, and its remedy."""

    found: str
    fix: str


def facts() -> Facts:
    """Collect the facts of this machine."""
    path = bubblewrap.program()
    return Facts(
        system=platform.system(),
        machine=platform.machine(),
        program=path,
        version=_version(path) if path else (),
        unprivileged_namespaces=_setting("kernel/unprivileged_userns_clone"),
        n_namespaces=_setting("user/max_user_namespaces"),
        apparmor_restricts=_setting("kernel/apparmor_restrict_unprivileged_userns"),
        is_root=os.geteuid() == 0,
        is_in_container=any(Path(p).exists() for p in ("/.dockerenv", "/run/.containerenv")),
    )


def _setting(name: str) -> str | None:
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return None


def _version(path: str) -> tuple[int, ...]:
    done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10)
    found = re.search(r"(\d+)\.(\d+)", done.stdout)
    return tuple(map(int, found.groups())) if found else ()


def obstacles(known: Facts) -> Iterator[Obstacle]:
    """Yield the obstacles that the facts show."""
    if known.system != "Linux":
        fix = "use Linux: on Windows inside WSL2, elsewhere in a virtual machine"
        yield Obstacle(f"sandboxes need Linux, and this is {known.system}", fix)
        return
    if known.machine not in ARCHITECTURES:
        fix = f"use a machine with one of {', '.join(ARCHITECTURES)}"
        yield Obstacle(f"no filter of system calls exists for {known.machine}", fix)
    if known.program is None:
        yield Obstacle("bubblewrap is not installed", INSTALL)
    elif known.version < bubblewrap.OLDEST:
        version, oldest = (".".join(map(str, v)) for v in (known.version, bubblewrap.OLDEST))
        fix = f"install bubblewrap {oldest} or newer"
        yield Obstacle(f"bubblewrap {version} is older than {oldest}", fix)
    if known.n_namespaces == "0":
        yield Obstacle("user namespaces are disabled", "sudo sysctl user.max_user_namespaces=10000")
    if known.is_root:
        return
    if known.unprivileged_namespaces == "0":
        fix = "sudo sysctl kernel.unprivileged_userns_clone=1"
        yield Obstacle("only root may create user namespaces", fix)


_MESSAGES: tuple[tuple[str, Callable[[Facts], Obstacle]], ...] = (
    (
        r"setting up uid map: Permission denied|loopback: Failed RTM_NEWADDR",
        lambda known: Obstacle("AppArmor denies user namespaces to bubblewrap", APPARMOR_FIX),
    ),
    (
        r"No permissions to creat\w+ new namespace|Creating new namespace failed|Can't mount proc"
        r"|Can't set hostname",
        lambda known: (
            Obstacle("the container does not permit namespaces", CONTAINER_FIX)
            if known.is_in_container
            else Obstacle("the kernel does not permit namespaces", APPARMOR_FIX)
            if known.apparmor_restricts == "1"
            else Obstacle(
                "the kernel does not permit namespaces",
                "sudo sysctl user.max_user_namespaces=10000; in a container: " + CONTAINER_FIX,
            )
        ),
    ),
    (
        r"sandbox: Operation not permitted",
        lambda known: Obstacle("root of this container has too few privileges", CONTAINER_FIX),
    ),
    (
        r"Can't find source path (?P<path>[^:]+)|(?:can't open|Permission denied).*python",
        lambda known: Obstacle(
            "the dedicated user of the sandbox cannot read Python or the package",
            f"chmod -R o+rX {sys.prefix} {sys.base_prefix} {Path(__file__).parent}",
        ),
    ),
    (
        r"Unknown option (?P<option>\S+)",
        lambda known: Obstacle(
            "bubblewrap is too old", f"install {'.'.join(map(str, bubblewrap.OLDEST))} or newer"
        ),
    ),
)
"""Messages of bubblewrap and of the launchers, and the obstacles that they indicate."""


def explain(message: str, known: Facts) -> SandboxError:
    """Return the error for a sandbox that could not be built, derived from a printed message."""
    shown = next(obstacles(known), None)
    if shown is None:
        found = (make for pattern, make in _MESSAGES if re.search(pattern, message))
        shown = next((make(known) for make in found), None)
    last = (message.strip().splitlines() or ["no message"])[-1][:300]
    if shown is None:
        return SandboxError(f"the sandbox cannot be built: {last}", "compilarium doctor")
    return SandboxError(f"the sandbox cannot be built: {shown.found} ({last})", shown.fix)


@dataclass(frozen=True, slots=True)
class Layer:
    """An optional part of the sandbox, used if the machine has it."""

    name: str
    is_used: bool
    found: str
    fix: str = ""


def optional_layers() -> list[Layer]:
    """Return the optional layers, whether they are used, and how to get them."""
    version = landlock.version()
    group = cgroups.usable()
    return [
        Layer(
            "landlock",
            version > 0,
            f"interface version {version}" if version else "this kernel has no Landlock",
            "" if version else "boot Linux 5.13 or newer with lsm=landlock,...",
        ),
        Layer(
            "cgroup",
            group is not None,
            f"version {group.version} at {', '.join(map(str, group.folders))}"
            if group
            else "no group may be created: samples bound the memory of all processes together",
            "" if group else "systemd-run --user --scope -p Delegate=yes compilarium serve",
        ),
    ]
