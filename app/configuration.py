"""Reads the settings: options precede the environment, then a TOML file, then the defaults.

A setting `upload_limit_bytes` is the variable COMPILARIUM_UPLOAD_LIMIT_BYTES in the environment and
the key `upload_limit_bytes` in the file. COMPILARIUM_DATABASE_URL_FILE and
COMPILARIUM_METRICS_TOKEN_FILE name files with the values of the secrets.
"""

from __future__ import annotations

import ast
import inspect
import json
import math
import textwrap
import tomllib
import types
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from app.config import Settings
from app.store.blobs.remote import is_remote, public_url
from compiler.errors import CompileError

PREFIX = "COMPILARIUM_"
DEFAULT = "default"
SECRETS = ("database_url", "metrics_token")
"""Settings that are not shown, and whose values may be in files of their own."""
IN_FILE = "_FILE"
"""The end of a variable that names a file with the value of a secret."""
_TRUTH = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
_MINIMA = {
    "n_workers": 1,
    "running_per_client": 1,
    "lease_s": 1,
    "n_threads": 2,
    "n_streams": 1,
    "sessions_per_address": 1,
    "stop_limit_s": 1,
}
_MAXIMA = {"port": 65535, "stop_limit_s": 25}
_WIDTH = 96


@dataclass(frozen=True, slots=True)
class Configuration:
    """Settings, with the source of each: "default", an option, a variable or a file."""

    settings: Settings
    sources: Mapping[str, str]

    def text(self) -> str:
        """Return all settings as a TOML file, with meaning and source in comments.

        Secrets are replaced by asterisks.
        """
        return "\n".join(self._entry(name) for name in meanings())

    def _entry(self, name: str) -> str:
        words = [*textwrap.wrap(meanings()[name], _WIDTH), f"Source: {self.sources[name]}"]
        value = getattr(self.settings, name)
        line = f"{name} = {toml_text(_public(name, value))}" if value is not None else f"# {name} ="
        return "".join(f"# {row}\n" for row in words) + line + "\n"


def read_configuration(
    options: Mapping[str, Any], environment: Mapping[str, str], file: Path | None = None
) -> Configuration:
    """Combine the settings of all sources; options that are None were not given.

    Errors: E-OPTION-VALUE, which names the setting and its source.
    """
    found: dict[str, Any] = {}
    sources = dict.fromkeys(meanings(), DEFAULT)

    def take(name: str, value: Any, source: str) -> None:
        found[name] = _converted(name, value, source)
        sources[name] = source

    for name, value in (_table(file) if file else {}).items():
        if name not in sources:
            known = ", ".join(sorted(sources))
            message = f"{file} has the unknown setting {name!r:.60}"
            raise CompileError("E-OPTION-VALUE", message, notes=[f"settings: {known}"])
        take(name, value, str(file))
    for name in sources:
        if (text := environment.get(PREFIX + name.upper())) is not None:
            take(name, _from_text(name, text), PREFIX + name.upper())
        elif name in SECRETS and (secret := environment.get(PREFIX + name.upper() + IN_FILE)):
            take(name, _secret(Path(secret)), PREFIX + name.upper() + IN_FILE)
    for name, value in options.items():
        if value is not None:
            take(name, value, "option")
    return Configuration(Settings.of(found), sources)


@cache
def meanings() -> Mapping[str, str]:
    """Return the meaning of each setting: the text below its field in the source of Settings."""
    (declared,) = ast.parse(textwrap.dedent(inspect.getsource(Settings))).body
    assert isinstance(declared, ast.ClassDef)
    found: dict[str, str] = {}
    name = ""
    for each in declared.body:
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
            name = each.target.id
        elif isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) and name:
            found[name] = " ".join(str(each.value.value).split())
            name = ""
    assert list(found) == [f.name for f in fields(Settings)], "each field needs a text below it"
    return found


@cache
def _types() -> Mapping[str, Any]:
    return get_type_hints(Settings)


def _table(file: Path) -> Mapping[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as e:
        message = f"the configuration file {file} cannot be read: {e.strerror}"
    except ValueError as e:  # from TOML and from UTF-8
        message = f"the configuration file {file} is not TOML: {e}"
    raise CompileError("E-OPTION-VALUE", message, hint="check the file of --config")


def _secret(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeError) as e:
        message = f"the secret in {file} cannot be read: {getattr(e, 'strerror', 'it is no text')}"
        raise CompileError("E-OPTION-VALUE", message) from None


def _from_text(name: str, text: str) -> Any:
    """Convert the text of a setting to the setting's type; return an unsuitable text unchanged."""
    wanted, is_optional = _plain(_types()[name])
    if is_optional and not text:
        return None
    if wanted is bool:
        return _TRUTH.get(text.lower(), text)
    if wanted in (int, float):
        try:
            return wanted(text.replace("_", ""))
        except ValueError:
            return text
    if get_origin(wanted) is tuple:
        return [each.strip() for each in text.split(",") if each.strip()]
    return text


def _converted(name: str, value: Any, source: str) -> Any:
    """Return the value of a setting with its declared type. Errors: E-OPTION-VALUE."""
    wanted, is_optional = _plain(_types()[name])
    if value is None and is_optional:
        return None
    if wanted is Path and isinstance(value, str | Path) and str(value):
        return Path(value).expanduser()
    if get_origin(wanted) is tuple and isinstance(value, list | tuple):
        if all(isinstance(each, str) and each for each in value):
            return tuple(value)
    elif get_origin(wanted) is Literal:
        if value in get_args(wanted):
            return value
    elif wanted in (int, float):
        is_number = isinstance(value, int if wanted is int else int | float)
        if is_number and not isinstance(value, bool) and _is_in_range(name, value):
            return wanted(value)
    elif wanted in (str, bool) and isinstance(value, wanted):
        return value
    needed = _needed(name, wanted)
    raise CompileError(
        "E-OPTION-VALUE",
        f"the setting {name} needs {needed}, got {value!r:.80} ({source})",
        hint="`compilarium serve --show-config` explains each setting",
    )


def _plain(declared: Any) -> tuple[Any, bool]:
    """Return a type without None, and whether None was permitted."""
    if isinstance(declared, types.UnionType):
        (wanted,) = (each for each in get_args(declared) if each is not type(None))
        return wanted, True
    return declared, False


def _is_in_range(name: str, value: float) -> bool:
    return _MINIMA.get(name, 0) <= value <= _MAXIMA.get(name, math.inf) and math.isfinite(value)


def _needed(name: str, wanted: Any) -> str:
    if get_origin(wanted) is Literal:
        return f"one of {', '.join(get_args(wanted))}"
    if get_origin(wanted) is tuple:
        return "a list of texts"
    if wanted in (int, float):
        kind = "an integer" if wanted is int else "a number"
        upper = f" and at most {_MAXIMA[name]}" if name in _MAXIMA else ""
        return f"{kind} of at least {_MINIMA.get(name, 0)}{upper}"
    return {Path: "a path", str: "a text", bool: "true or false"}[wanted]


def _public(name: str, value: Any) -> Any:
    if name == "blob_store" and is_remote(value):
        return public_url(value)
    if not value or name not in SECRETS:
        return value
    if name == "metrics_token":
        return "***"
    try:
        return make_url(value).render_as_string(hide_password=True)
    except ArgumentError:
        return "***"


def toml_text(value: Any) -> str:
    """Return the value of a setting as TOML."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(toml_text, value))}]"
    if isinstance(value, str | Path):
        return json.dumps(str(value))
    return str(value).lower() if isinstance(value, bool) else str(value)
