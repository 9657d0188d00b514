"""The web server: gunicorn with one worker process, whose threads answer requests.

gunicorn's parent process only listens, restarts a worker that died, and forwards signals. The
supervisor of jobs is a child of the parent, so it does not notice the end of a worker. The worker
creates the application after its fork: threads do not survive a fork, and a fork server belongs to
its creator. Compilations run in child processes, so threads suffice; an event stream occupies a
thread.
"""

from __future__ import annotations

import errno
import logging
import math
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from gunicorn import util
from gunicorn.app.base import BaseApplication
from gunicorn.glogging import Logger
from gunicorn.http import message
from gunicorn.workers import gthread
from sqlalchemy.exc import SQLAlchemyError

from app.config import Settings
from app.metrics.folder import allocate_counts, forget_worker

if TYPE_CHECKING:
    from flask import Flask

    from app.cleanup import Cleanup

log = logging.getLogger("compilarium.web")

SILENT_CONNECTION_S = 75
"""Time after which an idle connection is closed."""
_HANGING_S = 120
_MAX_CONNECTIONS = 1000
_FIRST_DATA_S = 0.05
_NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_NO_DESCRIPTOR_S = 0.1
_REFUSED_BODY_S = 60.0
_REFUSED_BODY_PAUSE_S = 2.0
# The URL of a report contains the state of the page, which exceeds gunicorn's limit of 8 KiB.
message.MAX_REQUEST_LINE = 64 * 1024
_DEFER = cast(Any, gthread)._DEFER


class Server(BaseApplication):
    """The application in the form that gunicorn requires."""

    def __init__(self, settings: Settings, listening: socket.socket, ready: Callable[[], None]):
        self.settings = settings
        self.listening = listening
        self.ready = ready
        self.after_fork: Callable[[], None] = lambda: None
        self.is_first = True
        """Whether this is the first worker; a later one replaces a worker that died."""
        self.flask: Flask | None = None
        self.cleanup: Cleanup | None = None
        self.parent = os.getpid()
        super().__init__()

    def load_config(self) -> None:
        """Set gunicorn's configuration; no file, variable or command line of gunicorn is read."""
        for name, value in self._configuration().items():
            self.cfg.set(name, value)

    def _configuration(self) -> dict[str, Any]:
        settings = self.settings
        return {
            "bind": f"fd://{self.listening.fileno()}",
            "workers": 1,
            "worker_class": Worker,
            "threads": settings.n_threads,
            "worker_connections": _MAX_CONNECTIONS + settings.n_threads,
            "timeout": _HANGING_S,
            "graceful_timeout": math.ceil(settings.stop_limit_s),
            "keepalive": SILENT_CONNECTION_S,
            "limit_request_line": message.MAX_REQUEST_LINE,
            "certfile": str(settings.certificate) if settings.certificate else None,
            "keyfile": str(settings.key) if settings.key else None,
            "logger_class": Log,
            "post_fork": _after_fork,
            "post_worker_init": _report,
            "child_exit": _forget,
            "control_socket_disable": True,
            # Headers of proxies have a meaning only to ProxyFix.
            "forwarded_allow_ips": "",
            "forwarder_headers": "",
            "secure_scheme_headers": {},
        }

    def load(self) -> Callable[..., Iterable[bytes]]:
        """Create the application, in the worker."""
        from app import create_app
        from app.cleanup import Cleanup

        allocate_counts()
        self.flask = create_app(self.settings)
        try:
            _ = self.flask.extensions["database"].engine  # migrates the tables before any request
            self.flask.extensions["jobs"].warm_up()
        except (SQLAlchemyError, OSError) as e:
            if self.is_first:  # the settings may be wrong
                raise
            log.warning("the database cannot be used yet: %s", e)
        self.cleanup = Cleanup(self.flask)
        self.cleanup.start()
        return whole_bodies(self.flask)

    def serve(self) -> None:
        """Serve until a signal ends the server. Errors: SystemExit if the server failed."""
        self.listening.detach()
        try:
            self.run()
        except SystemExit as end:
            if end.code:
                raise

    def stop(self) -> None:
        """End the event streams, and the child processes that check texts."""
        if self.cleanup is not None:
            self.cleanup.stop()
        if self.flask is not None:
            self.flask.extensions["jobs"].stop()
            self.flask.extensions["texts"].stop()


def _after_fork(_: Any, worker: Worker) -> None:
    worker.app.is_first = worker.age == 1
    worker.app.after_fork()


def _report(worker: Worker) -> None:
    if worker.app.is_first:
        worker.app.ready()


def _forget(_: Any, worker: Any) -> None:
    forget_worker(worker.pid)


def whole_bodies(wsgi: Callable[..., Iterable[bytes]]) -> Callable[..., Iterable[bytes]]:
    """Let the application notice a body that is shorter than its announced length.

    gunicorn declares that the input ends by itself, and Werkzeug then does not compare the lengths.
    """

    def checked(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if environ.get("CONTENT_LENGTH"):
            environ.pop("wsgi.input_terminated", None)
        return wsgi(environ, start_response)

    return checked


class Worker(gthread.ThreadWorker):
    """A worker that ends event streams when it stops, and cancels slow requests."""

    app: Any
    """The Server, which the base class declares without its methods."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.reading: dict[gthread.TConn, float] = {}
        self.stopping: threading.Thread | None = None

    def run(self) -> None:
        """Answer requests until a signal; then wait for the open requests."""
        try:
            super().run()
        finally:
            self._begin_stop()
            assert self.stopping is not None
            self.stopping.join(self.app.settings.stop_limit_s)

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Stop at SIGTERM."""
        self._begin_stop()
        super().handle_exit(sig, frame)

    def handle_quit(self, sig: int, frame: Any) -> None:
        """Stop at Ctrl+C and SIGQUIT in the same way."""
        self.handle_exit(sig, frame)

    def is_parent_alive(self) -> bool:
        """Stop if the parent process has died."""
        is_alive = super().is_parent_alive()
        if not is_alive:
            self.alive = False
            self._begin_stop()
        return is_alive

    def _begin_stop(self) -> None:
        if self.stopping is None:
            # In a thread, because the signal may have interrupted the owner of a lock.
            self.stopping = threading.Thread(target=self.app.stop, name="stop")
            self.stopping.start()

    def accept(self, listener: Any) -> None:
        """Accept a connection; without a free descriptor, leave it waiting for a moment."""
        try:
            super().accept(listener)
        except OSError as e:
            if e.errno not in _NO_DESCRIPTOR:
                raise
            time.sleep(_NO_DESCRIPTOR_S)

    def _cap_keepalive(self, deadline: float) -> None:
        """Let a stopping worker also close the connections that have sent nothing yet."""
        cast(Any, super())._cap_keepalive(deadline)
        for each in self.pending_conns:
            each.timeout = deadline if each.timeout is None else min(each.timeout, deadline)

    def murder_pending(self) -> None:
        """Cancel the requests whose heads have not arrived in time; called once a second."""
        super().murder_pending()
        late = time.monotonic() - self.app.settings.head_limit_s
        for connection in [c for c, start in list(self.reading.items()) if start < late]:
            with suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RD)

    def handle(self, conn: gthread.TConn) -> Any:
        """Handle a request, and close its connection in this thread, not in the main thread."""
        if not (conn.initialized or conn.data_ready or conn.wait_for_data(_FIRST_DATA_S)):
            return _DEFER  # a silent connection occupies no thread
        self.reading[conn] = time.monotonic()
        try:
            result = super().handle(conn)
        finally:
            self.reading.pop(conn, None)
        if not result:
            self._close(conn)
        return result

    def handle_request(self, req: Any, conn: gthread.TConn) -> bool:
        """Answer a request whose head has arrived."""
        self.reading.pop(conn, None)
        return super().handle_request(req, conn)

    def _close(self, conn: gthread.TConn) -> None:
        with suppress(OSError):
            _read_rest(conn.sock)
        util.close(conn.sock)
        conn.close = lambda graceful=False: None


def _read_rest(connection: socket.socket) -> None:
    """Read a refused body to its end, so that a browser receives the answer instead of a broken
    connection."""
    connection.shutdown(socket.SHUT_WR)
    connection.settimeout(_REFUSED_BODY_PAUSE_S)
    end_s = time.monotonic() + _REFUSED_BODY_S
    while time.monotonic() < end_s and connection.recv(64 * 1024):
        pass


class Log(Logger):
    """gunicorn's log of errors, in the format of our log; the faults of clients are no errors."""

    def setup(self, cfg: Any) -> None:
        """Pass errors to the handlers of logs.py."""
        self.error_log.propagate = True
        self.error_log.setLevel("ERROR")
        self.access_log.disabled = True
