"""Tests of the server that `compilarium serve` starts, over real connections."""

from __future__ import annotations

import errno
import http.client
import os
import signal
import socket
import ssl
import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from app.config import Settings
from app.gunicorn_server import Server, Worker
from app.serve import address, completed, is_local, listen, require_protection, require_unix
from app.store.database import Database
from compiler.errors import CompileError
from tests.app.conftest import PATIENCE_S, until
from tests.app.server_process import JOB, SLEEPING_WORKER, Running, descendants_of, running

STOP_LIMIT_S = 30.0
TLS = Path(__file__).parent / "tls"
HEAD = "POST /api/v1/uploads HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with small limits, whose jobs sleep."""
    with running(
        tmp_path_factory.mktemp("server"),
        upload_limit_bytes=100_000,
        upload_limit_s=1.0,
        head_limit_s=1.0,
        heartbeat_s=0.2,
        worker_module=SLEEPING_WORKER,
    ) as found:
        yield found


def started(server: Running) -> str:
    """Return the id of a new job that sleeps."""
    status, job = server.ask(
        "POST", "/api/v1/jobs", {**JOB, "options": {"seed": time.time_ns() % 10**6}}
    )
    assert status == 202, job
    return job["id"]


@contextmanager
def followed(server: Running, job: str) -> Generator[http.client.HTTPResponse]:
    """Yield the open stream of a job's events, after the event of its first pass."""
    with closing(server.connect()) as connection:
        connection.request("GET", f"/api/v1/jobs/{job}/events")
        with connection.getresponse() as answer:
            assert answer.status == 200
            while (line := answer.readline()) != b"event: pass\n":
                assert line, "the stream ended"
            yield answer


def gone(processes: set[int]) -> bool:
    return not any(os.path.exists(f"/proc/{each}") for each in processes)


def received(connection: socket.socket) -> bytes:
    """Return all bytes until the server closes the connection."""
    answer = b""
    while chunk := connection.recv(65536):
        answer += chunk
    return answer


def test_it_answers_several_requests_on_one_connection(server: Running) -> None:
    connection = server.connect()
    for _ in range(3):
        connection.request("GET", "/api/v1/about")
        answer = connection.getresponse()
        assert answer.status == 200
        assert b'"upload_limit_bytes":100000' in answer.read()
        assert not answer.will_close
    connection.close()


def test_a_client_that_sends_too_much_still_reads_the_answer(server: Running) -> None:
    status, payload = server.ask("POST", "/api/v1/uploads?name=a", bytes(20_000_000))
    assert (status, payload["error"]["code"]) == (413, "E-UPLOAD-SIZE")


def test_an_upload_that_trickles_in_is_given_up(server: Running) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as connection:
        connection.sendall(HEAD.encode() + b"a")
        answer = received(connection)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"E-LIMIT-SECONDS" in answer


def test_an_upload_that_ends_early_is_refused(server: Running) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as connection:
        connection.sendall(HEAD.encode() + b"a")
        connection.shutdown(socket.SHUT_WR)
        answer = received(connection)
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"E-REQUEST-BODY" in answer


def test_slow_heads_and_silent_connections_do_not_occupy_the_threads(server: Running) -> None:
    slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(100)]
    for each in slow[:50]:
        each.sendall(b"GET / HTTP/1.1\r\nHost: ")
    assert server.ask("GET", "/api/v1/about")[0] == 200
    for each in slow[:50]:
        each.settimeout(PATIENCE_S)
        assert received(each) == b""
    for each in slow:
        each.close()


def test_events_arrive_while_the_job_runs(server: Running) -> None:
    job = started(server)
    with followed(server, job) as stream:
        assert server.ask("GET", f"/api/v1/jobs/{job}")[1]["state"] == "running"
        server.ask("DELETE", f"/api/v1/jobs/{job}")
        assert "event: cancelled" in stream.read().decode()


def test_the_server_answers_while_many_follow_one_job(server: Running) -> None:
    job = started(server)
    with ExitStack() as stack:
        followers = [stack.enter_context(followed(server, job)) for _ in range(8)]
        assert server.ask("GET", f"/api/v1/jobs/{job}")[1]["state"] == "running"
        server.ask("DELETE", f"/api/v1/jobs/{job}")
        for follower in followers:
            assert "event: cancelled" in follower.read().decode()


def test_the_command_says_its_address_once_and_ends_when_told(tmp_path: Path) -> None:
    with (
        running(tmp_path, worker_module=SLEEPING_WORKER) as server,
        socket.create_connection(("127.0.0.1", server.port)),  # a silent connection
        followed(server, started(server)) as stream,
    ):
        assert server.first_line.startswith("Compilarium is at http://127.0.0.1:")
        processes = descendants_of(server.process.pid)
        assert len(processes) >= 4  # the worker, the supervisor, the fork server, the job
        start = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        stream.read()  # the stream ends
        assert server.process.wait(timeout=PATIENCE_S) == 0
        assert time.monotonic() - start < STOP_LIMIT_S
        assert server.process.stdout.read() == ""
        assert server.log.read_text() == ""
    until(lambda: gone(processes))


def test_a_request_that_does_not_end_does_not_delay_the_stop(tmp_path: Path) -> None:
    with (
        running(tmp_path, stop_limit_s=2, worker_module=SLEEPING_WORKER) as server,
        socket.create_connection(("127.0.0.1", server.port)) as upload,
    ):
        upload.sendall(HEAD.encode() + b"a")
        until(lambda: server.ask("GET", "/readyz")[0] == 200)
        start = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(timeout=PATIENCE_S) == 0
        assert time.monotonic() - start < STOP_LIMIT_S


def test_control_c_ends_the_server(tmp_path: Path) -> None:
    with (
        running(tmp_path, worker_module=SLEEPING_WORKER) as server,
        followed(server, started(server)) as stream,
    ):
        os.killpg(server.process.pid, signal.SIGINT)  # as a terminal does
        stream.read()
        assert server.process.wait(timeout=STOP_LIMIT_S) == 0
        assert server.log.read_text() == ""


def test_a_killed_worker_is_replaced_and_its_processes_end(tmp_path: Path) -> None:
    with running(tmp_path, worker_module=SLEEPING_WORKER) as server:
        with followed(server, started(server)):
            worker = server.worker
            lost = descendants_of(worker)
            os.kill(worker, signal.SIGKILL)
        assert server.ask("GET", "/api/v1/about")[0] == 200
        assert server.worker != worker
        until(lambda: gone(lost))


def test_a_job_outlives_the_worker_and_runs_again_after_the_end_of_the_supervisor(
    tmp_path: Path,
) -> None:
    with running(tmp_path, worker_module=SLEEPING_WORKER, abandoned_after_s=600) as server:
        job = started(server)
        with followed(server, job):
            os.kill(server.worker, signal.SIGKILL)
        assert server.ask("GET", f"/api/v1/jobs/{job}")[1]["state"] == "running"
        killed = server.supervisor
        lost = descendants_of(killed)
        assert len(lost) >= 2  # the fork server, the job
        os.kill(killed, signal.SIGKILL)
        until(lambda: gone(lost))
        assert server.supervisor != killed
        with closing(server.connect()) as connection:
            connection.request("GET", f"/api/v1/jobs/{job}/events")
            answer = connection.getresponse()
            n_starts = 0
            while n_starts < 2:
                line = answer.readline()
                assert line, "the stream ended"
                n_starts += line == b"event: started\n"


def test_a_server_may_leave_its_jobs_to_supervisors_elsewhere(tmp_path: Path) -> None:
    with running(tmp_path, supervisor="outside") as server:
        status, found = server.ask("GET", "/readyz")
        problems = {each["name"] for each in found["checks"] if each["problem"]}
        assert (status, problems) == (503, {"queue"})


def test_the_worker_ends_with_a_killed_server(tmp_path: Path) -> None:
    with (
        running(tmp_path, worker_module=SLEEPING_WORKER) as server,
        followed(server, started(server)),
    ):
        lost = descendants_of(server.process.pid)
        server.process.kill()
        until(lambda: gone(lost))


def test_forwarding_headers_of_clients_have_no_effect(tmp_path: Path, server: Running) -> None:
    headers = {
        "X-Forwarded-Host": "evil.example",
        "X-Forwarded-Proto": "https",
        "Script-Name": "/x",
    }
    assert server.ask("GET", "/api/v1/about", headers=headers)[0] == 200
    with running(tmp_path, trusted_proxies=1) as behind_a_proxy:
        status, payload = behind_a_proxy.ask("GET", "/api/v1/about", headers=headers)
        assert (status, payload["error"]["code"]) == (403, "E-REQUEST-ORIGIN")


def test_a_server_with_a_certificate_answers_over_tls_only(tmp_path: Path) -> None:
    arguments = ["--certificate", str(TLS / "certificate.pem"), "--key", str(TLS / "key.pem")]
    with running(tmp_path, arguments) as server:
        assert server.first_line.startswith("Compilarium is at https://127.0.0.1:")
        trust = ssl.create_default_context(cafile=str(TLS / "certificate.pem"))
        secure = http.client.HTTPSConnection(
            "localhost", server.port, context=trust, timeout=PATIENCE_S
        )
        secure.request("GET", "/api/v1/about")
        answer = secure.getresponse()
        assert answer.status == 200
        assert "max-age" in answer.headers["Strict-Transport-Security"]
        secure.close()
        plain = server.connect()
        plain.request("GET", "/api/v1/about")
        with pytest.raises((http.client.HTTPException, OSError)):
            assert plain.getresponse().status == 200


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "a.example"])
def test_a_network_is_served_with_tls_or_by_explicit_choice_only(host: str) -> None:
    with pytest.raises(CompileError, match="without TLS") as caught:
        require_protection(Settings(host=host))
    assert caught.value.code == "E-OPTION-VALUE"
    assert "--insecure" in caught.value.hint
    require_protection(Settings(host=host, insecure=True))
    certificate, key = TLS / "certificate.pem", TLS / "key.pem"
    require_protection(Settings(host=host, certificate=certificate, key=key))
    with pytest.raises(CompileError, match="both a certificate and its key"):
        require_protection(Settings(host=host, certificate=certificate))
    with pytest.raises(CompileError, match="there is no file"):
        require_protection(Settings(host=host, certificate=certificate, key=TLS / "none.pem"))


def test_a_port_that_is_taken_is_a_clear_error(server: Running) -> None:
    with pytest.raises(CompileError) as caught:
        listen("127.0.0.1", server.port)
    assert caught.value.code == "E-OPTION-VALUE"
    assert "in use" in caught.value.message


def test_windows_is_refused_with_an_alternative() -> None:
    require_unix("linux")
    with pytest.raises(CompileError, match="Subsystem for Linux") as caught:
        require_unix("win32")
    assert caught.value.code == "E-SERVER-PLATFORM"


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("a.org", False)],
)
def test_a_local_server_trusts_its_own_names_only(host: str, local: bool) -> None:
    assert is_local(host) is local
    assert (completed(Settings(host=host)).trusted_hosts is not None) is local
    assert completed(Settings(host=host, trusted_hosts=("a",))).trusted_hosts == ("a",)


def test_addresses_can_be_opened() -> None:
    assert address("127.0.0.1", 80) == "http://127.0.0.1:80/"
    assert address("0.0.0.0", 80) == "http://127.0.0.1:80/"
    assert address("::1", 80) == "http://[::1]:80/"
    assert address("a.org", 443, is_secure=True) == "https://a.org:443/"


def test_the_server_has_room_for_four_uploads_of_the_maximum_size(make_app) -> None:
    assert completed(Settings()).uploads_kept_bytes == 2_000_000_000
    assert completed(Settings(upload_limit_bytes=3 * 10**9)).uploads_kept_bytes == 12 * 10**9
    page = make_app(upload_limit_bytes=500_000_000).test_client().get("/").get_data(as_text=True)
    assert "up to 500 MB; parsed" in page


def test_a_worker_without_a_free_descriptor_accepts_later_and_does_not_end() -> None:
    class Listener:
        def __init__(self, number: int) -> None:
            self.number = number

        def accept(self) -> None:
            raise OSError(self.number, os.strerror(self.number))

    worker = Worker.__new__(Worker)
    worker.accept(Listener(errno.EMFILE))
    with pytest.raises(OSError, match="Bad file"):
        worker.accept(Listener(errno.EBADF))


def test_only_the_first_worker_needs_the_database_to_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: Database) -> None:
        raise OperationalError("SELECT", {}, OSError("away"))

    monkeypatch.setattr(Database, "engine", property(away))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = Server(Settings(data_folder=tmp_path), listening, lambda: None)
        with pytest.raises(OperationalError):
            server.load()
        server.is_first = False
        assert server.load()
        server.stop()
