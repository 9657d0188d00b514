"""Tests of blob stores: a folder, and stores of fsspec without a network."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from app.blob_store import blobs_of
from app.config import Settings
from app.store.blobs.folder import FolderBlobs
from app.store.blobs.interface import Blobs
from app.store.blobs.remote import RemoteBlobs
from compiler.errors import CompileError
from tests.app.store.blob_rules import RULES

MakeBlobs = Callable[[Path], Blobs]

STORES: dict[str, MakeBlobs] = {
    "folder": lambda at: FolderBlobs(at / "data"),
    "memory": lambda at: RemoteBlobs(f"memory:/{at}/store", at / "data"),
    "file": lambda at: RemoteBlobs(f"file://{at}/store", at / "data"),
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("store", STORES)
def test_every_store_follows_the_rules(store: str, rule: str, tmp_path: Path) -> None:
    RULES[rule](STORES[store](tmp_path), tmp_path)


def test_a_folder_keeps_the_layout_of_the_data_folder(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    blobs.put("uploads/a.json", b"{}")
    assert (tmp_path / "uploads" / "a.json").read_bytes() == b"{}"
    assert blobs.file("uploads/a.json") == tmp_path / "uploads" / "a.json"


def test_a_staged_file_of_a_folder_is_not_copied(tmp_path: Path) -> None:
    blobs = FolderBlobs(tmp_path)
    staged = blobs.staging("uploads") / "incoming-1"
    staged.write_bytes(b"x")
    number = staged.stat().st_ino
    blobs.put_file("uploads/x.onnx", staged)
    assert (tmp_path / "uploads" / "x.onnx").stat().st_ino == number


def test_a_failed_put_leaves_the_earlier_blob_and_no_file(tmp_path: Path) -> None:
    class Failing(RemoteBlobs):
        def _open(self) -> tuple[Any, str]:
            system, root = super()._open()
            system.mv = _no_space
            return system, root

    url = f"file://{tmp_path}/store"
    RemoteBlobs(url, tmp_path).put("uploads/a", b"first")
    with pytest.raises(OSError, match="No space"):
        Failing(url, tmp_path).put("uploads/a", b"second")
    assert RemoteBlobs(url, tmp_path).get("uploads/a") == b"first"
    assert [each.key for each in RemoteBlobs(url, tmp_path).below("uploads")] == ["uploads/a"]


def _no_space(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_errors_of_other_libraries_become_errors_of_the_system(tmp_path: Path) -> None:
    class Strange(MemoryFileSystem):
        def cat_file(self, *_: object, **__: object) -> bytes:
            raise RuntimeError("the endpoint is away")

    blobs = RemoteBlobs("memory://strange", tmp_path)
    blobs._opened = (os.getpid(), Strange(), "/strange")
    with pytest.raises(OSError, match="RuntimeError: the endpoint is away"):
        blobs.get("uploads/a")


def test_an_unknown_store_names_the_remedy(tmp_path: Path) -> None:
    blobs = RemoteBlobs("nowhere://bucket", tmp_path)
    for ask in (blobs.require, lambda: blobs.exists("uploads/a")):
        with pytest.raises(CompileError, match="nowhere://") as caught:
            ask()
        assert caught.value.code == "E-OPTION-VALUE"
        assert "pip install" in caught.value.hint
    RemoteBlobs("memory://x", tmp_path).require()
    FolderBlobs(tmp_path).require()


def test_a_copy_of_this_machine_is_fetched_once_and_removed_with_its_blob(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/store"
    one, two = RemoteBlobs(url, tmp_path / "one"), RemoteBlobs(url, tmp_path / "two")
    one.put("uploads/a.onnx", b"a")
    copy = two.file("uploads/a.onnx")
    assert copy == tmp_path / "two" / "uploads" / "a.onnx"
    (tmp_path / "store" / "uploads" / "a.onnx").unlink()
    assert two.file("uploads/a.onnx").read_bytes() == b"a"
    two.delete(["uploads/a.onnx"])
    assert not copy.exists()


def test_settings_name_the_store(tmp_path: Path) -> None:
    data, shared = tmp_path / "data", tmp_path / "shared"
    own = Settings.of({"data_folder": data})
    assert blobs_of(own).path("jobs/x") == own.stored_folder / "jobs" / "x" == data / "jobs" / "x"
    folder = Settings.of({"data_folder": data, "blob_store": str(shared)})
    assert blobs_of(folder).path("jobs") == folder.stored_folder / "jobs" == shared / "jobs"
    remote = Settings.of({"data_folder": data, "blob_store": "s3://bucket/prefix"})
    assert blobs_of(remote).path("jobs") == remote.stored_folder / "jobs" == data / "jobs"
    assert not blobs_of(remote).is_folder
