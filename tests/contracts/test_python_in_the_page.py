"""Tests of the parts from which the build makes Python for the page."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import hatch_build
from compiler.ir.types import DType
from setup.pyodide import fetch, pack
from setup.pyodide import ml_dtypes as substitute

REPOSITORY = Path(__file__).resolve().parents[2]
FOREIGN = [t for t in DType if t.numpy.type.__module__ != "numpy"]


def test_the_substitute_of_ml_dtypes_has_a_distinct_type_for_each_element_type() -> None:
    assert len(FOREIGN) >= 13
    made = [getattr(substitute, t.numpy.name) for t in FOREIGN]
    assert len({*made, *(t.numpy for t in DType)}) == len(made) + len(DType)
    assert [d.itemsize for d in made] == [t.numpy.itemsize for t in FOREIGN]


@pytest.mark.parametrize("dtype", FOREIGN, ids=str)
def test_the_substitute_of_ml_dtypes_has_the_limits_of_the_package(dtype: DType) -> None:
    stands_for = getattr(substitute, dtype.numpy.name)
    if dtype.is_integer:
        real, ours = ml_dtypes.iinfo(dtype.numpy), substitute.iinfo(stands_for)
        assert (ours.min, ours.max) == (real.min, real.max)
        return
    limits, found = ml_dtypes.finfo(dtype.numpy), substitute.finfo(stands_for)
    for name in ("eps", "smallest_normal", "tiny", "max", "min"):
        assert getattr(found, name) == float(getattr(limits, name)), name


def test_the_substitute_of_ml_dtypes_passes_other_types_on() -> None:
    assert substitute.finfo(np.float32).eps == np.finfo(np.float32).eps
    assert substitute.iinfo("i1").max == 127


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lock that demands the wheel with the content `numpy`, and a folder that has this wheel."""
    numpy = {"file_name": "numpy.whl", "sha256": hashlib.sha256(b"numpy").hexdigest()}
    path = tmp_path / "lock.json"
    path.write_text(json.dumps({"packages": {"numpy": numpy}}))
    given = tmp_path / "given"
    given.mkdir()
    (given / "numpy.whl").write_bytes(b"numpy")
    monkeypatch.setattr(fetch, "LOCK", path)
    monkeypatch.setenv(fetch.FOLDER_VARIABLE, str(given))
    return given


def test_the_wheel_comes_from_the_users_folder_and_is_kept(lock: Path, tmp_path: Path) -> None:
    kept = fetch.wheel_in(tmp_path / "kept")
    assert kept.read_bytes() == b"numpy"
    (lock / "numpy.whl").unlink()
    assert fetch.wheel_in(tmp_path / "kept") == kept


def test_a_wheel_with_another_digest_is_refused(lock: Path, tmp_path: Path) -> None:
    (lock / "numpy.whl").write_bytes(b"other")
    with pytest.raises(ValueError, match="another digest"):
        fetch.wheel_in(tmp_path / "kept")
    assert not (tmp_path / "kept" / "numpy.whl").exists()


def test_a_missing_source_is_an_error(lock: Path, tmp_path: Path) -> None:
    (lock / "numpy.whl").unlink()
    with pytest.raises(OSError, match=r"numpy\.whl"):
        fetch.wheel_in(tmp_path / "kept")


def test_packed_code_runs_and_unchanged_bytecode_is_reused(tmp_path: Path) -> None:
    source, first, second = (str(tmp_path / n) for n in ("in.zip", "1.zip", "2.zip"))
    with zipfile.ZipFile(source, "w") as archive:
        archive.writestr("room/part.py", "VALUE = 6 * 7\n")
        archive.writestr("room/data.toml", "a = 1\n")
    pack.pack_library(source, first, "")
    with zipfile.ZipFile(first) as archive:
        assert archive.namelist() == ["room/", "room/part.pyc", "room/data.toml"]
        archive.extractall(tmp_path / "out")
    program = "import room.part; print(room.part.VALUE)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path / "out", capture_output=True, text=True
    )
    assert done.stdout.strip() == "42", done.stderr
    pack.pack_library(source, second, first)
    assert Path(second).read_bytes() == Path(first).read_bytes()
    known = b"".join([importlib.util.MAGIC_NUMBER, bytes(4), importlib.util.source_hash(b"x = 1")])
    assert pack._bytecode("x.py", b"x = 1", known) is known
    assert pack._bytecode("x.py", b"x = 2", known) != known


def test_the_files_of_the_page_hold_all_that_the_course_imports(tmp_path: Path) -> None:
    for name, path in pack.files_of_the_page(REPOSITORY):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(path.read_bytes())
    names = (p.stem for p in (tmp_path / "course" / "student").glob("*.py"))
    students = ", ".join(f"course.student.{n}" for n in names if n != "__init__")
    program = f"import course.exercises, course.blocks.all, {students}; print(course.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True,
        env={"PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert done.stdout.strip() == str(tmp_path / "course" / "__init__.py"), done.stderr


def test_a_build_without_numpys_wheel_succeeds_and_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    calls: list[tuple[str, ...]] = []

    def npm(root: Path, *arguments: str) -> None:
        calls.append(arguments)
        (root / hatch_build.PYTHON).mkdir(parents=True, exist_ok=True)
        (root / hatch_build.PYTHON / "python.json").write_text("{}")

    made = ("package.json", "package-lock.json", "app/__init__.py", "app/textdiff.py")
    for name in (*made, "static/build_python.mjs"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("{}")
    fetching = tmp_path / "setup" / "pyodide" / "fetch.py"
    fetching.parent.mkdir(parents=True)
    fetching.write_text("import sys; sys.exit('numpy for Pyodide: no source')\n")
    monkeypatch.setattr(hatch_build, "_npm", npm)
    monkeypatch.setattr(hatch_build, "install_packages", lambda root: None)
    assert hatch_build.bundle_python(tmp_path) is True
    assert calls == [("run", "build:python")]
    said = capfd.readouterr().err
    assert "no source" in said
    assert "tries again" in said
    # Later builds do not try again, except on request, or after a change.
    assert hatch_build.bundle_python(tmp_path) is False
    assert hatch_build.bundle_python(tmp_path, again=True) is True
    fetching.write_text("print('build/pyodide/numpy.whl')\n")
    with pytest.raises(RuntimeError, match="left out"):
        hatch_build.bundle_python(tmp_path)
    assert calls[-1] == ("run", "build:python", "--", "build/pyodide/numpy.whl")
