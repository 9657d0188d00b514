"""Tests of the page and its bundle: digests in URLs, caching, no files outside the folder."""

from __future__ import annotations

import re

import pytest

from app import assets, paths
from compiler.tuning import tune


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A separate site with one template and one script."""
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "playground.html").write_text("<p>{{ asset('main.js') }}</p>")
    (tmp_path / "static" / "dist").mkdir(parents=True)
    (tmp_path / "static" / "dist" / "main.js").write_text("let a = 1;")
    (tmp_path / "static" / "secret.js").write_text("let secret;")
    for module in (assets, paths):
        monkeypatch.setattr(module, "site_folder", lambda name: tmp_path / name)
    return tmp_path


def test_the_page_names_its_script_with_a_digest_that_is_cached_for_ever(site, client):
    page = client.get("/").get_data(as_text=True)
    url = re.search(r"<p>(.*)</p>", page).group(1)
    assert re.fullmatch(r"/static/dist/main\.js\?v=[0-9a-f]{16}", url)
    answer = client.get(url, buffered=True)
    assert answer.data == b"let a = 1;"
    assert "immutable" in answer.headers["Cache-Control"]
    assert answer.mimetype == "text/javascript"


def test_another_content_has_another_address_and_old_addresses_are_not_kept(site, client):
    before = client.get("/").data
    (site / "static" / "dist" / "main.js").write_text("let a = 20;")
    assert client.get("/").data != before
    answer = client.get("/static/dist/main.js?v=0123456789abcdef", buffered=True)
    assert answer.data == b"let a = 20;"
    assert "immutable" not in answer.headers["Cache-Control"]


def test_the_page_is_written_once_for_each_bundle(site, client, monkeypatch):
    written: list[str] = []
    render = assets.render_template
    monkeypatch.setattr(
        assets, "render_template", lambda *args, **more: written.append("") or render(*args, **more)
    )
    first = client.get("/").data
    assert client.get("/").data == first
    (site / "static" / "dist" / "main.css").write_text("body {}")
    client.get("/")
    assert len(written) == 2


def test_the_files_that_the_page_names_are_known():
    templates = paths.site_folder("templates")
    pages = {"playground.html": assets.PAGE_FILES, "embed.html": assets.VIEW_FILES}
    for page, files in pages.items():
        texts = [(templates / name).read_text() for name in ("base.html", page)]
        named = {name for text in texts for name in re.findall(r"asset\('([^']+)'\)", text)}
        assert named == set(files)


def test_without_a_digest_there_is_an_etag(site, client):
    answer = client.get("/static/dist/main.js", buffered=True)
    assert "immutable" not in answer.headers.get("Cache-Control", "")
    tag = {"If-None-Match": answer.headers["ETag"]}
    again = client.get("/static/dist/main.js", headers=tag, buffered=True)
    assert again.status_code == 304


@pytest.mark.parametrize(
    ("accepted", "encoding", "content"),
    [
        ("gzip, deflate, br, zstd", "br", b"as br"),
        ("gzip", "gzip", b"as gzip"),
        ("br;q=0, gzip", "gzip", b"as gzip"),
        ("identity", None, b"let a = 1;"),
        ("", None, b"let a = 1;"),
    ],
)
def test_each_representation_has_its_encoding_and_its_etag(
    site, client, accepted, encoding, content
) -> None:
    dist = site / "static" / "dist"
    (dist / "main.js.br").write_bytes(b"as br")
    (dist / "main.js.gz").write_bytes(b"as gzip")
    headers = {"Accept-Encoding": accepted}
    answer = client.get("/static/dist/main.js", headers=headers, buffered=True)
    assert answer.data == content
    assert answer.headers.get("Content-Encoding") == encoding
    assert answer.mimetype == "text/javascript"
    assert "Accept-Encoding" in answer.headers["Vary"]
    tag = answer.headers["ETag"]
    assert not tag.startswith("W/")
    assert (encoding or "") in tag
    again = client.get(
        "/static/dist/main.js", headers={**headers, "If-None-Match": tag}, buffered=True
    )
    assert again.status_code == 304
    other = {"Accept-Encoding": "identity" if encoding else "br", "If-None-Match": tag}
    assert client.get("/static/dist/main.js", headers=other, buffered=True).status_code == 200


def test_a_chunk_is_cached_for_ever_because_its_name_has_a_hash(site, client) -> None:
    chunks = site / "static" / "dist" / "chunks"
    chunks.mkdir()
    (chunks / "walk-AB12CD34.js").write_text("let b;")
    (chunks / "walk.js").write_text("let b;")
    hashed = client.get("/static/dist/chunks/walk-AB12CD34.js", buffered=True)
    assert "immutable" in hashed.headers["Cache-Control"]
    plain = client.get("/static/dist/chunks/walk.js", buffered=True)
    assert "immutable" not in plain.headers["Cache-Control"]


def test_a_file_that_was_not_built_has_an_address_without_a_digest(site):
    assert assets.asset("worker.js") == "/static/dist/worker.js"


@pytest.mark.parametrize(
    "name", ["../secret.js", "..%2fsecret.js", "%2e%2e/secret.js", "//etc/passwd"]
)
def test_only_the_bundle_is_served(site, client, name):
    assert client.get(f"/static/dist/{name}").status_code in (404, 308)


@pytest.mark.parametrize("has_model", [True, False])
def test_a_search_that_cannot_run_here_is_disabled_with_the_command_to_install(
    client, monkeypatch, has_model
) -> None:
    monkeypatch.setattr(tune, "has_model", lambda: has_model)
    text = client.get("/").get_data(as_text=True)
    options = dict(re.findall(r'<option value="(annealing|genetic|random)"( disabled)?', text))
    assert options == {"annealing": "" if has_model else " disabled", "genetic": "", "random": ""}
    assert ("pip install" in text) is not has_model
    assert tune.default_search() == ("annealing" if has_model else "genetic")
