"""Tests of the messages of children: hostile lines and bodies are refused, and parts are stored."""

from __future__ import annotations

import errno
import gzip
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from app.jobs import frames, result_store
from app.jobs.frames import Frames, frame
from app.jobs.parts import PART_LIMIT_BYTES, Parts, decompress, packed
from app.jobs.result_store import Incoming, ResultStore
from app.store.jobs.record import Event
from compiler.errors import CompileError
from tests.app.conftest import MakeApp, events_told, jobs_of, submit, until, wait, wait_until

LIMIT = 10_000
PAYLOAD = {"version": 1, "text": "ü" * 3000}
BODY = packed("a", PAYLOAD)


class Reader:
    """The messages of a child, as the server reads and stores them."""

    def __init__(self, folder: Path, files: tuple[str, ...] = ()) -> None:
        self.store = ResultStore(folder, LIMIT, files)
        self.events: list[tuple[str, Any]] = []
        self.frames = Frames(self.line)

    def line(self, event: str, data: dict[str, Any]) -> Incoming | None:
        if event in frames.WITH_BODY:
            return self.store.receive(event, data)
        self.events.append((event, data))
        return None


def announced(name: Any, n_bytes: Any, event: str = "part", **more: Any) -> bytes:
    return frame(event, {"name": name, "bytes": n_bytes, **more})


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.rglob("*") if p.is_file())


@pytest.mark.parametrize("size", [1, 7, 100, 1_000_000])
def test_bytes_in_pieces_of_any_size_give_the_same_results(tmp_path: Path, size: int) -> None:
    reader = Reader(tmp_path, ("out-*.npy",))
    empty = announced("out-1.npy", 0, "file")
    sent = frame("phase", {"n": 1}) + announced("a", len(BODY)) + BODY + empty
    sent += announced("out-0.npy", 3, "file") + b"\n{}" + frame("ready", {"n": 2})
    for at in range(0, len(sent), size):
        reader.frames.take(sent[at : at + size])
    assert reader.events == [("phase", {"n": 1}), ("ready", {"n": 2})]
    assert Parts(tmp_path).read("a") == PAYLOAD
    assert names(tmp_path) == ["a.json.gz", "out-0.npy", "out-1.npy"]
    assert (tmp_path / "out-0.npy").read_bytes() == b"\n{}"
    reader.store.sync()


def test_a_part_is_stored_before_the_event_that_follows(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    stored: list[bool] = []

    def line(event: str, data: dict[str, Any]) -> Incoming | None:
        stored.append(Parts(tmp_path).has("a"))
        return reader.line(event, data)

    Frames(line).take(announced("a", len(BODY)) + BODY + frame("ready", {}))
    assert stored == [False, True]


def test_a_later_part_replaces_an_earlier_one_and_counts_once(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    for number in range(3):
        reader.frames.take(announced("a", LIMIT - number) + bytes(LIMIT - number))
    assert reader.store.n_stored == LIMIT - 2
    assert names(tmp_path) == ["a.json.gz"]
    again = (announced("a", LIMIT) + bytes(LIMIT)) * result_store.REWRITES
    with pytest.raises(CompileError, match="10 kB"):
        reader.frames.take(again)


@pytest.mark.parametrize(
    "line",
    [
        announced("a", -1),
        announced("a", True),
        announced("a", 1.0),
        announced("a", "1"),
        announced("a", None),
        announced("", 1),
        announced("A", 1),
        announced("a\n", 1),
        announced("a/b", 1),
        announced("..", 1),
        announced(["a"], 1),
        announced("a" * 101, 1),
        announced("a", 1, more=1),
        frame("part", {"name": "a"}),
        announced("job.json", 1, "file"),
        announced("out-0.npy\n", 1, "file"),
        announced("out-٣.npy", 1, "file"),
        announced("xout-0.npy", 1, "file"),
        announced("../out-0.npy", 1, "file"),
        b'{"event": "part"}\n',
        b'{"event": 1, "data": {}}\n',
        b'{"event": "x", "data": []}\n',
        b'{"event": "x", "data": {"n": NaN}}\n',
        b"[]\n",
        b"\n",
        b"\xff\xfe\n",
        b"[" * 100_000 + b"\n",
        BODY,
    ],
)
def test_a_wrong_line_is_refused_and_stores_nothing(tmp_path: Path, line: bytes) -> None:
    with pytest.raises(CompileError) as caught:
        Reader(tmp_path, ("out-*.npy",)).frames.take(line + b"\n")
    assert caught.value.code == "E-LIMIT-CRASH"
    assert "invalid message" in caught.value.message
    assert names(tmp_path) == []


def test_sizes_and_numbers_have_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_store, "MOST_FILES", 3)
    reader = Reader(tmp_path)
    for sent in (announced("a", LIMIT + 1), announced("a", PART_LIMIT_BYTES + 1)):
        with pytest.raises(CompileError) as caught:
            Reader(tmp_path / "other").frames.take(sent)
        assert caught.value.code == "E-LIMIT-OUTPUT"
    for number in range(3):
        reader.frames.take(announced(f"part-{number}", 1) + b"x")
    with pytest.raises(CompileError, match="limit") as caught:
        reader.frames.take(announced("part-3", 1) + b"x")
    assert caught.value.code == "E-LIMIT-OUTPUT"
    assert len(names(tmp_path)) == 3


def test_lines_have_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "LINE_LIMIT_BYTES", 1000)
    monkeypatch.setattr(frames, "LINES_LIMIT_BYTES", 3000)
    with pytest.raises(CompileError, match="limit"):
        Reader(tmp_path).frames.take(b"x" * 1001)
    reader = Reader(tmp_path)
    with pytest.raises(CompileError, match="limit"):
        reader.frames.take(frame("phase", {"text": "x" * 900}) * 4)
    assert len(reader.events) == 3


def test_an_incomplete_part_is_removed(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    reader.frames.take(announced("a", len(BODY)) + BODY + announced("a", 10) + b"12345")
    reader.store.close()
    assert names(tmp_path) == ["a.json.gz"]
    assert Parts(tmp_path).read("a") == PAYLOAD


def test_a_part_that_grows_beyond_all_measure_is_not_read() -> None:
    bomb = packed("a", {"zeros": "0" * (PART_LIMIT_BYTES - 100)})
    assert len(decompress(bomb)) < PART_LIMIT_BYTES
    for data in (BODY[:-1], b"", b"no gzip", bomb[:100]):
        with pytest.raises(CompileError, match="damaged"):
            decompress(data)


@pytest.mark.parametrize("text", [b"[" * 100_000, b"{", b"\xff"])
def test_a_part_that_is_no_json_is_damaged(tmp_path: Path, text: bytes) -> None:
    body = gzip.compress(text)
    Reader(tmp_path).frames.take(announced("a", len(body)) + body)
    with pytest.raises(CompileError) as caught:
        Parts(tmp_path).read("a")
    assert caught.value.code == "E-RESULT-ABSENT"


HOSTILE = [
    "say_no_number", "say_infinity", "say_deeply", "say_the_end", "say_other_fields", "say_a_list",
    "fail_oddly", "part_of_negative_size", "part_of_true_size", "part_of_no_size",
    "part_of_endless_size", "part_elsewhere", "part_of_a_long_name", "file_of_another_kind",
    "part_with_other_fields",
]  # fmt: skip


@pytest.mark.parametrize(
    ("trouble", "code"),
    [
        *((name, "E-LIMIT-CRASH") for name in HOSTILE),
        ("part_of_huge_size", "E-LIMIT-OUTPUT"),
        ("never_end_a_line", "E-LIMIT-OUTPUT"),
    ],
)
def test_a_hostile_child_fails_its_job_alone(client: FlaskClient, trouble: str, code: str) -> None:
    job = wait(client, submit(client, trouble)["id"])
    assert (job["state"], job["error"]["code"]) == ("failed", code), job["error"]
    assert job["n_stages"] == 3
    folder = jobs_of(client).peek(job["id"]).folder
    assert not list(folder.rglob("*.partial"))
    assert {p.name for p in folder.iterdir()} == {"parts"}
    assert len(client.get(f"/api/v1/jobs/{job['id']}/result").get_json()["stages"]) == 3
    assert wait(client, submit(client)["id"])["state"] == "succeeded"


def test_a_child_that_ends_within_a_part_leaves_no_part(client: FlaskClient) -> None:
    job = wait(client, submit(client, "end_within_a_part")["id"])
    assert (job["state"], job["error"]["code"]) == ("failed", "E-LIMIT-CRASH")
    assert "half" not in str(names(jobs_of(client).find(job["id"]).folder))


def test_a_line_within_a_part_belongs_to_the_part(client: FlaskClient) -> None:
    job = submit(client, "write_parts_in_turns")
    wait_until(client, job["id"], lambda found: found["state"] == "running")
    parts = jobs_of(client).find(job["id"]).folder / "parts"
    until((parts / "outer.json.gz").exists)
    assert b"inner" in (parts / "outer.json.gz").read_bytes()
    assert not (parts / "inner.json.gz").exists()
    client.delete(f"/api/v1/jobs/{job['id']}")


def test_parts_can_be_read_while_the_job_runs(client: FlaskClient) -> None:
    job = jobs_of(client).find(submit(client, "wait_after_a_part")["id"])
    seen = 0
    events: Sequence[Event] = ()
    while not any(e.name == "ready" for e in events):
        events, is_over = jobs_of(client).events_after(job, seen, 150.0)
        assert not is_over
        for event in events:
            # The event of a stage comes after the parts of the stage.
            if event.name in ("imported", "pass"):
                stage = event.data["stage"]
                answer = client.get(f"/api/v1/jobs/{job.id}/stages/{stage}/text")
                assert answer.status_code == 200
        seen += len(events)
    job = jobs_of(client).find(job.id)
    assert Parts(job.folder).read("extra") == {"seen": True}
    assert job.state == "running"
    client.delete(f"/api/v1/jobs/{job.id}")


def test_much_other_output_of_a_child_does_not_fail_it(client: FlaskClient) -> None:
    job = wait(client, submit(client, "log_much")["id"])
    assert job["state"] == "succeeded", job["error"]
    (log,) = (jobs_of(client).folder.parent / "logs").glob("child-*.txt")
    assert 0 < log.stat().st_size <= 64 * 1024
    assert log.read_text().endswith("a library complains\n")


class FullDisk:
    """A disk that has room for a number of complete parts."""

    def __init__(self, n_parts: int) -> None:
        self.n_parts = n_parts

    def write(self, incoming: Incoming, piece: memoryview) -> None:
        if self.n_parts <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        incoming.n_left -= len(piece)
        incoming.file.write(piece)
        self.n_parts -= incoming.n_left == 0


def test_a_full_disk_fails_the_job_and_keeps_the_parts_before(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make_app().test_client()
    disk = FullDisk(5)  # the parts of the imported graph
    with monkeypatch.context() as patch:
        patch.setattr(Incoming, "write", lambda *given: disk.write(*given))
        job = wait(client, submit(client)["id"])
    assert (job["state"], job["error"]["code"]) == ("failed", "E-UPLOAD-DISK")
    assert job["error"]["message"] == "the server's disk is full"
    folder = jobs_of(client).peek(job["id"]).folder
    assert len(names(folder / "parts")) == 5
    result = client.get(f"/api/v1/jobs/{job['id']}/result").get_json()
    assert [s["name"] for s in result["stages"]] == ["imported"]
    assert client.get(f"/api/v1/jobs/{job['id']}/stages/0/text").status_code == 200
    assert wait(client, submit(client)["id"])["state"] == "succeeded"


def test_a_disk_that_is_full_at_the_end_fails_the_job(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make_app().test_client()
    with monkeypatch.context() as patch:
        patch.setattr("app.jobs.result_store.finish_sync", _full)
        job = wait(client, submit(client)["id"])
    assert (job["state"], job["error"]["code"]) == ("failed", "E-UPLOAD-DISK")
    assert wait(client, submit(client)["id"])["state"] == "succeeded"


def test_a_disk_that_is_full_for_events_delays_them(
    make_app: MakeApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = make_app().test_client()
    with monkeypatch.context() as patch:
        patch.setattr("app.store.jobs.leases.record", _full)
        job = wait(client, submit(client)["id"])
    assert job["state"] == "succeeded"
    names_told = [event.name for event in events_told(client, job["id"])]
    assert names_told == [
        "queued", "started", "phase", "imported", "pass", "pass", "finished",
    ]  # fmt: skip


def _full(*_: object) -> None:
    raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))
