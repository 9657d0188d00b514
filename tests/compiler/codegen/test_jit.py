"""Tests of the JIT: the cache on disk, entry points, other targets, threads."""

import ctypes
import hashlib
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from compiler.codegen import jit
from compiler.codegen.jit import Library, ObjectStore, assembly, defined_symbols, object_code
from compiler.codegen.module import Arg, Launch, module_ir
from compiler.loops.text import parse_kernel
from compiler.targets.target import TARGETS, host

ADD = """kernel add(x: f32[32] input, z: f32[32] input, y: f32[32] output) {
  vector i in 0..32 { y[i] = add(x[i], z[i]) } }"""
DOUBLE = """kernel double(x: f32[32] input, y: f32[32] output) {
  vector i in 0..32 { y[i] = add(x[i], x[i]) } }"""


def program() -> str:
    """Return a program of out = 2 * (input + constant), with the sum in the arena at byte 64."""
    launches = [
        Launch("add", (Arg("input", 0), Arg("constants", 128), Arg("arena", 64))),
        Launch("double", (Arg("arena", 64), Arg("output", 1))),
    ]
    kernels = {"add": parse_kernel(ADD), "double": parse_kernel(DOUBLE)}
    return module_ir(kernels, launches, host(), segments=[(0, 1), (1, 2)])


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    found = ObjectStore(tmp_path / "cache")
    monkeypatch.setattr(ObjectStore, "default", staticmethod(lambda: found))
    return found


def run(library: Library, *entries: str) -> np.ndarray:
    x, w = np.arange(32, dtype=np.float32), np.zeros(64, np.float32)
    w[32:] = 100
    arena, out = np.zeros(256, np.uint8), np.zeros(32, np.float32)
    inputs = (ctypes.c_void_p * 1)(x.ctypes.data)
    outputs = (ctypes.c_void_p * 2)(None, out.ctypes.data)
    for entry in entries:
        pointers = (
            arena.ctypes.data,
            w.ctypes.data,
            ctypes.addressof(inputs),
            ctypes.addressof(outputs),
        )
        library.function(entry)(*pointers)
    np.testing.assert_array_equal(out, 2 * (x + 100))
    return out


def test_the_entry_point_runs_all_launches(store: ObjectStore):
    run(Library.compile(program()), "run")


def test_segments_run_one_after_the_other(store: ObjectStore):
    library = Library.compile(program())
    assert set(library.symbols) == {"add", "double", "run", "run_0", "run_1"}
    run(library, "run_0", "run_1")


def test_an_object_is_compiled_once(store: ObjectStore, monkeypatch: pytest.MonkeyPatch):
    code = object_code(program(), host())
    monkeypatch.setattr(jit, "_machine", lambda target: pytest.fail("compiled again"))
    assert object_code(program(), host()) == code


def test_damaged_entries_are_made_again(store: ObjectStore):
    ir = program()
    code = object_code(ir, host())
    assert store.files.directory is not None
    entry = store.files.directory / store.key(ir, host())
    for damage in (b"", b"short", entry.read_bytes()[:-1], bytes(len(code) + 32)):
        entry.write_bytes(damage)
        assert store.get(entry.name) is None
        assert object_code(ir, host()) == code
        assert store.get(entry.name) == code


def test_a_crafted_object_under_a_valid_name_is_not_executed(store: ObjectStore):
    """An attacker without the key stores other machine code under the name of an entry."""
    ir = program()
    code = object_code(ir, host())
    other = object_code(program().replace("fadd", "fsub"), host())
    assert other != code
    assert store.files.directory is not None
    entry = store.files.directory / store.key(ir, host())
    foreign = ObjectStore(store.files.directory.parent / "attacker")
    foreign.put(entry.name, other)
    assert foreign.files.directory is not None
    for crafted in (
        hashlib.sha256(other).digest() + other,  # the entry of an earlier version
        (foreign.files.directory / entry.name).read_bytes(),  # signed with another key
    ):
        entry.write_bytes(crafted)
        run(Library.compile(ir), "run")
        assert store.get(entry.name) == code


def test_a_directory_that_cannot_be_written_only_costs_time(tmp_path: Path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setattr(ObjectStore, "default", staticmethod(lambda: ObjectStore(blocked / "x")))
    run(Library.compile(program()), "run")


def test_the_store_forgets_the_oldest_first(tmp_path: Path):
    names = [f"{i:064x}" for i in range(4)]
    store = ObjectStore(tmp_path / "objects", limit_bytes=400)
    for i, name in enumerate(names):
        store.put(name, bytes(60))
        os.utime(tmp_path / "objects" / name, (i, i))
    store.files.trim()
    assert store.get(names[0]) is None
    assert store.get(names[3]) == bytes(60)


def test_the_key_says_for_which_machine_and_text(store: ObjectStore):
    v3, v4 = TARGETS["x86-64-v3"], TARGETS["x86-64-v4"]
    assert len({store.key("a", v3), store.key("a", v4), store.key("b", v3)}) == 3


@pytest.mark.parametrize("name", TARGETS)
def test_every_target_gives_text_and_objects(store: ObjectStore, name: str):
    target = TARGETS[name]
    ir = module_ir({"add": parse_kernel(ADD)}, [], target)
    assert "add" in assembly(ir, target)
    assert len(object_code(ir, target)) > 100


def test_threads_may_compile_and_run_at_once(store: ObjectStore):
    failures: list[BaseException] = []

    def work(n: int) -> None:
        try:
            text = ADD.replace("add(x[i], z[i])", f"add(x[i], f32({n}.0))")
            library = Library.compile(module_ir({"add": parse_kernel(text)}, [], host()))
            x, y = np.zeros(32, np.float32), np.zeros(32, np.float32)
            library.function("add", 3)(x.ctypes.data, x.ctypes.data, y.ctypes.data)
            assert (y == n).all()
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


def test_defined_symbols_are_found_whatever_their_names():
    ir = 'define void @"a b.c"(ptr %x) {\n}\ndefine void @run(ptr %x) {\n}\ndeclare void @no()'
    assert defined_symbols(ir) == ["a b.c", "run"]
