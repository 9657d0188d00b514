"""Tests of the search for an OpenMP runtime, for any set of installed libraries."""

from __future__ import annotations

from pathlib import Path

from compiler.codegen.threads import openmp


def test_a_runtime_is_taken_that_loads_and_has_what_is_needed():
    found = openmp.runtime()
    assert found is not None, "the tests of threads need libgomp1 or another OpenMP runtime"
    assert set(found.addresses) >= {"omp_get_thread_num", "omp_get_num_threads"}
    again = openmp.first_loaded(["no-such-library.so", "libc.so.6", found.path])
    assert again is not None
    assert again.addresses == found.addresses


def test_where_nothing_loads_there_is_none():
    assert openmp.first_loaded([]) is None
    assert openmp.first_loaded(["no-such-library.so.1", "libm.so.6"]) is None


def test_every_system_has_names_to_try():
    for platform, name in (
        ("linux", "libgomp.so.1"),
        ("darwin", "libomp.dylib"),
        ("win32", "libiomp5md.dll"),
    ):
        assert name in openmp.system_names(platform)


def test_runtimes_in_packages_are_found(tmp_path: Path):
    root = tmp_path / "site-packages"
    for path in ("scikit_learn.libs/libgomp-e985.so.1.0.0", "sklearn/.dylibs/libomp.dylib"):
        (root / path).parent.mkdir(parents=True)
        (root / path).touch()
    found = list(openmp.bundled([str(tmp_path / "other"), str(root)]))
    assert found[:2] == [
        root / "scikit_learn.libs/libgomp-e985.so.1.0.0",
        root / "sklearn/.dylibs/libomp.dylib",
    ]
