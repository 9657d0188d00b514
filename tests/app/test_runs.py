"""Tests of runs on given inputs: arrays over the wire, hostile files, outputs."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient

import compiler
from app.arrays import as_input, npy_bytes, read_array
from app.jobs.run import output_name, whole_inputs
from app.samples import find_sample
from app.wire import runs
from compiler.errors import CompileError
from compiler.ir.types import DType, TensorType
from tests.app.conftest import QUICK, compiled_job, started, wait
from tests.app.schema import check_shape
from tests.onnx_models import I64, model, node, value

DIGITS = np.load(find_sample("digits_cnn").path.parent / "digits_test.npz")


def saved(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def upload(client: FlaskClient, data: bytes, name: str = "x.npy") -> str:
    """Upload a file, and return its id."""
    answer = client.post(f"/api/v1/uploads?name={name}", data=data)
    assert answer.status_code == 201, answer.get_json()
    return answer.get_json()["id"]


def run(client: FlaskClient, job: str, **inputs: bytes) -> dict[str, Any]:
    """Run a compilation on files, and return the finished job."""
    ids = {name: upload(client, data) for name, data in inputs.items()}
    return started(client, f"/jobs/{job}/run", inputs=ids, seconds=0)


def test_a_digit_is_recognised_and_its_output_can_be_downloaded(real, compiled):
    image = DIGITS["images"][:1].astype("f4")
    done = run(real, compiled, image=saved(image))
    assert (done["kind"], done["state"]) == ("run", "succeeded"), done["error"]
    found = real.get(f"/api/v1/jobs/{done['id']}/run").get_json()
    check_shape(found, "RunResult", "run")
    assert found["inputs"] == [{"name": "image", "type": "f32[1,1,8,8]", "file": "x.npy"}]
    (output,) = found["outputs"]
    assert output["type"] == "f32[1,10]"
    assert output["are_probabilities"]
    assert output["classes"][0]["index"] == DIGITS["labels"][0]
    with real.get(f"/api/v1/jobs/{done['id']}/run/outputs/0") as answer:
        assert "probabilities.npy" in answer.headers["Content-Disposition"]
        numbers = np.load(io.BytesIO(answer.data))
    graph = compiler.load(find_sample("digits_cnn").path)
    expected = compiler.reference(graph, {"image": image})["probabilities"]
    np.testing.assert_allclose(numbers, expected, rtol=1e-4, atol=1e-6)
    assert real.get(f"/api/v1/jobs/{done['id']}/run/outputs/1").status_code == 404


def test_a_batch_runs_too_and_inputs_without_a_file_are_random(real, compiled):
    done = run(real, compiled, image=saved(DIGITS["images"][:3]))  # bytes become floats
    assert done["state"] == "succeeded", done["error"]
    found = real.get(f"/api/v1/jobs/{done['id']}/run").get_json()
    assert found["outputs"][0]["type"] == "f32[3,10]"
    assert found["outputs"][0]["classes"] == []
    assert (found["outputs"][0]["n_elements"], len(found["outputs"][0]["first"])) == (30, 30)
    found = real.get(f"/api/v1/jobs/{run(real, compiled)['id']}/run").get_json()
    assert found["inputs"] == [{"name": "image", "type": "f32[1,1,8,8]", "file": ""}]


def test_an_equal_request_is_answered_by_the_earlier_job(real, compiled):
    body = {"inputs": {"image": upload(real, saved(DIGITS["images"][4:5]))}, "seconds": 0}
    first = started(real, f"/jobs/{compiled}/run", **body)
    assert started(real, f"/jobs/{compiled}/run", **body)["id"] == first["id"]


def refuses_random_inputs() -> bytes:
    """Return a model with a shape as input, which is invalid if its sizes are random."""
    made = model(
        [node("Reshape", ["x", "s"], ["r"]), node("Relu", ["r"], ["y"])],
        [value("x", (6,)), value("s", (2,), I64)],
        [value("y", None)],
    )
    return made.SerializeToString()


def test_given_inputs_time_a_model_that_refuses_random_inputs(real):
    file = upload(real, refuses_random_inputs(), "table.onnx")
    options = {**QUICK, "measure": True}
    job = compiled_job(real, model={"upload": file}, options=options)
    times = real.get(f"/api/v1/jobs/{job}/result").get_json()["run"]
    assert times is None or times["median_s"] is None
    sizes = upload(real, saved(np.array([3, 2])))
    body = {"inputs": {"s": sizes}, "seconds": 0.1}
    done = started(real, f"/jobs/{job}/run", **body)
    assert done["state"] == "succeeded", done["error"]
    found = real.get(f"/api/v1/jobs/{done['id']}/run").get_json()
    assert found["outputs"][0]["type"] == "f32[3,2]"
    assert [row["file"] for row in found["inputs"]] == ["", "x.npy"]
    assert found["times"]["median_s"] > 0


def test_the_profile_of_a_run_is_that_of_its_inputs(real, compiled):
    image = upload(real, saved(DIGITS["images"][:1]))
    body = {"inputs": {"image": image}, "seconds": 0.1}
    done = started(real, f"/jobs/{compiled}/run", **body)
    found = real.get(f"/api/v1/jobs/{done['id']}/run").get_json()
    profile = real.get(f"/api/v1/jobs/{done['id']}/profile").get_json()
    assert profile["run"] == found["times"]
    assert profile["disturbance"] == found["disturbance"]
    assert found["disturbance"]["words"]


@pytest.mark.parametrize(
    ("file", "code"),
    [
        (b"not an array", "E-INPUT-FILE"),
        (saved(np.array([{}], object)), "E-INPUT-FILE"),
        (saved(np.zeros((1, 1, 8, 8), "f4"))[:-4], "E-INPUT-FILE"),
        (saved(np.zeros((1, 1, 8, 7), "f4")), "E-INPUT-SHAPE"),
        (saved(np.zeros((1, 1, 8, 8), "c8")), "E-INPUT-DTYPE"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_a_cause(real, compiled, file, code):
    done = run(real, compiled, image=file)
    assert (done["state"], done["error"]["code"]) == ("failed", code)
    assert "image" in done["error"]["message"]
    assert done["error"]["hint"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"inputs": []},
        {"inputs": {"image": 3}},
        {"inputs": {"image": "a" * 63}},
        {"inputs": {f"x{i}": "a" * 64 for i in range(257)}},
        {"inputs": {}, "seconds": 11},
        {"inputs": {}, "path": "/etc/passwd"},
    ],
)
def test_a_request_of_another_form_is_refused(real, compiled, body):
    answer = real.post(f"/api/v1/jobs/{compiled}/run", json=body)
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (400, "E-REQUEST-BODY")


def test_an_unknown_upload_and_an_unknown_input_are_named(real, compiled):
    answer = real.post(f"/api/v1/jobs/{compiled}/run", json={"inputs": {"image": "a" * 64}})
    assert answer.get_json()["error"]["code"] == "E-REQUEST-UNKNOWN"
    done = run(real, compiled, picture=saved(np.zeros(3)))
    assert done["error"]["code"] == "E-INPUT-NAME"
    assert "inputs: image" in done["error"]["message"]


def header(text: str, data: bytes = b"", version: bytes = b"\x01\x00") -> bytes:
    """Return a .npy file with this header."""
    size = struct.pack("<H" if version == b"\x01\x00" else "<I", len(text))
    return b"\x93NUMPY" + version + size + text.encode("latin1") + data


HOSTILE = {
    "code instead of a header": header("__import__('os').system('true')\n"),
    "a header that is too long": header(" " * 60_000 + "\n"),
    "a header that claims 4 GB": header("", version=b"\x02\x00")[:8] + b"\xff\xff\xff\xff",
    "a nested header": header("(" * 3000 + ")" * 3000 + "\n"),
    "an unknown version": header("{}\n", version=b"\x09\x00"),
    "more elements than bytes": header(
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,)}\n", b"\0" * 4
    ),
    "a size beyond 64 bits": header(
        "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 16)}\n"
    ),
    "an empty shape of huge sides": header(
        "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775807, 9)}\n"
    ),
    "a negative size": header(
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, -1)}\n", b"\0" * 4
    ),
    "too many axes": header(
        f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({'1,' * 40})}}\n", b"\0" * 4
    ),
    "pickled objects": header(
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}\n", b"\0" * 8
    ),
    "records": header(
        "{'descr': [('a', '<f4'), ('b', '|O')], 'fortran_order': False, 'shape': (1,)}\n",
        b"\0" * 12,
    ),
    "texts without width": header("{'descr': '<U0', 'fortran_order': False, 'shape': (9,)}\n"),
    "dates": header("{'descr': '<M8[s]', 'fortran_order': False, 'shape': (1,)}\n", b"\0" * 8),
    "an archive": b"PK\x03\x04" + b"\0" * 40,
    "an empty file": b"",
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_file_is_an_error_with_a_cause(case, tmp_path):
    path = tmp_path / "x.npy"
    path.write_bytes(HOSTILE[case])
    with pytest.raises(CompileError) as caught:
        read_array(path, "x")
    assert caught.value.code == "E-INPUT-FILE"
    assert "'x'" in caught.value.message
    assert len(caught.value.message) < 400


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=">i4").reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array(7, "u1"),
        np.zeros((0, 3), "f2"),
        np.array(["a", "bc"]),
        np.array([True, False]),
    ],
)
def test_arrays_of_all_orders_and_types_are_read(array, tmp_path):
    path = tmp_path / "x.npy"
    path.write_bytes(saved(array))
    found = read_array(path, "x")
    np.testing.assert_array_equal(found, array)
    assert found.dtype.isnative


@pytest.mark.parametrize(
    ("array", "dtype", "expected"),
    [
        (np.array([1.5], "f8"), DType.f32, "f4"),
        (np.array([200], "u1"), DType.f32, "f4"),
        (np.array([1.5], "f4"), DType.bf16, DType.bf16.numpy),
        (np.array([200], "i8"), DType.u8, "u1"),
        (np.array([300], "i8"), DType.u8, None),
        (np.array([1.0], "f4"), DType.i64, None),
        (np.array([1], "i8"), DType.bool, None),
        (np.array(["a"]), DType.string, object),
        (np.array([1.0], "f4"), DType.string, None),
    ],
)
def test_elements_are_converted_if_this_changes_no_integer(array, dtype, expected):
    t = TensorType(dtype, (1,))
    if expected is not None:
        assert as_input(array, "x", t).dtype == expected
        return
    with pytest.raises(CompileError, match="x"):
        as_input(array, "x", t)


def test_open_sizes_of_random_inputs_follow_the_given_inputs():
    graph = compiler.parse(
        "graph g(x: f32[N,2], w: f32[N,2]) {\n  y: f32[N,2] = add(x, w)\n  return y\n}"
    )
    found = whole_inputs(graph, {"x": (1, 2)}, {"x": np.zeros((5, 2), "f4")}, 0)
    assert found["w"].shape == (5, 2)
    assert list(whole_inputs(graph, {}, dict.fromkeys("xw", 1), 0)) == ["x", "w"]


def test_outputs_are_summarised_with_their_range_and_classes():
    numbers = np.array([[1.0, 4.0, -2.0, 0.5, 0, 0]], "f4")
    row = runs.output(0, "logits", numbers, is_stored=True)
    assert [c["index"] for c in row["classes"]] == [1, 0, 3, 4, 5]
    assert row["classes"][0]["share"] == pytest.approx(0.8936, abs=1e-3)
    assert not row["are_probabilities"]
    assert (row["minimum"], row["maximum"], row["first"][0]) == (-2.0, 4.0, "1")
    odd = runs.output(0, "y", np.array([np.nan, np.inf, 2.0], "f4"), is_stored=True)
    assert (odd["n_not_finite"], odd["mean"], odd["classes"]) == (2, 2.0, [])
    assert odd["first"] == ["nan", "inf", "2"]
    assert runs.output(0, "y", np.zeros((2, 5), "f4"), is_stored=True)["classes"] == []
    texts = runs.output(0, "s", np.array(["a", "b" * 99], object), is_stored=True)
    assert (texts["type"], texts["minimum"], len(texts["first"][1])) == ("string[2]", None, 40)
    assert runs.output(0, "q", [numbers], is_stored=False)["type"] == "sequence of 1"
    wide = runs.output(0, "b", np.array([1.5], DType.bf16.numpy), is_stored=True)
    assert (wide["type"], wide["maximum"]) == ("bf16[1]", 1.5)


def test_stored_outputs_can_be_read_by_numpy(tmp_path: Path):
    for array in (np.arange(3), np.array(["a", "é"], object), np.array([1.5], DType.bf16.numpy)):
        path = tmp_path / output_name(0)
        path.write_bytes(npy_bytes(array))
        np.testing.assert_array_equal(np.load(path), array.astype(np.load(path).dtype))


def test_the_wait_for_a_run_ends_when_it_is_cancelled(real, compiled):
    body = {"inputs": {}, "seconds": 10}
    job = real.post(f"/api/v1/jobs/{compiled}/run", json=body).get_json()["id"]
    real.delete(f"/api/v1/jobs/{job}")
    assert wait(real, job)["state"] in ("cancelled", "succeeded")
