"""Tests of programs loaded from disk: equal results and answers, and damaged files."""

import gc
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import compiler
from compiler.errors import CompileError
from compiler.runtime.kept import KeptProgram, ProgramStore

X = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)


def model(scale: float = 3.0, op: str = "Exp", size: object = 2) -> bytes:
    """Return a model of y = op(x @ w) with w of 3 x 5."""
    value = helper.make_tensor_value_info
    w = (np.arange(15, dtype=np.float32).reshape(3, 5) - 7) / 16 * np.float32(scale)
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["p"], name="product"),
            helper.make_node(op, ["p"], ["y"], name="the_end"),
        ],
        "g",
        [value("x", TensorProto.FLOAT, [size, 3])],
        [value("y", TensorProto.FLOAT, [size, 5])],
        [numpy_helper.from_array(w, "w")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return made.SerializeToString()


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COMPILARIUM_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def is_kept(program: object) -> bool:
    return type(program) is KeptProgram


def entries(cache: Path) -> list[Path]:
    """Return the files of cached programs; the bulk of each has the weights."""
    return sorted(p for p in (cache / "programs").iterdir() if len(p.name) == 64)


def bulk(entry: Path) -> Path:
    return entry.with_name(f"{entry.name}.bulk")


def test_the_second_program_comes_from_disk_and_gives_the_same(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(model())
    first, second = compiler.compile(path), compiler.compile(path)
    assert not is_kept(first)
    assert is_kept(second)
    a, b = first.run({"x": X}), second.run({"x": X})
    assert list(a) == list(b) == ["y"]
    assert np.array_equal(a["y"], b["y"])
    assert isinstance(second, compiler.Program)
    assert [k.name for k in second.kernels] == [k.name for k in first.kernels]
    assert second.emit("llvm") == first.emit("llvm")
    assert second.trace is not None
    assert len(second.profile({"x": X}, repeat=1)) == len(first.kernels)


def test_another_process_finds_it(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(model())
    compiler.compile(path).settle()
    script = (
        "import sys, numpy as np, compiler\n"
        f"p = compiler.compile({str(path)!r})\n"
        "assert type(p).__name__ == 'KeptProgram'\n"
        "x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)\n"
        "print(p.run({'x': x})['y'].tobytes().hex())\n"
        "assert 'compiler.passes' not in sys.modules and 'onnx' not in sys.modules\n"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    expected = compiler.compile(compiler.load(path)).run({"x": X})["y"]
    assert told.stdout.strip() == expected.tobytes().hex()


def test_the_end_of_a_process_waits_until_its_program_is_on_disk(
    tmp_path: Path, own_cache: Path
) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(model())
    script = f"import compiler; compiler.compile({str(path)!r})"
    subprocess.run([sys.executable, "-c", script], check=True)
    assert len(entries(own_cache)) == 1
    assert is_kept(compiler.compile(path))


def test_what_was_asked_for_tells_programs_apart() -> None:
    data = model()
    compiler.compile(data)
    assert is_kept(compiler.compile(data))
    for options in ({"pipeline": "O0"}, {"trace": False}, {"inputs": {"x": (2, 3)}}):
        assert not is_kept(compiler.compile(data, **options))
        assert is_kept(compiler.compile(data, **options))
    assert not is_kept(compiler.compile(model(scale=2.0)))
    assert not is_kept(compiler.compile(data, progress=lambda name, event: None))
    assert not is_kept(compiler.compile(compiler.load(data)))


def test_a_file_that_changed_is_another_model(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    for scale, settled in ((3.0, True), (2.0, True), (1.5, False)):
        path.write_bytes(model(scale))
        if settled:
            os.utime(path, (time.time() - 60 * scale, time.time() - 60 * scale))
        program = compiler.compile(path)
        assert not is_kept(program)
        assert is_kept(compiler.compile(path))
        expected = compiler.reference(compiler.load(path), {"x": X})["y"]
        assert np.allclose(compiler.compile(path).run({"x": X})["y"], expected, rtol=1e-5)


@pytest.mark.parametrize("damaged", ["entry", "bulk"])
@pytest.mark.parametrize("damage", ["gone", "short", "long", "noise"])
def test_a_damaged_program_is_made_again(own_cache: Path, damaged: str, damage: str) -> None:
    data = model()
    program = compiler.compile(data)
    expected = program.run({"x": X})["y"]
    program.settle()
    (entry,) = entries(own_cache)
    file = entry if damaged == "entry" else bulk(entry)
    was = file.read_bytes()
    if damage == "gone":
        file.unlink()
    elif damage == "noise":
        file.write_bytes(was[:-1] + bytes([was[-1] ^ 0x5A]))
    else:
        file.write_bytes(was[:-3] if damage == "short" else was + b"more")
    again = compiler.compile(data)
    assert not is_kept(again)
    assert np.array_equal(again.run({"x": X})["y"], expected)
    assert is_kept(compiler.compile(data))


def test_a_copied_cache_is_accepted_and_weights_of_another_time_are_not(own_cache: Path) -> None:
    data = model()
    compiler.compile(data).settle()
    (entry,) = entries(own_cache)
    facts, content = bulk(entry).stat(), bulk(entry).read_bytes()
    bulk(entry).unlink()
    bulk(entry).write_bytes(content)
    bulk(entry).chmod(0o600)
    assert is_kept(compiler.compile(data))
    with bulk(entry).open("r+b") as f:  # equal size, inode and times, but the time of change
        f.write(bytes([content[0] ^ 1]))
    os.utime(bulk(entry), ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert not is_kept(compiler.compile(data))


def test_inputs_that_do_not_fit_are_told_as_ever() -> None:
    data = model()
    compiler.compile(data)
    kept = compiler.compile(data)
    assert np.array_equal(kept.run({"x": X.tolist()})["y"], kept.run({"x": X})["y"])
    assert np.array_equal(kept.run({"x": np.asfortranarray(X)})["y"], kept.run({"x": X})["y"])
    with pytest.raises(CompileError, match="E-INPUT"):
        kept.run({"x": X[:, :2]})
    with pytest.raises(CompileError, match="E-INPUT"):
        kept.run({"z": X})


def test_open_sizes_and_fallbacks_are_not_kept(own_cache: Path) -> None:
    data = model(size="N")
    for _ in range(2):
        program = compiler.compile(data)
        assert not is_kept(program)
        assert program.run({"x": X})["y"].shape == (2, 5)
    with_shape = {"inputs": {"x": (2, 3)}}
    compiler.compile(data, **with_shape)
    assert is_kept(compiler.compile(data, **with_shape))


def test_errors_are_not_kept() -> None:
    for _ in range(2):
        with pytest.raises(CompileError, match="E-MODEL"):
            compiler.compile(b"no model")
        with pytest.raises(CompileError, match="E-MODEL"):
            compiler.compile("/no/such/file.onnx")
        with pytest.raises(CompileError, match="E-PIPELINE"):
            compiler.compile(model(), pipeline="no_such_pass")


def test_the_collector_of_garbage_is_left_as_it_was() -> None:
    was = gc.get_threshold()
    during: list[tuple[int, ...]] = []

    def look(name: str, event: object) -> None:
        during.append(gc.get_threshold())
        if len(during) == 1:
            compiler.compile(model(), progress=look)

    compiler.compile(model(), progress=look)
    with pytest.raises(CompileError):
        compiler.compile(b"no model", progress=look)
    assert gc.get_threshold() == was


@pytest.mark.parametrize("is_frozen", [True, False])
def test_what_compiling_made_is_old_unless_the_user_has_frozen_something(is_frozen: bool) -> None:
    made: list[list[str]] = []
    if is_frozen:
        gc.freeze()
    try:
        compiler.compile(model(), progress=lambda name, event: made.append([name]))
        assert bool(gc.get_freeze_count()) is is_frozen
        if not is_frozen:
            old = {id(o) for o in gc.get_objects(generation=2)}
            assert made
            assert all(id(o) in old for o in made)
    finally:
        gc.unfreeze()


def test_nothing_is_kept_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    for place in ("", str(blocked / "cache")):
        monkeypatch.setenv("COMPILARIUM_CACHE", place)
        for _ in range(2):
            program = compiler.compile(model())
            assert not is_kept(program)
            assert program.run({"x": X})["y"].shape == (2, 5)


def test_the_programs_used_longest_ago_go_first(own_cache: Path) -> None:
    for scale in (1.0, 2.0, 3.0):
        compiler.compile(model(scale)).settle()
    first, second, third = sorted(entries(own_cache), key=lambda f: f.stat().st_mtime_ns)
    for age, entry in ((30, second), (20, third), (10, first)):
        for file in (entry, bulk(entry)):
            os.utime(file, (time.time() - age, time.time() - age))
    nbytes = first.stat().st_size + bulk(first).stat().st_size
    ProgramStore(own_cache / "programs", limit_bytes=2 * nbytes + nbytes // 2).trim()
    assert entries(own_cache) == sorted([first, third])
    assert not bulk(second).exists()
