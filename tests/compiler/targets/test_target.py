import pytest

from compiler.errors import CompileError
from compiler.targets import target as targets


def test_the_host_has_sane_facts():
    host = targets.by_name("host")
    assert host.vector_bytes in (16, 32, 64)
    assert host.n_vector_registers in (16, 32)
    assert 8 << 10 <= host.l1d_bytes <= 1 << 20
    assert host.l1d_bytes <= host.l2_bytes
    assert host.n_cores >= 1
    assert host.features.startswith(("+", "-"))


def test_wide_vectors_of_the_host_are_not_split():
    host = targets.host()
    assert host.vector_bytes < 64 or "-prefer-256-bit" in host.features


@pytest.mark.parametrize("name", targets.names())
def test_every_target_is_found_by_its_name(name: str):
    found = targets.by_name(name)
    assert found.name == name
    assert found.lanes(4) == found.vector_bytes // 4


def test_an_unknown_target_is_an_error_of_the_user():
    with pytest.raises(CompileError) as e:
        targets.by_name("pdp-11")
    assert e.value.code == "E-TARGET-NAME"
    assert "x86-64-v3" in e.value.message


def test_sizes_are_read_with_their_units():
    assert targets.parse_size("48K\n") == 48 << 10
    assert targets.parse_size("32M") == 32 << 20
    assert targets.parse_size("512") == 512
    with pytest.raises(ValueError, match="invalid literal"):
        targets.parse_size("big")


def test_caches_come_from_the_system_or_the_fallback(tmp_path, monkeypatch):
    monkeypatch.setattr(targets, "_sysconf_bytes", lambda level: 0)
    for i, (level, kind, size) in enumerate(
        [("1", "Instruction", "64K"), ("1", "Data", "48K"), ("2", "Unified", "1024K")]
    ):
        folder = tmp_path / f"index{i}"
        folder.mkdir()
        for name, text in (("level", level), ("type", kind), ("size", size)):
            (folder / name).write_text(text + "\n")
    (tmp_path / "index3").mkdir()
    root = str(tmp_path)
    assert targets._cache_bytes(1, 7, root) == 48 << 10
    assert targets._cache_bytes(2, 7, root) == 1 << 20
    assert targets._cache_bytes(3, 7, root) == 7
