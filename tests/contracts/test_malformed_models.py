"""Tests of broken, hostile or absurd files: each raises one error, without side effects."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler.errors import CODES, CompileError
from compiler.frontend import UPLOAD_LIMITS, Limits, load
from tests.malformed import CASES
from tests.malformed.cases import (
    Maker,
    relu,
    with_stored,
)
from tests.malformed.tensors import external
from tests.onnx_models import I64, model, node, stored, value


@pytest.mark.parametrize(("make", "code", "mentions"), CASES)
def test_a_malformed_model_gets_one_error_with_a_hint(
    make: Maker, code: str, mentions: str
) -> None:
    with pytest.raises(CompileError) as caught:
        load(make(), UPLOAD_LIMITS)
    assert caught.value.code == code, str(caught.value)
    assert caught.value.hint
    assert mentions in str(caught.value)


def test_there_are_many_kinds_of_malformed_models() -> None:
    assert len(CASES) >= 60
    codes = {p.values[1] for p in CASES}
    reading = {c for c in CODES if c.startswith("E-MODEL-")} - {"E-MODEL-FILE"}
    assert reading <= codes


# Models from a path: only the model file is opened


@contextmanager
def opened_files() -> Iterator[list[str]]:
    """Yield the list of files that Python code opens in the block."""
    opened: list[str] = []
    listening = [True]

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if listening[0] and event == "open" and isinstance(arguments[0], str | bytes):
            opened.append(str(arguments[0]))

    sys.addaudithook(hook)
    try:
        yield opened
    finally:
        listening[0] = False


@pytest.mark.parametrize("location", ["beside.bin", "../outside.bin", "link.bin", "/etc/passwd"])
def test_external_data_are_refused_without_opening_them(tmp_path: Path, location: str) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    for target in (folder / "beside.bin", tmp_path / "outside.bin"):
        target.write_bytes(bytes(24))
    (folder / "link.bin").symlink_to(folder / "beside.bin")
    path = folder / "model.onnx"
    path.write_bytes(with_stored(external(location=location)))
    with opened_files() as opened, pytest.raises(CompileError) as caught:
        load(path)
    assert caught.value.code == "E-MODEL-EXTERNAL"
    assert caught.value.where.source == "model.onnx"
    assert [f for f in opened if Path(f).suffix != ".py"] == [str(path)]


def test_a_path_that_is_no_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.onnx", "/dev/zero", "a\0b"):
        with pytest.raises(CompileError) as caught:
            load(path)
        assert caught.value.code == "E-MODEL-FILE"


def test_a_file_beyond_the_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large.onnx"
    with path.open("wb") as f:
        f.truncate(UPLOAD_LIMITS.file_bytes + 1)
    with pytest.raises(CompileError) as caught:
        load(path, UPLOAD_LIMITS)
    assert caught.value.code == "E-MODEL-SIZE"
    with pytest.raises(CompileError) as caught:
        load(bytes(100), Limits(file_bytes=99))
    assert caught.value.code == "E-MODEL-SIZE"


def outcome(data: bytes) -> str:
    """Return the code of the error for some bytes; "read" for no error."""
    try:
        load(data, UPLOAD_LIMITS)
    except CompileError as e:
        return e.code
    return "read"


def test_a_model_cut_anywhere_is_refused_or_read_but_never_breaks() -> None:
    nodes = [node("Add", ["x", "w"], ["a"]), node("Relu", ["a"], ["y"])]
    whole = model(nodes, initialisers=[stored("w", np.ones((2, 3), np.float32))])
    data = whole.SerializeToString()
    assert outcome(data) == "read"
    for end in range(len(data)):
        assert outcome(data[:end]) in {"read", *CODES}


def test_changed_bytes_are_refused_or_read_but_never_break() -> None:
    data = relu(initialisers=[stored("w", np.ones(5, np.float32))]).SerializeToString()
    chance = np.random.default_rng(11)
    outcomes: set[str] = set()
    for _ in range(3000):
        changed_data = bytearray(data)
        for place in chance.integers(0, len(data), chance.integers(1, 4)):
            changed_data[place] = chance.integers(0, 256)
        outcomes.add(outcome(bytes(changed_data)))
    assert {"read", "E-MODEL-PROTOBUF", "E-MODEL-NAME"} <= outcomes


def test_numbers_that_onnx_does_not_check_are_never_handed_to_its_inference() -> None:
    """onnx's own type inference ends the process for each of these."""
    big = 2**63 - 1
    norm = node("LayerNormalization", ["x", "w"], ["y", "m", "s"], axis=big)
    gather = node("GatherND", ["x", "i"], ["y"], batch_dims=-5)
    cut = node("Split", ["x"], ["y", "z", "v"], axis=1, num_outputs=1)
    outputs = [value("y", None), value("m", None)]
    cases = [
        model([norm], [value("x"), value("w", (3,))], outputs),
        model([gather], [value("x"), value("i", (2, 1), I64)]),
        model([cut], outputs=[value("y"), value("z"), value("v")], opset=18),
    ]
    assert {outcome(made.SerializeToString()) for made in cases} <= {"read", *CODES}
