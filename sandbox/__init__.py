"""Isolation of all processes that parse, compile or run untrusted input.

`run` starts a command in a new sandbox. `Holder` prepares a sandbox that a forked child joins, so
that the child keeps the modules of its parent. Both ways use the same files, limits and filter of
system calls; docs/sandbox.md describes the layers. If the sandbox cannot be built, both raise
`SandboxError`: no command ever runs outside a sandbox.

This package uses the standard library only. A module imports only modules before it in this list:

    kernel -> syscalls -> bpf -> limits -> result -> filters -> landlock -> seal -> inside
           -> staging -> users -> leftovers -> cgroups -> view -> bubblewrap -> watch -> supervise
           -> availability -> launch -> fresh -> join -> probes -> selftest
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:  # the launchers inside a sandbox import this package, so it imports on use
    from sandbox.fresh import run
    from sandbox.join import Holder, Ticket, call
    from sandbox.limits import Limits
    from sandbox.result import Result, SandboxError
    from sandbox.users import lend
    from sandbox.view import Inputs

__all__ = [
    "Holder",
    "Inputs",
    "Limits",
    "Result",
    "SandboxError",
    "Ticket",
    "call",
    "lend",
    "run",
]

_HOMES = {
    "Holder": "join",
    "Inputs": "view",
    "Limits": "limits",
    "Result": "result",
    "SandboxError": "result",
    "Ticket": "join",
    "call": "join",
    "lend": "users",
    "run": "fresh",
}


def __getattr__(name: str) -> object:
    """Import the module of a public name on its first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"sandbox.{_HOMES[name]}"), name)
