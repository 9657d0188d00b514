"""The launcher of a new process: seals itself inside the sandbox, then runs the command.

    python -c CODE STATUS LANDLOCK RESOURCE:SOFT:HARD... -- COMMAND...

It writes `READY` to the descriptor STATUS when the sandbox is complete.
"""

from __future__ import annotations

import os
import sys

from sandbox.kernel import restore_signals
from sandbox.seal import close_others, seal

CODE = "import sys; sys.path[:0] = ['/']; from sandbox.inside import main; main()"
"""The program of the launcher. The package is at the root of the sandbox."""

READY = b"ready"
_IGNORED_BY_PYTHON = (13, 25)
"""SIGPIPE and SIGXFSZ; importing the module signal takes a millisecond."""

NOT_FOUND = 127
"""The exit code of a command that cannot be executed, as in a shell."""


def main() -> None:
    """Seal this process and replace it by the command."""
    end = sys.argv.index("--")
    status, landlock_version, *limits = sys.argv[1:end]
    command = sys.argv[end + 1 :]
    numbers = [tuple(int(part) for part in text.split(":")) for text in limits]
    channel = int(status)
    os.set_inheritable(channel, False)
    close_others((0, 1, 2, channel))
    seal({which: (soft, hard) for which, soft, hard in numbers}, int(landlock_version), b"")
    restore_signals(_IGNORED_BY_PYTHON)
    os.write(channel, READY)
    try:
        os.execvp(command[0], command)
    except OSError as e:
        os.write(2, f"{command[0]}: {e.strerror}\n".encode())
        os._exit(NOT_FOUND)
