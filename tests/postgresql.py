"""A private PostgreSQL server: its data are in a temporary folder, and it listens at no port.

`python -m tests.postgresql` ensures that PostgreSQL is installed, and fails if this is impossible.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]
_PROGRAMS = ("postgres", "initdb")
_ACCOUNTS = ("postgres", "nobody")
"""PostgreSQL refuses to run as root, and needs an account."""
_PATIENCE_S = 120.0
_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "200",
    "shared_buffers": "32MB",
    # The data need to survive the end of processes, not that of the machine.
    "fsync": "off",
    "full_page_writes": "off",
}


class Server:
    """A server with an empty cluster; it ends with the process that has started it."""

    def __init__(self) -> None:
        programs = find_programs()
        # The tests are never skipped, because the suite would then pass without PostgreSQL.
        assert programs is not None, "PostgreSQL is not installed: run `make postgresql`"
        self.programs = programs
        # Short, since the address of a socket has at most 107 bytes; other users may enter it.
        self.folder = Path(tempfile.mkdtemp(prefix="compilarium-pg-"))
        self._account = _account_of(self.folder) if os.geteuid() == 0 else []
        self.process: subprocess.Popen[bytes] | None = None
        try:
            self._create_cluster()
            self.start()
        except BaseException:
            self.remove()
            raise

    def _create_cluster(self) -> None:
        how = "--auth=trust --username=postgres --encoding=UTF8 --locale=C --no-sync".split()
        done = subprocess.run(
            [*self._program("initdb"), *how],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_S,
        )
        assert done.returncode == 0, done.stderr

    def start(self) -> None:
        """Start the server, and wait until it accepts connections."""
        settings = [f"--{name}={value}" for name, value in _SETTINGS.items()]
        with (self.folder / "log.txt").open("ab") as log:
            self.process = subprocess.Popen(
                [*self._program("postgres"), "-k", str(self.folder), *settings],
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )
        self.wait()

    def wait(self) -> None:
        """Wait until the server accepts connections."""
        assert self.process is not None
        end_s = time.monotonic() + _PATIENCE_S
        while not self._accepts():
            is_late = self.process.poll() is not None or time.monotonic() > end_s
            assert not is_late, (self.folder / "log.txt").read_text(errors="replace")[-2000:]
            time.sleep(0.02)

    def _program(self, name: str) -> list[str]:
        """Return the start of a command, which on Linux ends even if this process is killed."""
        command = [str(self.programs / name), "-D", str(self.folder / "data")]
        if sys.platform != "linux":
            return command
        return ["setpriv", "--pdeathsig=QUIT", *self._account, "--", *command]

    def _accepts(self) -> bool:
        import psycopg

        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End the server: SIGINT in an orderly way, SIGQUIT at once, so that it must recover."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(_PATIENCE_S)
            self.process = None

    def remove(self) -> None:
        """End the server, and remove its data."""
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, name: str) -> str:
        """Return the URL of a database, for SQLAlchemy."""
        return f"postgresql+psycopg://postgres@/{name}?host={self.folder}"

    def connect(self, name: str = "postgres") -> Any:
        """Open a connection of psycopg, in which each statement is a transaction."""
        import psycopg

        return psycopg.connect(
            host=str(self.folder), user="postgres", dbname=name, autocommit=True, connect_timeout=60
        )


def find_programs() -> Path | None:
    """Return the folder of the newest installed server, if there is one."""
    return next((each for each in _folders() if _has_programs(each)), None)


def _folders() -> Iterator[Path]:
    found = Path("/usr/lib/postgresql").glob("*/bin")  # Debian links only clients to /usr/bin
    yield from sorted(found, key=lambda path: int(re.sub(r"\D", "", path.parent.name) or 0))[::-1]
    if path := shutil.which("postgres"):
        yield Path(path).resolve().parent
    yield from (Path("/usr/local/bin"), Path("/usr/local/pgsql/bin"))


def _has_programs(folder: Path) -> bool:
    return all(os.access(folder / name, os.X_OK) for name in _PROGRAMS)


def _account_of(folder: Path) -> list[str]:
    """Give a folder to an account; return the options of `setpriv` for this account."""
    for name in _ACCOUNTS:
        with suppress(KeyError):
            account = pwd.getpwnam(name)
            os.chown(folder, account.pw_uid, account.pw_gid)
            return [f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
    raise AssertionError(f"none of the accounts {', '.join(_ACCOUNTS)} exists")


def _ensure() -> int:
    if find_programs():
        return 0
    script = REPOSITORY / "setup" / "system_package.sh"
    words = "the tests of the database start its server"
    done = subprocess.run(["sh", str(script), "postgresql", words])
    if find_programs():
        return 0
    if done.returncode == 0:
        print("postgresql is installed, and its programs are not found", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(_ensure())
