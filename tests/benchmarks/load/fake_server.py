"""A server that answers the requests of students, with faults that are known in advance."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from benchmarks.load.tally import Request

PAGE = """<link rel="icon" href="/static/dist/icon.svg?v=1">
<script type="module" src="/static/dist/main.js?v=1"></script>
<body data-worker="/static/dist/worker.js?v=1" data-reader="/static/dist/reader.js?v=1">"""
SCRIPTS = {
    "main.js": 'import{a}from"./chunks/common.js";b(()=>import("./chunks/walk.js"));',
    "walk.js": 'import{a}from"./common.js";',
}
STAGE = {"n_nodes": 3, "changed": True}
KERNEL = {"kernel": 0, "native": True, "parts": ["computation", "loops", "llvm", "asm"]}
EVENTS: tuple[tuple[str, Any], ...] = (
    ("queued", {"position": 1, "wait_s": None}),
    ("started", {}),
    ("imported", {"stage": 0}),
    ("phase", {"phase": "code"}),
    ("ready", {"part": "code"}),
)
RESULT = {
    "stages": [{"stage": i, "graph_stage": i, **STAGE} for i in range(3)],
    "kernels": [KERNEL],
}


@dataclass(frozen=True, slots=True)
class Fault:
    """Every `every`-th request of a route is answered with `status`; 0 closes the connection."""

    every: int
    status: int
    code: str = ""


@dataclass
class Fake:
    """The faults of a server by method and route, and what it has answered."""

    faults: Mapping[str, Fault] = field(default_factory=dict[str, Fault])
    delay_s: float = 0.0
    """The time that each answer takes."""
    outcome: str = "finished"
    """The terminal event of all jobs."""
    state: str = "running"
    """The state of all jobs."""
    port: int = 0
    seen: Counter[str] = field(default_factory=Counter[str])
    answered: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])
    cookies: set[str] = field(default_factory=set[str])
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def fault(self, route: str) -> Fault | None:
        """Count a request, and return the fault that it shall meet."""
        with self.lock:
            self.seen[route] += 1
            fault = self.faults.get(route)
            return fault if fault and self.seen[route] % fault.every == 0 else None


@contextmanager
def running(fake: Fake) -> Generator[Fake]:
    """Run a server until the block ends."""

    class Bound(Handler):
        of = fake

    with ThreadingHTTPServer(("127.0.0.1", 0), Bound) as server:
        server.daemon_threads = True
        fake.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield fake
        finally:
            server.shutdown()
            thread.join()


class Handler(BaseHTTPRequestHandler):
    """The answers of the server."""

    protocol_version = "HTTP/1.1"
    of: Fake

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def do_DELETE(self) -> None:
        self._answer()

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _answer(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        kind = "static" if self.path.startswith("/static/") else "api"
        route = Request(kind, self.command, self.path, 0, 0, 0).route
        self.route = f"{self.command} {route}"
        time.sleep(self.of.delay_s)
        self.of.cookies.add(self.headers.get("Cookie", ""))
        fault = self.of.fault(self.route)
        if fault is None:
            self._good()
        elif not fault.status:
            self._count(0)
            self.close_connection = True
        else:
            self._send(fault.status, {"error": {"code": fault.code}})

    def _good(self) -> None:
        path = self.path.partition("?")[0]
        name = path.rpartition("/")[2]
        if path == "/" or path.startswith("/s/"):
            is_known = "session=" in self.headers.get("Cookie", "")
            cookie = (
                {} if is_known else {"Set-Cookie": f"session={self.of.seen[self.route]}; Path=/"}
            )
            self._send(200, PAGE, cookie)
        elif path.startswith("/static/"):
            self._static(name)
        elif name == "events":
            self._stream()
        elif path == "/api/v1/uploads":
            self._send(201, {"id": hashlib.sha256(self.body).hexdigest()})
        elif path == "/api/v1/links":
            self._send(201, {"path": "/s/abcdef"})
        elif name == "result":
            self._send(200, RESULT)
        elif self.command == "POST":
            self._send(202, {"id": "20260101-0123456789abcdef0123"})
        else:
            self._send(200, {"state": self.of.state, "error": None})

    def _static(self, name: str) -> None:
        headers = {"ETag": f'"{name}"', "Cache-Control": "public, immutable"}
        is_valid = self.headers.get("If-None-Match") == headers["ETag"]
        self._send(304 if is_valid else 200, SCRIPTS.get(name, ""), headers)

    def _stream(self) -> None:
        events = [*EVENTS, (self.of.outcome, {"error": {"code": "E-LIMIT-CRASH"}})]
        self._count(200)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for number, (name, data) in enumerate(events, 1):
                text = f"id: {number}\nevent: {name}\ndata: {json.dumps(data)}\n\n".encode()
                self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
            self.wfile.write(b"0\r\n\r\n")
        except OSError:  # a student has reloaded the page
            self.close_connection = True

    def _send(self, status: int, content: Any, headers: Mapping[str, str] | None = None) -> None:
        body = content.encode() if isinstance(content, str) else json.dumps(content).encode()
        self._count(status)
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if status != 304:
            self.wfile.write(body)

    def _count(self, status: int) -> None:
        with self.of.lock:
            self.of.answered[self.route, status] += 1
