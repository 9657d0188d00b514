"""Tests of constants: memory use equals the stored bytes, and text parses back."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from compiler.errors import CompileError
from compiler.ir.constant import Bytes, Constant, FileRange, Literal, Seeded, Splat, loaded_storage
from compiler.ir.text import parse_graph
from compiler.ir.types import tensor


def test_a_broadcast_of_one_number_is_a_splat_of_one_element() -> None:
    c = Constant.of(np.broadcast_to(np.float32(2.5), (1000, 1000, 100)))
    assert isinstance(c.storage, Splat)
    assert c.stored_bytes == 4
    assert c.array().shape == (1000, 1000, 100)
    assert c.array().strides == (0, 0, 0)


def test_few_elements_are_a_literal_and_many_are_bytes() -> None:
    assert isinstance(Constant.of(np.arange(16)).storage, Literal)
    assert isinstance(Constant.of(np.arange(17)).storage, Bytes)


def test_an_array_is_not_copied() -> None:
    values = np.arange(100, dtype=np.float32)
    assert np.shares_memory(Constant.of(values).array(), values)


def test_equal_content_is_equal_storage() -> None:
    a, b = Constant.of(np.arange(100)), Constant.of(np.arange(100))
    other = Constant.of(np.arange(100)[::-1])
    assert a == b
    assert a != other
    assert Constant.of(np.array([0.0])) != Constant.of(np.array([-0.0]))


@pytest.mark.parametrize("n", [17, 5000])
def test_one_element_tells_bytes_apart(n: int) -> None:
    values = np.arange(n, dtype=np.float32)
    for at in range(0, n, 7):
        other = values.copy()
        other[at] += 0.25
        assert Constant.of(other) != Constant.of(values)
        other[at] = values[at]
        same = Constant.of(other)
        assert same == Constant.of(values)
        assert hash(same) == hash(Constant.of(values))


def test_splats_are_equal_when_their_bits_are() -> None:
    def splat(value: float, t: str = "f32[2,3]") -> Constant:
        return Constant.splat(value, tensor(t))

    assert splat(np.nan) == splat(np.nan)
    assert len({splat(np.nan), splat(np.nan)}) == 1
    assert splat(0.0) != splat(-0.0)
    assert splat(1.0).storage != splat(1.0, "f16[2,3]").storage
    assert Constant.splat("a", tensor("string[2,3]")) == Constant.splat("a", tensor("string[2,3]"))


def test_a_range_of_a_file_is_read_when_asked(tmp_path) -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    path = tmp_path / "weights.bin"
    path.write_bytes(b"head" + values.tobytes())
    c = Constant(tensor("f32[2,3]"), FileRange(str(path), 4, 24))
    assert c.stored_bytes == 0
    np.testing.assert_array_equal(c.array(), values)
    path.unlink()
    with pytest.raises(CompileError) as e:
        c.array()
    assert e.value.code == "E-MODEL-FILE"


def test_bytes_are_found_by_their_digest_while_somebody_holds_them() -> None:
    c = Constant.of(np.arange(1000.0))
    assert isinstance(c.storage, Bytes)
    digest = c.storage.digest
    assert loaded_storage("blob", digest) is c.storage
    del c
    gc.collect()
    with pytest.raises(CompileError) as e:
        loaded_storage("blob", digest)
    assert e.value.code == "E-TEXT-STORAGE"


def test_the_same_bytes_in_two_shapes_and_types_are_both_found_in_text() -> None:
    flat = Constant.of(np.arange(24, dtype=np.float32))
    square = Constant.of(np.arange(24, dtype=np.float32).reshape(2, 12))
    whole = Constant.of(np.arange(24, dtype=np.float32).view(np.int32))
    text = f"""graph g() {{
  const a: f32[24] = blob("{flat.storage.digest}")
  const b: f32[2,12] = blob("{square.storage.digest}")
  const c: i32[24] = blob("{whole.storage.digest}")
  return a, b, c
}}"""
    again = parse_graph(text).constants
    for name, made in (("a", flat), ("b", square), ("c", whole)):
        assert again[name] == made
        np.testing.assert_array_equal(again[name].array(), made.array())
        assert again[name].array().dtype == made.type.dtype.numpy


def test_drawn_numbers_are_said_by_their_seed() -> None:
    text = "graph g() {\n  const w: f16[300,7] = seeded(5, 0.25)\n  return w\n}"
    c = parse_graph(text).constants["w"]
    assert c.storage == Seeded(5, 0.25)
    assert c.stored_bytes == 0
    values = c.array()
    assert values.dtype == np.float16
    assert 0.2 < values.std() < 0.3
    assert np.array_equal(values, parse_graph(text).constants["w"].array())
    assert str(parse_graph(text)) == text


@pytest.mark.parametrize(
    "words", ["i32[2] = seeded(1, 1)", "f32[N] = seeded(1, 1)", "f32[2] = seeded(-1, 1)",
              "f32[2] = seeded(1, -1)", "f32[2] = seeded(1, nan)", "f32[2] = seeded(1)",
              "f32[2] = seeded(4294967296, 1)", "f32[2] = seeded(1.5, 1)"]
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused(words: str) -> None:
    with pytest.raises(CompileError, match="E-TEXT-SYNTAX"):
        parse_graph(f"graph g() {{\n  const w: {words}\n  return w\n}}")
