"""The launcher outside, for root or with a cgroup: it enters the cgroup and becomes another user.

    python -c CODE PACKAGE_FOLDER [group=FOLDER...] [show=PATH...] [user=UID] [program=PATH] \
        -- COMMAND...

With `program`, the first word of COMMAND is only the name of the process.

The dedicated user must reach the files that the sandbox shows, for instance an environment below
root's home folder, which nobody else may enter. In a mount namespace of this process, an empty
folder covers such a folder, and only the shown paths appear in it.
"""

from __future__ import annotations

import os
import stat
import sys

from sandbox import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing collections.abc takes a millisecond
    from collections.abc import Iterable

CODE = "import sys; sys.path[:0] = [sys.argv[1]]; from sandbox.staging import main; main()"
"""The program of the launcher."""

READERS = 60_599
"""The group of all sandboxes of root, which may read the files that are lent to them."""

_SIZE_OF_COVER = "size=1m,mode=755"


def main() -> None:
    """Prepare this process and replace it by the command."""
    end = sys.argv.index("--")
    command = sys.argv[end + 1 :]
    given: dict[str, list[str]] = {"group": [], "show": [], "user": [], "program": []}
    for text in sys.argv[2:end]:
        kind, _, value = text.partition("=")
        given[kind].append(value)
    try:
        for folder in given["group"]:
            enter_group(folder)
        if given["user"]:
            expose(given["show"])
            become(int(given["user"][0]))
        os.execvp((given["program"] or command)[0], command)
    except OSError as e:
        os.write(2, f"sandbox: {e.strerror}: {e.filename or 'no such command'}\n".encode())
        os._exit(1)


def enter_group(folder: str) -> None:
    """Move this process into a cgroup. Errors: OSError."""
    with open(os.path.join(folder, "cgroup.procs"), "wb", buffering=0) as members:
        members.write(b"0")


def become(uid: int) -> None:
    """Become another user, and lose root's groups and capabilities. Errors: OSError."""
    os.setgroups([READERS])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def expose(paths: Iterable[str]) -> None:
    """Let every user reach these paths, in a new mount namespace. Errors: OSError.

    Files keep their permissions, and other files of covered folders disappear.
    """
    covers = {path: _first_closed_folder(path) for path in paths}
    covers = {path: folder for path, folder in covers.items() if folder}
    if not covers:
        return
    kernel.unshare(kernel.NEW_NAMESPACES["mount"])
    kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    opened = {path: os.open(path, os.O_PATH) for path in covers}
    os.umask(0o022)
    for folder in sorted(set(covers.values())):
        flags = kernel.MS_NOSUID | kernel.MS_NODEV
        kernel.mount("tmpfs", folder, "tmpfs", flags, _SIZE_OF_COVER)
    for path in sorted(covers):
        descriptor = opened[path]
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.makedirs(path, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            open(path, "ab").close()
        kernel.mount(f"/proc/self/fd/{descriptor}", path, flags=kernel.MS_BIND | kernel.MS_REC)
        os.close(descriptor)


def _first_closed_folder(path: str) -> str:
    """Return the uppermost folder above a path that other users may not enter, else ""."""
    folder = "/"
    for part in path.strip("/").split("/"):
        if not os.stat(folder).st_mode & stat.S_IXOTH:
            return folder
        folder = os.path.join(folder, part)
    return ""
