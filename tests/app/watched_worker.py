"""The child processes of real jobs, which fail when they change a file in a place of the server.

The environment names the folder that children only read, and a file for the list of the places that
they open.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from app.jobs.fork_server_process import serve
from app.jobs.kinds import WORKS, warm_up
from app.jobs.machine_facts import load_facts

FOLDER, OPENED = "WATCHED_FOLDER", "WATCHED_LIST"
_CHANGES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_PATHS = {
    "os.mkdir": 1,
    "os.rename": 2,
    "os.remove": 1,
    "os.rmdir": 1,
    "os.link": 2,
    "os.symlink": 2,
    "os.truncate": 1,
    "os.chmod": 1,
    "os.chown": 1,
    "os.utime": 1,
    "shutil.rmtree": 1,
}
"""Events of changes, with the number of their arguments that are paths."""


class Watch:
    """An audit hook that refuses changes in a folder, and notes each file that is opened."""

    def __init__(self) -> None:
        self.server = os.getpid()
        self.folder = os.path.realpath(os.environ[FOLDER])
        self.opened = os.open(os.environ[OPENED], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.is_idle = True

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        """Note or refuse an event of a child."""
        if not self.is_idle or os.getpid() == self.server:
            return
        self.is_idle = False
        try:
            if event == "open":
                self.open(args[0], isinstance(args[2], int) and bool(args[2] & _CHANGES))
            elif event == "sqlite3.connect":
                path, _, how = str(args[0]).removeprefix("file:").partition("?")
                self.open(path, "mode=ro" not in how)
            else:
                for path in args[: _PATHS.get(event, 0)]:
                    self.open(path, True)
        finally:
            self.is_idle = True

    def open(self, path: Any, is_change: bool) -> None:
        """Note a path; refuse a change in the watched folder.

        A relative path names an entry of an open folder, which was noted before.
        """
        if isinstance(path, int) or not os.path.isabs(path):
            return
        real = os.path.realpath(os.fsdecode(path))
        os.write(self.opened, f"{'change' if is_change else 'read'} {real}\n".encode())
        if is_change and real.startswith(self.folder + os.sep):
            os.write(2, f"a child changes {real}\n".encode())
            os._exit(99)


if __name__ == "__main__":
    warm_up()
    sys.addaudithook(Watch())
    serve(WORKS, load_facts)
