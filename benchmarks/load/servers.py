"""The servers that a run starts: one machine, or two network namespaces that play two machines."""

from __future__ import annotations

import http.client
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.engine import make_url

REPOSITORY = Path(__file__).resolve().parents[2]
_READY_S = 180.0
_STOP_S = 60.0
_NETWORK = "10.203.77"
"""The private network of the namespaces; this machine has the address 254 in it."""
_HERE = f"{_NETWORK}.254"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Served:
    """A server under load. `roots` are the processes that the run has started; `token` opens its
    figures to other machines."""

    url: str
    roots: tuple[int, ...] = ()
    folder: Path | None = None
    token: str = ""


@dataclass(frozen=True, slots=True)
class Wish:
    """What server a run wants."""

    folder: Path
    n_workers: int = 2
    database_url: str = ""

    def variables(self, **more: object) -> dict[str, str]:
        """Return the environment of a server or supervisor with these settings."""
        settings = {"data_folder": self.folder / "data", "n_workers": self.n_workers, **more}
        named = {f"COMPILARIUM_{name.upper()}": str(value) for name, value in settings.items()}
        return {**os.environ, "PYTHONPATH": str(REPOSITORY), **named}


@contextmanager
def one_host(wish: Wish) -> Generator[Served]:
    """Run a server as `compilarium serve` does, until the block ends."""
    variables = wish.variables(database_url=wish.database_url)
    with _process(_serve(), variables, wish.folder / "server.log") as process:
        port = _port_of(process)
        _await_ready("127.0.0.1", port)
        yield Served(f"http://127.0.0.1:{port}", (process.pid,), wish.folder / "data")


@contextmanager
def two_hosts(wish: Wish) -> Generator[Served]:
    """Run a web server and two supervisors in two network namespaces, until the block ends.

    Errors: PermissionError for users who may not create namespaces.
    """
    token = secrets.token_urlsafe(16)
    url = reachable(wish.database_url)
    with _namespaces(2) as names, ExitStack() as stack:
        web = f"{_NETWORK}.1"
        variables = wish.variables(
            database_url=url, supervisor="outside", insecure="true", metrics_token=token, host=web
        )
        log = wish.folder / "server.log"
        command = [*_inside(names[0]), *_serve()]
        server = stack.enter_context(_process(command, variables, log))
        port = _port_of(server)  # the tables of the database exist from here on
        roots = [server.pid]
        for name in names:
            command = [*_inside(name), sys.executable, "-m", "compiler", "work"]
            variables = wish.variables(database_url=url)
            log = wish.folder / f"{name}.log"
            roots.append(stack.enter_context(_process(command, variables, log)).pid)
        _await_ready(web, port)
        yield Served(f"http://{web}:{port}", tuple(roots), wish.folder / "data", token)


def reachable(database_url: str) -> str:
    """Return the URL under which the namespaces reach a database of this machine.

    A database at a loopback address must also listen at the address of the private network. A
    socket in a folder is the same everywhere.
    """
    if not database_url:
        return ""
    url = make_url(database_url)
    if url.host in _LOOPBACK:
        url = url.set(host=_HERE)
    return url.render_as_string(hide_password=False)


def _serve() -> list[str]:
    return [sys.executable, "-m", "compiler", "serve", "--port", "0"]


def _inside(name: str) -> list[str]:
    """Return the beginning of a command that runs in a namespace, with the host name `name`."""
    named = f'hostname {name} && exec "$@"'
    return ["nsenter", f"--net=/run/netns/{name}", "unshare", "--uts", "sh", "-c", named, "sh"]


@contextmanager
def _process(
    command: Sequence[str], variables: Mapping[str, str], log: Path
) -> Generator[subprocess.Popen[str]]:
    """Run a process, and stop it in an orderly way."""
    with (
        log.open("a") as errors,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=REPOSITORY,
            env=dict(variables),
            text=True,
            start_new_session=True,
        ) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


def _port_of(process: subprocess.Popen[str]) -> int:
    """Return the port that a server reports. Errors: ValueError if it ends instead."""
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(r":(\d+)/", line)
    if found is None:
        raise ValueError(f"the server does not start: {line or 'see its log'}")
    return int(found[1])


def _await_ready(host: str, port: int) -> None:
    """Wait until all checks of a server succeed. Errors: TimeoutError, with the last answer."""
    end_s, last = time.monotonic() + _READY_S, "no answer"
    while time.monotonic() < end_s:
        connection = http.client.HTTPConnection(host, port, timeout=_READY_S)
        with suppress(OSError, http.client.HTTPException):
            connection.request("GET", "/readyz")
            answer = connection.getresponse()
            last = answer.read().decode("utf-8", "replace")
            if answer.status == 200:
                connection.close()
                return
        connection.close()
        time.sleep(0.5)
    raise TimeoutError(f"the server at {host} does not become ready: {last}")


@contextmanager
def _namespaces(n: int) -> Generator[list[str]]:
    """Create network namespaces that reach each other, and this machine, through a bridge."""
    mark = secrets.token_hex(2)
    bridge, names = f"load-{mark}", [f"load-{mark}-{i}" for i in range(1, n + 1)]
    try:
        _ip("link", "add", bridge, "type", "bridge")
        _ip("addr", "add", f"{_HERE}/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
        for i, name in enumerate(names, 1):
            inner = f"v{mark}-{i}"
            _ip("netns", "add", name)
            _ip("link", "add", name, "type", "veth", "peer", "name", inner, "netns", name)
            _ip("link", "set", name, "master", bridge, "up")
            _ip("-n", name, "addr", "add", f"{_NETWORK}.{i}/24", "dev", inner)
            _ip("-n", name, "link", "set", inner, "up")
            _ip("-n", name, "link", "set", "lo", "up")
        yield names
    finally:
        for name in names:
            _ip("netns", "del", name, is_needed=False)
        _ip("link", "del", bridge, is_needed=False)


def _ip(*arguments: str, is_needed: bool = True) -> None:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    if done.returncode and is_needed:
        raise PermissionError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
