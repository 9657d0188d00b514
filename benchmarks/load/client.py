"""A browser as the server sees it: few connections that stay open, a cookie, and a cache.

Written on asyncio's streams, because the client must take little time from the server beside it.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

import brotli

from benchmarks.load.tally import NO_ANSWER, Kind, Request, Tally

CONNECTIONS = 6
"""Connections of a browser to a server."""
_LIMIT_S = 90.0
_HEAD_BYTES = 256 * 1024
_ACCEPTED = "gzip, deflate, br"
_NO_BODY = (204, 304)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of the server; `status` is 0 without one."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_good(self) -> bool:
        """Whether the request has succeeded."""
        return 200 <= self.status < 300

    def content(self) -> bytes:
        """Return the decompressed body. Errors: those of the decompression."""
        encoding = self.headers.get("content-encoding", "")
        if encoding == "br":
            return brotli.decompress(self.body)
        return gzip.decompress(self.body) if encoding == "gzip" else self.body

    def payload(self) -> Any:
        """Return the content as JSON. Errors: ValueError."""
        return json.loads(self.content())

    def code(self) -> str:
        """Return the code of the problem that an error answer describes."""
        try:
            found = self.payload()
            return str(found["error"]["code"])
        except Exception:  # not an answer of the application
            return "without a code"


_NOTHING = Answer(NO_ANSWER, {}, b"")


class Closed(ConnectionError):
    """The server has closed the connection before its answer began."""


@dataclass(frozen=True, slots=True)
class Event:
    """A server-sent event."""

    id: str
    name: str
    data: Any


@dataclass(eq=False)
class _Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def head(self) -> tuple[int, dict[str, str]]:
        try:
            raw = await self.reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as e:
            if e.partial:
                raise
            raise Closed("the server closed the connection") from None
        first, *lines = raw.decode("latin-1").split("\r\n")
        headers: dict[str, str] = {}
        for line in filter(None, lines):
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        return int(first.split(" ", 2)[1]), headers

    async def pieces(self, status: int, headers: Mapping[str, str]) -> AsyncIterator[bytes]:
        """Yield the body."""
        if status in _NO_BODY:
            return
        if headers.get("transfer-encoding", "") == "chunked":
            while n := int((await self.reader.readuntil(b"\r\n")).split(b";")[0], 16):
                yield (await self.reader.readexactly(n + 2))[:-2]
            await self.reader.readuntil(b"\r\n")
        elif "content-length" in headers:
            if n := int(headers["content-length"]):
                yield await self.reader.readexactly(n)
        else:
            while piece := await self.reader.read(65536):
                yield piece

    def stays_open(self, headers: Mapping[str, str]) -> bool:
        has_end = "content-length" in headers or "transfer-encoding" in headers
        return has_end and headers.get("connection", "").lower() != "close"

    def close(self) -> None:
        self.writer.close()


@dataclass(eq=False)
class Browser:
    """The connections, cookie and cache of one student. All requests go to the tally.

    Units: `start_s` is the begin of the run on the monotonic clock.
    """

    url: str
    tally: Tally
    start_s: float
    cookies: dict[str, str] = field(default_factory=dict[str, str])
    etags: dict[str, str] = field(default_factory=dict[str, str])
    """The cached files and answers, by path."""
    _idle: list[_Connection] = field(default_factory=list[_Connection])

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        self.host, self.is_secure = parts.hostname or "127.0.0.1", parts.scheme == "https"
        self.port = parts.port or (443 if self.is_secure else 80)
        self.authority = parts.netloc
        self._places = asyncio.Semaphore(CONNECTIONS)

    async def get(self, path: str, kind: Kind = "api", *, again: bool = False) -> Answer:
        """Request a page, file or answer.

        What the server has declared immutable is not requested again, except for `again`: then
        the browser asks whether its copy is still valid.
        """
        known = self.etags.get(path)
        if known is not None and not again:
            return Answer(304, {}, b"")
        return await self.ask("GET", path, kind, headers={"If-None-Match": known} if known else {})

    async def post(self, path: str, payload: Any) -> Answer:
        """Send JSON."""
        sent = json.dumps(payload).encode()
        headers = {"Content-Type": "application/json"}
        return await self.ask("POST", path, "change", sent, headers)

    async def ask(
        self,
        method: str,
        path: str,
        kind: Kind,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send a request and await the whole answer. No error is raised: see the tally."""
        async with self._places:
            begin = monotonic()
            code, answer = "", _NOTHING
            try:
                async with asyncio.timeout(_LIMIT_S):
                    answer = await self._exchange(method, path, body, headers or {})
            except (OSError, ValueError, asyncio.IncompleteReadError, TimeoutError) as e:
                code = type(e).__name__
            end = monotonic()
        if answer.status >= 400:
            code = answer.code()
        facts = (kind, method, path, begin - self.start_s, end - begin)
        self.tally.requests.append(Request(*facts, answer.status, code, len(answer.body)))
        self._learn(path, answer)
        return answer

    async def _exchange(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str]
    ) -> Answer:
        while True:
            connection, is_new = await self._connection()
            try:
                status, found = await self._begin(connection, method, path, body, headers)
            except (Closed, ConnectionResetError, BrokenPipeError):
                connection.close()
                if is_new:
                    raise
                continue  # browsers repeat a request if an idle connection was closed
            except BaseException:
                connection.close()
                raise
            break
        try:
            whole = b"".join([piece async for piece in connection.pieces(status, found)])
        except BaseException:
            connection.close()
            raise
        if status in _NO_BODY or connection.stays_open(found):
            self._idle.append(connection)
        else:
            connection.close()
        return Answer(status, found, whole)

    async def _begin(
        self,
        connection: _Connection,
        method: str,
        path: str,
        body: bytes,
        headers: Mapping[str, str],
    ) -> tuple[int, dict[str, str]]:
        """Send a request, and return the status and the headers of the answer."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.authority}", "Connection: keep-alive"]
        lines += [f"Accept-Encoding: {_ACCEPTED}", "Sec-Fetch-Site: same-origin"]
        if self.cookies:
            lines.append("Cookie: " + "; ".join(f"{k}={v}" for k, v in self.cookies.items()))
        if body or method == "POST":
            lines.append(f"Content-Length: {len(body)}")
        lines += [f"{name}: {value}" for name, value in headers.items()]
        connection.writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        await connection.writer.drain()
        return await connection.head()

    async def _connection(self) -> tuple[_Connection, bool]:
        """Return an idle connection, or a new one."""
        while self._idle:
            connection = self._idle.pop()
            if not connection.reader.at_eof():
                return connection, False
            connection.close()
        opened = await asyncio.open_connection(
            self.host, self.port, ssl=self.is_secure or None, limit=_HEAD_BYTES
        )
        return _Connection(*opened), True

    def _learn(self, path: str, answer: Answer) -> None:
        headers = answer.headers
        if cookie := headers.get("set-cookie"):
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        is_kept = "immutable" in headers.get("cache-control", "")
        if answer.status == 200 and is_kept and "etag" in headers:
            self.etags[path] = headers["etag"]

    async def events(self, path: str, after: str = "") -> AsyncGenerator[Event]:
        """Follow an event stream to its end, or until the generator is closed."""
        begin = monotonic()
        status, code, n_bytes = NO_ANSWER, "", 0
        connection: _Connection | None = None
        asked = {"Accept": "text/event-stream", **({"Last-Event-ID": after} if after else {})}
        begun_s = 0.0
        try:
            async with asyncio.timeout(_LIMIT_S):
                connection, _ = await self._connection()
                status, headers = await self._begin(connection, "GET", path, b"", asked)
            begun_s = monotonic() - begin
            rest = b""
            async for piece in connection.pieces(status, headers):
                n_bytes += len(piece)
                *blocks, rest = (rest + piece).split(b"\n\n")
                if status == 200:
                    for block in blocks:
                        if event := _event(block):
                            yield event
            if status >= 400:
                code = Answer(status, headers, rest).code()
        except (OSError, ValueError, asyncio.IncompleteReadError, TimeoutError) as e:
            # The stream broke off, which the page notices and repairs, but which must not happen.
            status, code = NO_ANSWER, type(e).__name__
        finally:
            if connection is not None:
                connection.close()
            facts = ("stream", "GET", path, begin - self.start_s, begun_s or monotonic() - begin)
            self.tally.requests.append(Request(*facts, status, code, n_bytes))

    async def close(self) -> None:
        """Close the connections."""
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
            with suppress(OSError):
                await connection.writer.wait_closed()


def _event(block: bytes) -> Event | None:
    """Parse an event; None for a comment."""
    fields = dict(
        line.split(": ", 1) for line in block.decode().split("\n") if not line.startswith(":")
        and ": " in line
    )  # fmt: skip
    if "event" not in fields:
        return None
    return Event(fields.get("id", ""), fields["event"], json.loads(fields.get("data", "null")))
