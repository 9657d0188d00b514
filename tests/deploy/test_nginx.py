"""Tests of the site for nginx: by nginx where it is installed, and by its directives."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from app import assets, create_app, security
from app.config import Settings
from app.configuration import read_configuration
from hatch_build import SITE
from tests.deploy.commands import DEPLOY
from tests.deploy.nginx_syntax import Directive, read

TEXT = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
TLS = DEPLOY.parent / "tests" / "app" / "tls"
STREAM = "/api/v1/jobs/20260101-00000000000000000000/events"
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "s": 1}


def quantity(text: str) -> int:
    number, unit = re.fullmatch(r"(\d+)([a-z]?)", text).groups()
    return int(number) * _UNITS[unit]


@pytest.fixture(scope="module")
def site() -> Directive:
    return read(TEXT)


@pytest.fixture(scope="module")
def secure(site: Directive) -> Directive:
    """The server with TLS."""
    (found,) = (each for each in site.all("server") if each.all("ssl_certificate"))
    return found


def location(server: Directive, *words: str) -> Directive:
    (found,) = (each for each in server.all("location") if tuple(each.words) == words)
    return found


@pytest.mark.parametrize("text", ["a b", "a { b c; ", "a; }", "a { b } ", "; a;"])
def test_a_damaged_configuration_is_found(text: str) -> None:
    with pytest.raises(ValueError, match=r"semicolon|end|begun|without"):
        read(text)


def test_the_upstream_is_the_server_of_the_settings(site: Directive, secure: Directive) -> None:
    settings = read_configuration({}, {}, DEPLOY / "compilarium.toml").settings
    (upstream,) = site.all("upstream")
    assert upstream.one("server") == (f"{settings.host}:{settings.port}",)
    names = {d.words for each in secure.all("location") for d in each.all("proxy_pass")}
    assert names == {(f"http://{upstream.words[0]}",)}
    assert secure.one("server_name")[0] in (settings.trusted_hosts or ())


def test_plain_http_leads_to_tls(site: Directive, secure: Directive) -> None:
    (plain,) = (each for each in site.all("server") if each is not secure)
    assert plain.one("return") == ("308", "https://$host$request_uri")
    assert plain.one("server_name") == secure.one("server_name")
    assert set(secure.one("ssl_protocols")) == {"TLSv1.2", "TLSv1.3"}
    assert all("ssl" in each.words for each in secure.all("listen"))


def test_forwarded_headers_are_those_of_one_trusted_proxy(secure: Directive) -> None:
    settings = read_configuration({}, {}, DEPLOY / "compilarium.toml").settings
    assert settings.trusted_proxies == 1
    sent = {each.words[0]: each.words[1] for each in secure.all("proxy_set_header")}
    assert sent == {
        "Connection": "",
        "Host": "$host",
        "X-Forwarded-For": "$remote_addr",  # not the list that the client sent
        "X-Forwarded-Proto": "$scheme",
        "X-Forwarded-Host": "$host",
    }
    below = [each for each in secure.all("location") if each.all("proxy_set_header")]
    assert not below, "a location with one of these would drop the others"


def test_sizes_and_times_agree_with_the_settings(secure: Directive) -> None:
    settings = Settings()
    (largest,) = secure.one("client_max_body_size")
    assert settings.upload_limit_bytes <= quantity(largest) < 2 * settings.upload_limit_bytes
    streams = location(secure, "~", r"^/api/v1/jobs/[^/]+/events$")
    (silent_s,) = streams.one("proxy_read_timeout")
    assert quantity(silent_s) > settings.stream_limit_s > settings.heartbeat_s


def test_event_streams_are_not_buffered(secure: Directive, tmp_path: Path) -> None:
    streams = location(secure, "~", r"^/api/v1/jobs/[^/]+/events$")
    assert re.search(streams.words[1], STREAM)
    assert not re.search(streams.words[1], STREAM.replace("/events", ""))
    assert streams.one("proxy_buffering") == ("off",)
    rules = create_app({"data_folder": tmp_path}).url_map.bind("localhost")
    assert rules.match(STREAM, "GET")


def test_static_files_have_the_headers_of_the_server(secure: Directive) -> None:
    static = location(secure, "/static/dist/")
    (alias,) = static.one("alias")
    assert alias.endswith(f"/site-packages/{SITE['static/dist']}/")
    assert static.one("gzip_static") == ("on",)
    assert assets.ENCODINGS["gzip"] == ".gz"
    sent = {each.words[0]: each.words[1] for each in static.all("add_header")}
    assert sent.items() >= security.HEADERS.items()
    assert sent.keys() - security.HEADERS.keys() == {
        "Cache-Control",
        "Vary",
        "Strict-Transport-Security",
    }
    assert all(each.words[2:] == ("always",) for each in static.all("add_header"))


@pytest.mark.parametrize(
    ("address", "version", "is_kept"),
    [
        ("/static/dist/chunks/walk-ABCDEFG1.js", "", True),
        ("/static/dist/main.js", "0123456789abcdef", True),
        ("/static/dist/main.js", "", False),
        ("/static/dist/main.js", "0123456789abcdeX", False),
        ("/static/dist/chunks/walk.js", "", False),
    ],
)
def test_only_files_with_a_digest_are_kept_for_ever(
    site: Directive, address: str, version: str, is_kept: bool
) -> None:
    (table,) = site.all("map")
    assert table.words == ("$uri $arg_v", "$compilarium_cache")
    found = next(
        (
            each.words[0]
            for each in table.block
            if each.name.startswith("~")
            and re.search(each.name[1:].replace("\\\\", "\\"), f"{address} {version}")
        ),
        table.one("default")[0],
    )
    assert ("immutable" in found) is is_kept
    name = address.removeprefix("/static/dist/")
    assert bool(assets._HASHED.fullmatch(name)) == (is_kept and not version)


def test_nginx_accepts_the_site_where_it_is_installed(tmp_path: Path) -> None:
    """Without nginx, the other tests read the directives."""
    numbers = iter(range(99))
    text = re.sub(
        r"(?m)^(\s+listen )\S+?(?= |;)", lambda m: f"{m[1]}unix:{tmp_path}/{next(numbers)}", TEXT
    )
    text = text.replace("/etc/ssl/compilarium/fullchain.pem", str(TLS / "certificate.pem"))
    text = text.replace("/etc/ssl/compilarium/key.pem", str(TLS / "key.pem"))
    main = f"pid {tmp_path}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n"
    folders = "".join(
        f"{name}_temp_path {tmp_path}/{name};\n"
        for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (tmp_path / "nginx.conf").write_text(main + folders + text + "}\n")
    nginx = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    if nginx is not None:
        done = subprocess.run(
            [nginx, "-t", "-c", str(tmp_path / "nginx.conf")],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
