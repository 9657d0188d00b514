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


def test_without_a_digest_there_is_an_etag(site, client):
    answer = client.get("/static/dist/main.js", buffered=True)
    assert "immutable" not in answer.headers.get("Cache-Control", "")
    tag = {"If-None-Match": answer.headers["ETag"]}
    again = client.get("/static/dist/main.js", headers=tag, buffered=True)
    assert again.status_code == 304


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
