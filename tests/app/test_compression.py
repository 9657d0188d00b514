"""Tests of the compression of answers."""

from __future__ import annotations

import gzip

import brotli
import pytest

from app import compression
from tests.app.conftest import jobs_of, submit

PATH = "/api/v1/operators"


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [("gzip, deflate, br, zstd", "br"), ("gzip, zstd", "zstd"), ("gzip", "gzip"), ("", None)],
)
def test_answers_are_compressed_as_the_client_accepts(client, accepted, encoding) -> None:
    answer = client.get(PATH, headers={"Accept-Encoding": accepted})
    assert answer.headers.get("Content-Encoding") == encoding
    assert "Accept-Encoding" in answer.headers["Vary"]
    plain = client.get(PATH).data
    if encoding:
        assert len(answer.data) < len(plain) / 2
        assert int(answer.headers["Content-Length"]) == len(answer.data)
    unpack = {"br": brotli.decompress, "gzip": gzip.decompress, None: bytes}
    if encoding in unpack:
        assert unpack[encoding](answer.data) == plain


@pytest.mark.parametrize("accepted", ["", "br", "gzip"])
def test_an_answer_that_never_changes_is_sent_once(client, accepted) -> None:
    headers = {"Accept-Encoding": accepted}
    answer = client.get(PATH, headers=headers)
    assert answer.headers["Cache-Control"] == "no-cache"
    tag = answer.headers["ETag"]
    again = client.get(PATH, headers={**headers, "If-None-Match": tag})
    assert (again.status_code, again.data) == (304, b"")
    assert client.get(PATH, headers={"If-None-Match": '"another"'}).status_code == 200


def test_a_constant_is_compressed_once_for_each_encoding(client, monkeypatch) -> None:
    counted: list[str] = []

    def encoder(name: str):
        return lambda content: counted.append(name) or name.encode()

    monkeypatch.setattr(compression, "_ENCODERS", {n: encoder(n) for n in ("br", "gzip")})
    constant = compression.Constant(b"content", "text/plain")
    for accepted in ("br, gzip", "gzip", "br", "gzip", ""):
        with client.application.test_request_context(headers={"Accept-Encoding": accepted}):
            expected = accepted.partition(",")[0] or "content"
            assert constant.answer().data == expected.encode()
    assert counted == ["br", "gzip"]


def test_short_answers_are_not_compressed(client) -> None:
    answer = client.get("/api/v1/about", headers={"Accept-Encoding": "br"})
    assert "Content-Encoding" not in answer.headers


def test_the_page_is_compressed(client) -> None:
    answer = client.get("/", headers={"Accept-Encoding": "br"})
    assert answer.headers["Content-Encoding"] == "br"
    assert b"<!doctype html>" in brotli.decompress(answer.data)


def test_streams_of_events_are_never_compressed(client) -> None:
    job = submit(client, "sleep")
    headers = {"Accept-Encoding": "gzip, br, zstd"}
    with client.get(f"/api/v1/jobs/{job['id']}/events", headers=headers) as answer:
        assert "Content-Encoding" not in answer.headers
        assert next(answer.response) == b"retry: 1000\n\n"
    jobs_of(client).cancel(job["id"])


def test_a_final_answer_has_an_etag_for_each_encoding(client) -> None:
    job = submit(client, "none")
    path = f"/api/v1/jobs/{job['id']}/events"
    client.get(path).get_data()  # until the job has ended
    tags = set()
    for accepted in ("", "br", "gzip"):
        headers = {"Accept-Encoding": accepted}
        answer = client.get(f"/api/v1/jobs/{job['id']}/result", headers=headers)
        tag = answer.headers["ETag"]
        tags.add((tag, answer.headers.get("Content-Encoding")))
        again = client.get(
            f"/api/v1/jobs/{job['id']}/result", headers={**headers, "If-None-Match": tag}
        )
        assert again.status_code == 304
    assert len({tag for tag, _ in tags}) == len({encoding for _, encoding in tags})
