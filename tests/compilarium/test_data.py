"""Tests of the commands that check, back up and restore the data folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.config import Settings
from app.store.database import Database, sqlite_url
from app.store.models import CountRow
from app.uploads import UploadStore
from tests.compilarium.commands import invoke, told
from tests.databases import Databases


class Stream:
    """A stream of a few bytes."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def read(self, size: int, /) -> bytes:
        content, self.content = self.content[:size], self.content[size:]
        return content


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with an upload."""
    settings = Settings.of({"data_folder": tmp_path / "data"})
    UploadStore.of(settings).save(Stream(b"a model"), "m.onnx")
    return settings.data_folder


def test_a_data_folder_goes_to_a_backup_and_back(folder: Path, tmp_path: Path) -> None:
    backup, again = tmp_path / "backup", tmp_path / "again"
    made = told("data", "backup", backup, "--data-folder", folder)
    assert (made["files"], made["database"]) == (2, False)
    restored = told("data", "restore", backup, "--data-folder", again)
    assert restored["files"] == 2
    names = [sorted(p.name for p in (f / "uploads").iterdir()) for f in (folder, again)]
    assert names[0] == names[1]
    assert told("data", "check", "--data-folder", again)["counts"]["uploads"]["number"] == 1
    refused = told("data", "restore", backup, "--data-folder", again, code=1)
    assert refused["error"]["code"] == "E-OPTION-VALUE"
    assert "2 files" in invoke("data", "backup", tmp_path / "b", "--data-folder", folder).output


def test_a_damage_is_shown_and_the_exit_code_is_1(folder: Path) -> None:
    content = next((folder / "uploads").glob("*.onnx"))
    content.write_bytes(b"damaged")
    assert told("data", "check", "--data-folder", folder, code=1)["ok"] is False
    result = invoke("data", "check", "--data-folder", folder)
    assert result.exit_code == 1
    assert "damaged or missing: 1, orphans: 0" in result.output
    assert content.name[:20] in result.output


def test_a_database_is_copied_from_sqlite_to_postgresql_and_back(
    folder: Path, tmp_path: Path, databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Database(sqlite_url(folder)).session() as session:
        session.add(CountRow(kind="jobs", client="a", number=7, n=3, forget_s=1.5))
    url = databases.new("copied")
    monkeypatch.setenv("COMPILARIUM_DATABASE_URL", url)
    told_rows = told("data", "copy-database", "--data-folder", folder)["rows"]
    assert told_rows["counts"] == 1
    monkeypatch.delenv("COMPILARIUM_DATABASE_URL")
    other = ("--data-folder", tmp_path / "other")
    result = invoke("data", "copy-database", "--from", url, *other)
    assert "counts" in result.output
    refused = told("data", "copy-database", "--from", url, *other, code=1)
    assert "not empty" in refused["error"]["message"]
