"""What every blob store must do. `python -m tests.app.store.blob_rules URL` checks one, such as S3.

The URL names an empty prefix, which is empty again afterwards.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from app.store.blobs.interface import Blobs
from app.store.blobs.remote import RemoteBlobs


def puts_and_gets(blobs: Blobs, folder: Path) -> None:
    assert not blobs.exists("uploads/a.json")
    blobs.put("uploads/a.json", b"first")
    blobs.put("uploads/a.json", b"second")
    assert blobs.exists("uploads/a.json")
    assert blobs.get("uploads/a.json") == b"second"


def absent_blobs_are_not_found(blobs: Blobs, folder: Path) -> None:
    for ask in (blobs.get, blobs.file, blobs.find, blobs.touch):
        with pytest.raises(FileNotFoundError):
            ask("uploads/absent")
    assert not blobs.exists("uploads/absent")
    assert not blobs.exists("uploads")
    assert list(blobs.below("none")) == []
    assert blobs.children("none") == set()
    blobs.delete(["uploads/absent"])
    blobs.delete_below("none")


def takes_staged_files(blobs: Blobs, folder: Path) -> None:
    staged = blobs.staging("uploads") / "incoming-1"
    staged.write_bytes(b"model")
    blobs.put_file("uploads/b.onnx", staged)
    assert not staged.exists()
    assert blobs.get("uploads/b.onnx") == b"model"
    assert blobs.file("uploads/b.onnx").read_bytes() == b"model"


def stores_copies(blobs: Blobs, folder: Path) -> None:
    sizes = {"small": 10, "empty": 0, "large": 9_000_000, "other": 3_000_000, "third": 6_000_000}
    files = {f"jobs/j/1/parts/{name}": folder / name for name in sizes}
    for name, size in sizes.items():
        (folder / name).write_bytes(name.encode()[:1] * size)
    blobs.put_copies(files)
    blobs.put_copies({})
    for key, file in files.items():
        assert file.exists()
        assert blobs.get(key) == file.read_bytes()
        assert blobs.file(key).read_bytes() == file.read_bytes()


def lists_and_removes(blobs: Blobs, folder: Path) -> None:
    for key in ("jobs/j/1/parts/a", "jobs/j/2/parts/a", "jobs/k/1/b", "uploads/c"):
        blobs.put(key, key.encode())
    assert sorted(each.key for each in blobs.below("jobs/j")) == [
        "jobs/j/1/parts/a",
        "jobs/j/2/parts/a",
    ]
    assert {each.n_bytes for each in blobs.below("jobs/j")} == {16}
    assert blobs.children("jobs") == {"j", "k"}
    assert blobs.children("jobs/j") == {"1", "2"}
    blobs.delete_below("jobs/j")
    assert blobs.children("jobs") == {"k"}
    blobs.delete(["jobs/k/1/b"])
    assert not blobs.exists("jobs/k/1/b")
    assert list(blobs.below("jobs")) == []
    assert blobs.exists("uploads/c")


def uses_are_noted(blobs: Blobs, folder: Path) -> None:
    blobs.put("uploads/d.onnx", b"d")
    before = blobs.find("uploads/d.onnx")
    blobs.touch("uploads/d.onnx")
    after = blobs.find("uploads/d.onnx")
    assert after.used_s >= before.used_s > 1_000_000_000
    assert after.n_bytes == 1
    assert list(blobs.below("uploads")) == [after]
    blobs.mark("uploads/d.pinned")
    blobs.mark("uploads/d.pinned")
    assert blobs.get("uploads/d.pinned") == b""
    blobs.delete(["uploads/d.onnx", "uploads/d.pinned"])
    assert list(blobs.below("uploads")) == []
    assert not blobs.exists("uploads/d.onnx.used")


RULES: Mapping[str, Callable[[Blobs, Path], None]] = {
    rule.__name__: rule
    for rule in (
        puts_and_gets,
        absent_blobs_are_not_found,
        takes_staged_files,
        stores_copies,
        lists_and_removes,
        uses_are_noted,
    )
}


def main(url: str) -> None:
    for name, rule in RULES.items():
        with tempfile.TemporaryDirectory() as folder:
            blobs = RemoteBlobs(url, Path(folder, "copies"))
            assert not any(blobs.children(each) for each in ("uploads", "jobs")), "not empty"
            try:
                rule(blobs, Path(folder))
            finally:
                for prefix in ("uploads", "jobs"):
                    blobs.delete_below(prefix)
        print(f"{name}: holds")


if __name__ == "__main__":
    main(sys.argv[1])
