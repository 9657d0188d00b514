"""Tests of folders and files that another user could write: refused, with reason and remedy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from compiler.cache.trust import NotPrivate, make_folder, open_private, refusal
from tests.platforms import needs_root, needs_user_ids

pytestmark = needs_user_ids

STRANGER = 54321
"""A user id that owns nothing."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "cache" / "objects"
    make_folder(made)
    return made


def reason(folder: Path) -> str:
    found = refusal(folder)
    assert found is not None
    assert found.remedy
    return str(found)


def test_a_new_folder_is_for_this_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b" / "c"
    make_folder(folder)
    assert refusal(folder) is None
    for made in (folder, folder.parent, folder.parent.parent):
        assert made.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777, 0o720, 0o1777])
@pytest.mark.parametrize("depth", [0, 1])
def test_a_folder_that_others_may_write_is_refused(folder: Path, mode: int, depth: int) -> None:
    changed = [folder, *folder.parents][depth]
    changed.chmod(mode)
    if depth and mode == 0o1777:  # as /tmp: nobody else may rename the folder inside
        assert refusal(folder) is None
        return
    assert reason(folder).startswith(f"{changed} may be written by other users")
    with pytest.raises(NotPrivate):
        make_folder(folder)
    changed.chmod(0o755)
    assert refusal(folder) is None


def test_nothing_is_created_in_a_folder_that_others_may_write(tmp_path: Path) -> None:
    tmp_path.joinpath("open").mkdir()
    tmp_path.joinpath("open").chmod(0o777)
    with pytest.raises(NotPrivate):
        make_folder(tmp_path / "open" / "cache" / "objects")
    assert list((tmp_path / "open").iterdir()) == []


@needs_root
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_folder_of_another_user_is_refused(folder: Path, depth: int) -> None:
    changed = [folder, *folder.parents][depth]
    os.chown(changed, STRANGER, STRANGER)
    assert f"{changed} belongs to user {STRANGER}" in reason(folder)


@pytest.mark.parametrize("depth", [0, 1])
def test_a_link_in_place_of_the_cache_is_refused(folder: Path, tmp_path: Path, depth: int) -> None:
    changed = [folder, *folder.parents][depth]
    moved = tmp_path / "elsewhere"
    changed.rename(moved)
    changed.symlink_to(moved)
    assert f"{changed} is a symbolic link" in reason(folder)


def test_a_link_on_the_way_is_followed_and_its_target_is_checked(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    (disk / "home").mkdir(parents=True)
    (tmp_path / "home").symlink_to("x/../disk/./home")
    (tmp_path / "x").mkdir()
    folder = tmp_path / "home" / "cache" / "objects"
    make_folder(folder)
    assert refusal(folder) is None
    disk.chmod(0o777)
    assert reason(folder).startswith(str(disk))


@needs_root
def test_a_link_of_another_user_on_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "home").symlink_to("real")
    os.lchown(tmp_path / "home", STRANGER, STRANGER)
    assert "belongs to user" in reason(tmp_path / "home" / "cache" / "objects")


def test_links_that_never_end_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="Too many levels"):
        refusal(tmp_path / "a" / "cache" / "objects")


@needs_root
def test_an_ordinary_user_may_use_own_folders_below_those_of_root(folder: Path) -> None:
    for each in (folder, folder.parent):
        os.chown(each, STRANGER, STRANGER)
    os.seteuid(STRANGER)
    try:
        # The temporary folder of pytest belongs to root, and is closed for others.
        with pytest.raises(PermissionError):
            os.listdir(folder.parent.parent)
        assert refusal(Path("/usr/lib")) is not None
    finally:
        os.seteuid(0)
    assert "belongs to user" in reason(folder)


def test_a_file_is_opened_only_if_it_is_private(folder: Path) -> None:
    file = folder / "file"
    file.write_bytes(b"content")
    file.chmod(0o644)
    os.close(open_private(file))
    for mode in (0o664, 0o646):
        file.chmod(mode)
        with pytest.raises(NotPrivate, match="gives permissions"):
            open_private(file)
    (folder / "link").symlink_to(file)
    with pytest.raises(OSError, match="symbolic links"):
        open_private(folder / "link")
    for other in (folder / "fifo", folder / "folder"):
        os.mkfifo(other) if other.name == "fifo" else other.mkdir()
        with pytest.raises(NotPrivate, match="not a regular file"):
            open_private(other)


@needs_root
def test_a_file_of_another_user_is_not_opened(folder: Path) -> None:
    file = folder / "file"
    file.write_bytes(b"content")
    os.chown(file, STRANGER, STRANGER)
    with pytest.raises(NotPrivate, match=f"belongs to user {STRANGER}"):
        open_private(file)
