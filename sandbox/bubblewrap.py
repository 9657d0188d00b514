"""The command of bubblewrap, which builds the namespaces and the file system of a sandbox."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence

from sandbox.limits import Limits
from sandbox.seal import SCRATCH, SHARED_MEMORY
from sandbox.view import Bind

PROGRAM = "bwrap"
OLDEST = (0, 8)
"""The first version with --disable-userns and --size."""

NOBODY = 65534
HOSTNAME = "sandbox"
SHARED_MEMORY_BYTES = 4 << 20
_TERMINALS = "/dev/pts"
_TMP = "/tmp"
_SMALLEST = 4096


def program() -> str | None:
    """Return the path of the installed program."""
    return shutil.which(PROGRAM, path="/usr/local/bin:/usr/bin:/bin")


def command(
    name: str,
    *,
    binds: Sequence[Bind],
    links: Mapping[str, str],
    environment: Mapping[str, str],
    limits: Limits,
    data: Mapping[str, int],
    filter_file: int,
    info_file: int,
) -> list[str]:
    """Return the command up to the program that it runs inside; its first word is `name`.

    `data` has descriptors of contents by path. The descriptor `filter_file` has the filter, and
    bubblewrap writes the process id of the sandbox to the descriptor `info_file`.
    """
    return [
        name,
        *("--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL"),
        *("--die-with-parent", "--new-session", "--hostname", HOSTNAME),
        *("--uid", str(NOBODY), "--gid", str(NOBODY)),
        *("--seccomp", str(filter_file), "--info-fd", str(info_file)),
        "--clearenv",
        *(word for name, value in environment.items() for word in ("--setenv", name, value)),
        *(word for bind in binds for word in ("--ro-bind", bind.source, bind.target)),
        *(word for link, goal in links.items() for word in ("--symlink", goal, link)),
        *_temporary(binds),
        *(word for target, file in data.items() for word in _content(target, file)),
        *("--proc", "/proc", "--dev", "/dev"),
        *("--size", str(limits.scratch_bytes), "--perms", "0700", "--tmpfs", SCRATCH),
        # The root, /dev and /dev/shm are file systems in memory too, of half the machine's memory.
        *("--remount-ro", "/"),
        *("--size", str(SHARED_MEMORY_BYTES), "--perms", "0700", "--tmpfs", SHARED_MEMORY),
        # Terminals are few on a machine, and no namespace counts them.
        *("--size", str(_SMALLEST), "--tmpfs", _TERMINALS, "--remount-ro", _TERMINALS),
        *("--remount-ro", "/dev"),
        *("--chdir", SCRATCH, "--"),
    ]


def _temporary(binds: Sequence[Bind]) -> tuple[str, ...]:
    """Make /tmp a link to the scratch folder, unless a visible folder lies below /tmp."""
    if any(bind.target.startswith(f"{_TMP}/") for bind in binds):
        return ()
    return ("--symlink", SCRATCH.strip("/"), _TMP)


def _content(target: str, file: int) -> tuple[str, ...]:
    return ("--perms", "0444", "--ro-bind-data", str(file), target)
