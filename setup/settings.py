"""The sample of a TOML file with all settings of the server, from their declarations."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import asdict

from app.config import Settings
from app.configuration import meanings, toml_text

CHOSEN: Mapping[str, object] = {
    "trusted_proxies": 1,
    "trusted_hosts": ("compilarium.example.org", "localhost", "127.0.0.1"),
    "log_format": "json",
    "log_requests": True,
    "data_folder": "/var/lib/compilarium",
    "supervisor": "outside",
}
"""The settings of a server behind a reverse proxy, whose jobs run in a service of their own."""

_HEAD = """\
# All settings of `compilarium serve` and `compilarium work`, for the units in systemd/ and the
# site in nginx.conf. A line that is no comment differs from the default.
# `compilarium serve --config FILE --show-config` shows the settings in use. Keep secrets out of
# this file: COMPILARIUM_DATABASE_URL and COMPILARIUM_METRICS_TOKEN are variables, too.
"""
_WIDTH = 96


def sample() -> str:
    """Return the text of deploy/compilarium.toml."""
    defaults = asdict(Settings())
    return _HEAD + "".join(_entry(name, defaults[name]) for name in meanings())


def _entry(name: str, default: object) -> str:
    rows = "".join(f"# {row}\n" for row in textwrap.wrap(meanings()[name], _WIDTH))
    if name in CHOSEN:
        return f"\n{rows}{name} = {toml_text(CHOSEN[name])}\n"
    value = f" {toml_text(default)}" if default is not None else ""
    return f"\n{rows}# {name} ={value}\n"
