"""Tests of settings from options, environment and file, and of the list of all settings."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
from click.testing import CliRunner

from app.config import Settings
from app.configuration import meanings, read_configuration
from compilarium.serve import command
from compiler.errors import CompileError


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "settings.toml"
    path.write_text('port = 1\nn_workers = 3\ntrusted_hosts = ["a", "b"]\njob_limit_s = 5\n')
    return path


def test_options_precede_the_environment_the_file_and_the_defaults(file: Path) -> None:
    environment = {"COMPILARIUM_PORT": "2", "COMPILARIUM_N_WORKERS": "4", "PORT": "9"}
    found = read_configuration({"port": 3, "host": None}, environment, file)
    settings = found.settings
    assert (settings.port, found.sources["port"]) == (3, "option")
    assert (settings.n_workers, found.sources["n_workers"]) == (4, "COMPILARIUM_N_WORKERS")
    assert (settings.trusted_hosts, found.sources["trusted_hosts"]) == (("a", "b"), str(file))
    assert (settings.host, found.sources["host"]) == ("127.0.0.1", "default")
    assert settings.job_limit_s == 5.0
    assert isinstance(settings.job_limit_s, float)


def test_texts_of_the_environment_have_the_types_of_the_settings() -> None:
    settings = read_configuration(
        {},
        {
            "COMPILARIUM_DATA_FOLDER": "~/x",
            "COMPILARIUM_UPLOAD_LIMIT_BYTES": "1_000",
            "COMPILARIUM_HEARTBEAT_S": "0.5",
            "COMPILARIUM_INSECURE": "yes",
            "COMPILARIUM_TRUSTED_HOSTS": "a.org, b.org",
            "COMPILARIUM_LOG_FORMAT": "json",
            "COMPILARIUM_CERTIFICATE": "",
        },
    ).settings
    assert settings.data_folder == Path.home() / "x"
    assert settings.upload_limit_bytes == 1000
    assert settings.heartbeat_s == 0.5
    assert settings.insecure is True
    assert settings.trusted_hosts == ("a.org", "b.org")
    assert settings.log_format == "json"
    assert settings.certificate is None


@pytest.mark.parametrize(
    ("name", "text", "needed"),
    [
        ("port", "http", "an integer of at least 0 and at most 65535"),
        ("port", "70000", "an integer of at least 0 and at most 65535"),
        ("n_workers", "0", "an integer of at least 1"),
        ("stop_limit_s", "26", "a number of at least 1 and at most 25"),
        ("job_limit_s", "nan", "a number of at least 0"),
        ("job_limit_s", "inf", "a number of at least 0"),
        ("insecure", "perhaps", "true or false"),
        ("log_format", "xml", "one of auto, text, json"),
        ("data_folder", "", "a path"),
    ],
)
def test_a_wrong_value_names_the_setting_and_its_source(name: str, text: str, needed: str) -> None:
    with pytest.raises(CompileError) as caught:
        read_configuration({}, {f"COMPILARIUM_{name.upper()}": text})
    assert caught.value.code == "E-OPTION-VALUE"
    assert f"the setting {name} needs {needed}, got" in caught.value.message
    assert f"COMPILARIUM_{name.upper()}" in caught.value.message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("prot = 1", "unknown setting 'prot'"),
        ("port = '1'", "the setting port needs an integer"),
        ("port = true", "the setting port needs an integer"),
        ("trusted_hosts = [1]", "the setting trusted_hosts needs a list of texts"),
        ("host = 1", "the setting host needs a text"),
        ("[server]\nport = 1", "unknown setting 'server'"),
        ("port =", "is not TOML"),
    ],
)
def test_a_wrong_file_is_refused(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(CompileError, match=says) as caught:
        read_configuration({}, {}, path)
    assert str(path) in caught.value.message


def test_a_missing_or_binary_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="cannot be read"):
        read_configuration({}, {}, tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(CompileError, match="is not TOML"):
        read_configuration({}, {}, tmp_path / "binary.toml")


def test_every_setting_has_a_meaning() -> None:
    assert list(meanings()) == [f.name for f in fields(Settings)]
    assert all(words.endswith(".") for words in meanings().values())


def test_the_list_of_settings_is_a_file_with_the_same_settings(tmp_path: Path, file: Path) -> None:
    secret = "postgresql+psycopg://ann:secret@db/compilarium"
    found = read_configuration({"host": "::1"}, {"COMPILARIUM_DATABASE_URL": secret}, file)
    text = found.text()
    assert "secret" not in text
    assert f"# Source: {file}\n" in text
    assert "# Source: COMPILARIUM_DATABASE_URL\n" in text
    again = tmp_path / "again.toml"
    again.write_text(text)
    kept = tomllib.loads(text)
    assert kept["database_url"] == secret.replace("secret", "***")
    read = read_configuration({"database_url": secret}, {}, again)
    assert read.settings == found.settings


def test_the_token_of_the_metrics_is_not_listed() -> None:
    found = read_configuration({}, {"COMPILARIUM_METRICS_TOKEN": "secret"})
    assert found.settings.metrics_token == "secret"
    assert 'metrics_token = "***"' in found.text()
    assert "secret" not in found.text()


def test_the_command_lists_settings_without_starting_a_server(file: Path) -> None:
    arguments = ["--show-config", "--config", str(file), "--upload-limit", "5MB", "--insecure"]
    done = CliRunner().invoke(command, arguments, env={"COMPILARIUM_QUEUE_LIMIT": "7"})
    assert done.exit_code == 0, done.output
    found = tomllib.loads(done.output)
    assert (found["upload_limit_bytes"], found["insecure"], found["port"]) == (5_000_000, True, 1)
    assert found["queue_limit"] == 7


def test_event_streams_of_a_class_leave_threads_for_other_requests() -> None:
    settings = Settings()
    assert 100 < settings.n_streams < settings.n_threads - 64
