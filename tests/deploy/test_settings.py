"""Tests of the settings in all files of deploy/: each name exists, and the sample has them all."""

from __future__ import annotations

import re
import tomllib
from dataclasses import asdict
from pathlib import Path

import pytest

from app.config import Settings
from app.configuration import meanings, read_configuration
from app.serve import completed, require_protection
from compiler.errors import CompileError
from setup.settings import CHOSEN
from tests.deploy.commands import DEPLOY, unknown_variables

FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file())
SAMPLE = DEPLOY / "compilarium.toml"


def test_all_files_are_tested() -> None:
    names = {path.relative_to(DEPLOY).as_posix() for path in FILES if "secrets" not in path.parts}
    assert names == {
        "Containerfile",
        "compilarium.toml",
        "compose.yaml",
        "nginx.conf",
        "seccomp.json",
        "systemd/compilarium-backup.service",
        "systemd/compilarium-backup.timer",
        "systemd/compilarium-work.service",
        "systemd/compilarium.service",
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_variable_is_one_of_the_program(path: Path) -> None:
    assert unknown_variables(path.read_text(encoding="utf-8")) == set()


def test_a_variable_that_does_not_exist_is_found() -> None:
    assert unknown_variables("COMPILARIUM_PORT COMPILARIUM_PROT=1") == {"COMPILARIUM_PROT"}


def test_the_sample_has_every_setting_and_its_default() -> None:
    text = SAMPLE.read_text(encoding="utf-8")
    named = re.findall(r"(?m)^(?:# )?([a-z_]+) =", text)
    assert named == list(meanings())
    defaults = re.sub(r"(?m)^# (?=[a-z_]+ = )", "", text)
    found = read_configuration(tomllib.loads(defaults), {}).settings
    expected = asdict(Settings.of({**CHOSEN, "data_folder": Path("/var/lib/compilarium")}))
    assert asdict(found) == expected


def test_the_sample_is_accepted_and_differs_where_it_says_so() -> None:
    found = read_configuration({}, {}, SAMPLE)
    changed = {name for name, source in found.sources.items() if source == str(SAMPLE)}
    assert changed == set(CHOSEN)
    require_protection(completed(found.settings))
    assert found.settings.supervisor == "outside"


def test_a_secret_comes_from_a_file(tmp_path: Path) -> None:
    secret = tmp_path / "url"
    secret.write_text("postgresql+psycopg://me:secret@database/x\n")
    environment = {"COMPILARIUM_DATABASE_URL_FILE": str(secret)}
    found = read_configuration({}, environment)
    assert found.settings.database_url == "postgresql+psycopg://me:secret@database/x"
    assert found.sources["database_url"] == "COMPILARIUM_DATABASE_URL_FILE"
    assert "secret" not in found.text()
    direct = read_configuration({}, {**environment, "COMPILARIUM_DATABASE_URL": "sqlite:///x"})
    assert direct.settings.database_url == "sqlite:///x"
    with pytest.raises(CompileError, match="cannot be read"):
        read_configuration({}, {"COMPILARIUM_METRICS_TOKEN_FILE": str(tmp_path / "none")})
