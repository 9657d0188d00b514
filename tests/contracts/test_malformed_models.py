"""Files that are broken, hostile or absurd: each gets one error, and nothing else happens."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from compiler.errors import CODES, CompileError
from compiler.frontend import UPLOAD_LIMITS, Limits, load
from tests.onnx_models import BOOL, F32, I64, function, graph, model, node, stored, value

Maker = Callable[[], bytes]
CASES: list[Any] = []


def case(code: str, mentions: str = "") -> Callable[[Maker], Maker]:
    """Register a maker of bytes: the code it must get, and a word that the error must have."""

    def register(make: Maker) -> Maker:
        CASES.append(pytest.param(make, code, mentions, id=make.__name__))
        return make

    return register


def relu(**rest: Any) -> onnx.ModelProto:
    return model([node("Relu", ["x"], ["y"], name="act")], **rest)


def changed(made: onnx.ModelProto, change: Callable[[onnx.ModelProto], Any]) -> bytes:
    change(made)
    return made.SerializeToString()


def with_stored(t: onnx.TensorProto) -> bytes:
    t.name = "w"
    return model([node("Add", ["x", "w"], ["y"])], initialisers=[t]).SerializeToString()


def tensor_message(dims: list[int], dtype: int = F32, **fields: Any) -> onnx.TensorProto:
    return onnx.TensorProto(dims=dims, data_type=dtype, **fields)


def field_bytes(number: int, content: bytes) -> bytes:
    """One length-delimited protobuf field."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


# The file


@case("E-MODEL-EMPTY")
def empty_file() -> bytes:
    return b""


@case("E-MODEL-PROTOBUF", "text")
def textual_model() -> bytes:
    return b'ir_version: 8\ngraph { name: "g" }\n'


@case("E-MODEL-PROTOBUF", "text")
def json_model() -> bytes:
    return b'{"irVersion": "8", "graph": {}}'


@case("E-MODEL-PROTOBUF", "gzip")
def compressed_model() -> bytes:
    return gzip.compress(relu().SerializeToString())


@case("E-MODEL-PROTOBUF", "ORT")
def model_in_another_format() -> bytes:
    return b"\x20\x00\x00\x00ORTM" + b"\x00" * 100


@case("E-MODEL-PROTOBUF")
def random_bytes() -> bytes:
    return np.random.default_rng(4).bytes(1000)


@case("E-MODEL-PROTOBUF")
def truncated_model() -> bytes:
    whole = relu().SerializeToString()
    return whole[: len(whole) * 2 // 3]


@case("E-MODEL-PROTOBUF")
def length_beyond_the_end() -> bytes:
    return b"\x3a" + varint(2**31 - 1) + b"abc"


@case("E-MODEL-PROTOBUF")
def length_of_2_to_the_63() -> bytes:
    return b"\x3a" + varint(2**63) + b"abc"


@case("E-MODEL-PROTOBUF", "10 bytes")
def endless_number() -> bytes:
    return b"\x08" + b"\xff" * 40 + b"\x01"


@case("E-MODEL-PROTOBUF", "wire type")
def group_in_the_message() -> bytes:
    return relu().SerializeToString() + b"\x3b\x3c"


@case("E-MODEL-PROTOBUF", "UTF-8")
def name_that_is_not_utf8() -> bytes:
    whole = relu().SerializeToString()
    return whole.replace(b"act", b"a\xfft")


@case("E-MODEL-SIZE", "nested")
def subgraphs_nested_a_hundred_deep() -> bytes:
    inner = b""
    for _ in range(60):
        attribute = field_bytes(1, b"body") + field_bytes(6, inner)
        inner = field_bytes(1, field_bytes(5, attribute))
    return field_bytes(7, inner)


@case("E-MODEL-SIZE", "messages")
def a_million_empty_nodes() -> bytes:
    return field_bytes(7, b"\x0a\x00" * 1_100_000)


@case("E-MODEL-SIZE", "unknown")
def bytes_in_unknown_fields() -> bytes:
    return relu().SerializeToString() + field_bytes(99, bytes(2 << 20))


@case("E-MODEL-SIZE", "name")
def name_of_a_hundred_kilobytes() -> bytes:
    return changed(relu(), lambda m: setattr(m.graph.node[0], "name", "n" * 100_000))


# The model


@case("E-MODEL-INVALID", "graph")
def model_without_a_graph() -> bytes:
    return onnx.ModelProto(ir_version=8).SerializeToString()


@case("E-MODEL-INVALID", "outputs")
def graph_without_outputs() -> bytes:
    return relu(outputs=[]).SerializeToString()


@case("E-MODEL-OPSET", "IR version 99")
def file_from_the_future() -> bytes:
    return changed(relu(), lambda m: setattr(m, "ir_version", 99))


@case("E-MODEL-INVALID", "IR version")
def file_without_a_version() -> bytes:
    return changed(relu(), lambda m: m.ClearField("ir_version"))


@case("E-MODEL-OPSET", "999")
def opset_from_the_future() -> bytes:
    return changed(relu(), lambda m: setattr(m.opset_import[0], "version", 999))


@case("E-MODEL-OPSET", "versions 1 to")
def opset_zero() -> bytes:
    return changed(relu(), lambda m: setattr(m.opset_import[0], "version", 0))


@case("E-MODEL-OPSET", "no operator set")
def model_without_an_opset() -> bytes:
    return changed(relu(), lambda m: m.ClearField("opset_import"))


@case("E-MODEL-OPSET", "two versions")
def two_versions_of_one_opset() -> bytes:
    return changed(relu(), lambda m: m.opset_import.append(helper.make_opsetid("", 12)))


@case("E-MODEL-OPSET", "ai.onnx.ml")
def domain_that_is_not_imported() -> bytes:
    n = node("Binarizer", ["x"], ["y"], domain="ai.onnx.ml")
    return model([n]).SerializeToString()


@case("E-MODEL-OPERATOR", "Frobnicate")
def operator_that_does_not_exist() -> bytes:
    return model([node("Frobnicate", ["x"], ["y"])]).SerializeToString()


@case("E-MODEL-OPERATOR", "Gelu")
def operator_of_a_later_opset() -> bytes:
    return model([node("Gelu", ["x"], ["y"])], opset=12).SerializeToString()


@case("E-MODEL-OPERATOR", "acme")
def operator_of_an_unknown_domain() -> bytes:
    n = node("Thing", ["x"], ["y"], domain="acme")
    return model([n], domains=["acme"]).SerializeToString()


# Names


@case("E-MODEL-CYCLE", "first")
def two_nodes_in_a_circle() -> bytes:
    nodes = [node("Add", ["x", "b"], ["a"], name="first"), node("Relu", ["a"], ["b"])]
    return model(nodes, outputs=[value("a")]).SerializeToString()


@case("E-MODEL-CYCLE", "selfish")
def node_that_reads_itself() -> bytes:
    return model([node("Add", ["x", "y"], ["y"], name="selfish")]).SerializeToString()


@case("E-MODEL-NAME", "'y'")
def value_defined_twice() -> bytes:
    nodes = [node("Relu", ["x"], ["y"]), node("Neg", ["x"], ["y"])]
    return model(nodes).SerializeToString()


@case("E-MODEL-NAME", "'x'")
def output_named_as_an_input() -> bytes:
    return model([node("Relu", ["x"], ["x"])], outputs=[value("x")]).SerializeToString()


@case("E-MODEL-NAME", "'x'")
def input_listed_twice() -> bytes:
    return relu(inputs=[value("x"), value("x")]).SerializeToString()


@case("E-MODEL-NAME", "'nowhere'")
def operand_that_nothing_defines() -> bytes:
    return model([node("Add", ["x", "nowhere"], ["y"])]).SerializeToString()


@case("E-MODEL-NAME", "'z'")
def result_that_nothing_defines() -> bytes:
    return relu(outputs=[value("z")]).SerializeToString()


@case("E-MODEL-NAME", "'y'")
def result_listed_twice() -> bytes:
    return relu(outputs=[value("y"), value("y")]).SerializeToString()


@case("E-MODEL-NAME", "'hidden'")
def capture_of_a_value_that_does_not_exist() -> bytes:
    branch = graph([node("Neg", ["hidden"], ["t"])], outputs=[value("t")])
    n = node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    return model([n], inputs=[value("c", (), BOOL)]).SerializeToString()


@case("E-MODEL-INVALID", "no outputs")
def node_without_outputs() -> bytes:
    return model([node("Relu", ["x"], []), node("Neg", ["x"], ["y"])]).SerializeToString()


@case("E-MODEL-TYPE", "'x'")
def input_without_a_type() -> bytes:
    return relu(inputs=[onnx.ValueInfoProto(name="x")]).SerializeToString()


# Tensors


@case("E-MODEL-TENSOR", "24 bytes")
def raw_data_too_short() -> bytes:
    return with_stored(tensor_message([2, 3], raw_data=bytes(20)))


@case("E-MODEL-TENSOR", "24 bytes")
def raw_data_too_long() -> bytes:
    return with_stored(tensor_message([2, 3], raw_data=bytes(28)))


@case("E-MODEL-TENSOR", "negative")
def negative_size() -> bytes:
    return with_stored(tensor_message([2, -3], raw_data=bytes(24)))


@case("E-MODEL-SIZE", "elements")
def sizes_whose_product_overflows() -> bytes:
    return with_stored(tensor_message([2**40, 2**40], raw_data=bytes(24)))


@case("E-MODEL-SIZE", "axis")
def size_of_2_to_the_62() -> bytes:
    return with_stored(tensor_message([2**62], raw_data=bytes(24)))


@case("E-MODEL-TENSOR", "float_data")
def large_tensor_without_data() -> bytes:
    return with_stored(tensor_message([2**25]))


@case("E-MODEL-SIZE", "axes")
def tensor_of_rank_40() -> bytes:
    return with_stored(tensor_message([1] * 40, raw_data=bytes(4)))


@case("E-MODEL-TYPE", "99")
def unknown_element_type() -> bytes:
    return with_stored(tensor_message([2, 3], 99, raw_data=bytes(24)))


@case("E-MODEL-TYPE")
def tensor_without_element_type() -> bytes:
    return with_stored(tensor_message([2, 3], 0, raw_data=bytes(24)))


@case("E-MODEL-TENSOR", "strings")
def strings_as_raw_bytes() -> bytes:
    return with_stored(tensor_message([2], TensorProto.STRING, raw_data=b"ab"))


@case("E-MODEL-TENSOR", "twice")
def elements_given_twice() -> bytes:
    return with_stored(tensor_message([1], raw_data=bytes(4), float_data=[1.0]))


@case("E-MODEL-TENSOR", "float_data")
def elements_in_the_wrong_field() -> bytes:
    return with_stored(tensor_message([1], int64_data=[1]))


@case("E-MODEL-SIZE", "sparse")
def sparse_tensor_of_absurd_size() -> bytes:
    return with_sparse([2**20, 2**20], [0])


@case("E-MODEL-TENSOR", "outside")
def sparse_index_outside_the_tensor() -> bytes:
    return with_sparse([2, 3], [6])


def with_sparse(dims: list[int], places: list[int]) -> bytes:
    sparse = onnx.SparseTensorProto(dims=dims)
    sparse.values.CopyFrom(stored("w", np.ones(len(places), np.float32)))
    sparse.indices.CopyFrom(stored("", places, np.int64))
    made = model([node("Add", ["x", "w"], ["y"])])
    made.graph.sparse_initializer.append(sparse)
    return made.SerializeToString()


# External data


def external(name: str = "w", location: str = "../secret.bin") -> onnx.TensorProto:
    t = tensor_message([2, 3], name=name, data_location=TensorProto.EXTERNAL)
    t.external_data.add(key="location", value=location)
    return t


@case("E-MODEL-EXTERNAL", "'w'")
def external_initialiser() -> bytes:
    return with_stored(external())


@case("E-MODEL-EXTERNAL", "'w'")
def external_data_without_the_flag() -> bytes:
    t = external()
    t.ClearField("data_location")
    return with_stored(t)


@case("E-MODEL-EXTERNAL", "'w'")
def flag_without_external_data() -> bytes:
    t = external()
    t.ClearField("external_data")
    return with_stored(t)


@case("E-MODEL-EXTERNAL", "'inner'")
def external_constant_node() -> bytes:
    return model([node("Constant", [], ["y"], value=external("inner"))]).SerializeToString()


@case("E-MODEL-EXTERNAL", "'v'")
def external_sparse_values() -> bytes:
    sparse = onnx.SparseTensorProto(dims=[6])
    sparse.values.CopyFrom(external("v", "/proc/self/environ"))
    made = model([node("Constant", [], ["y"])])
    attribute = made.graph.node[0].attribute.add(name="sparse_value", type=11)
    attribute.sparse_tensor.CopyFrom(sparse)
    return made.SerializeToString()


@case("E-MODEL-EXTERNAL", "'w'")
def external_data_in_a_subgraph() -> bytes:
    branch = graph([node("Identity", ["w"], ["t"])], [], [value("t")], [external()])
    n = node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    return model([n], inputs=[value("c", (), BOOL)]).SerializeToString()


@case("E-MODEL-EXTERNAL", "'w'")
def external_data_in_a_function_that_nobody_calls() -> bytes:
    unused = function("f", ["a"], ["b"], [node("Constant", [], ["b"], value=external())])
    return relu(functions=[unused]).SerializeToString()


# Nodes


@case("E-MODEL-ATTRIBUTE", "alpha")
def attribute_of_the_wrong_kind() -> bytes:
    return model([node("LeakyRelu", ["x"], ["y"], alpha=1)]).SerializeToString()


@case("E-MODEL-ATTRIBUTE", "to")
def required_attribute_left_out() -> bytes:
    return model([node("Cast", ["x"], ["y"])]).SerializeToString()


@case("E-MODEL-ATTRIBUTE", "wings")
def attribute_that_does_not_exist() -> bytes:
    return model([node("Relu", ["x"], ["y"], wings=2)]).SerializeToString()


@case("E-MODEL-ATTRIBUTE", "twice")
def attribute_given_twice() -> bytes:
    made = model([node("LeakyRelu", ["x"], ["y"], alpha=0.5)])
    made.graph.node[0].attribute.append(helper.make_attribute("alpha", 0.25))
    return made.SerializeToString()


@case("E-MODEL-INVALID", "operands")
def too_many_operands() -> bytes:
    return model([node("Relu", ["x", "x"], ["y"])]).SerializeToString()


@case("E-MODEL-INVALID", "left out")
def required_operand_left_out() -> bytes:
    return model([node("Add", ["x", ""], ["y"])]).SerializeToString()


@case("E-OP-SHAPE", "mm")
def shapes_that_do_not_go_together() -> bytes:
    return model([node("MatMul", ["x", "x"], ["y"], name="mm")]).SerializeToString()


@case("E-OP-AXIS", "cat")
def axis_outside_the_rank() -> bytes:
    n = node("Concat", ["x", "x"], ["y"], axis=7, name="cat")
    return model([n]).SerializeToString()


@case("E-OP-SHAPE", "axes")
def reshape_to_a_billion_axes() -> bytes:
    inputs = [value("x"), value("s", (2**30,), I64)]
    return model([node("Reshape", ["x", "s"], ["y"])], inputs).SerializeToString()


@case("E-OP-SHAPE", "2**62")
def axis_that_doubles_a_hundred_times() -> bytes:
    nodes = [node("Concat", [f"v{i}"] * 2, [f"v{i + 1}"], axis=0) for i in range(100)]
    return model(nodes, [value("v0")], [value("v100", None)]).SerializeToString()


@case("E-OP-ATTRIBUTE", "pieces")
def split_into_a_trillion_pieces() -> bytes:
    n = node("Split", ["x"], ["y"], num_outputs=2**40)
    return model([n], opset=18).SerializeToString()


@case("E-GRAPH-TYPE", "body")
def loop_whose_body_does_not_fit() -> bytes:
    body = graph([node("Identity", ["c"], ["d"])], [value("c", (), BOOL)], [value("d", (), BOOL)])
    n = node("Loop", ["", "c0", "x"], ["y"], body=body, name="loop")
    return model([n], [value("x"), value("c0", (), BOOL)]).SerializeToString()


@case("E-MODEL-ATTRIBUTE", "else_branch")
def condition_without_an_else() -> bytes:
    branch = graph([node("Identity", ["x"], ["t"])], outputs=[value("t")])
    n = node("If", ["c"], ["y"], then_branch=branch)
    return model([n], [value("x"), value("c", (), BOOL)]).SerializeToString()


@case("E-MODEL-SIZE", "depth")
def conditions_nested_beyond_the_limit() -> bytes:
    inner = graph([node("Identity", ["x"], ["t"])], outputs=[value("t")])
    for _ in range(UPLOAD_LIMITS.nested_regions + 1):
        n = node("If", ["c"], ["t"], then_branch=inner, else_branch=inner_copy())
        inner = graph([n], outputs=[value("t")])
    n = node("If", ["c"], ["y"], then_branch=inner, else_branch=inner_copy())
    return model([n], [value("x"), value("c", (), BOOL)]).SerializeToString()


def inner_copy() -> onnx.GraphProto:
    return graph([node("Identity", ["x"], ["e"])], outputs=[value("e")])


# Functions


def call(name: str) -> Any:
    return node(name, ["x"], ["y"], domain="local")


@case("E-MODEL-CYCLE", "local.f")
def function_that_calls_itself() -> bytes:
    f = function("f", ["x"], ["y"], [call("f")])
    return model([call("f")], functions=[f], domains=["local"]).SerializeToString()


@case("E-MODEL-CYCLE", "calls itself")
def functions_that_call_each_other() -> bytes:
    f, g = function("f", ["x"], ["y"], [call("g")]), function("g", ["x"], ["y"], [call("f")])
    return model([call("f")], functions=[f, g], domains=["local"]).SerializeToString()


@case("E-MODEL-SIZE", "functions")
def functions_that_double_forty_times() -> bytes:
    made = [function("f0", ["x"], ["y"], [node("Relu", ["x"], ["y"])])]
    for i in range(1, 41):
        twice = [
            node(f"f{i - 1}", ["x"], ["m"], domain="local"),
            node(f"f{i - 1}", ["m"], ["y"], domain="local"),
        ]
        made.append(function(f"f{i}", ["x"], ["y"], twice))
    return model([call("f40")], functions=made, domains=["local"]).SerializeToString()


@case("E-MODEL-NAME", "local.f")
def two_functions_of_one_name() -> bytes:
    f = function("f", ["x"], ["y"], [node("Relu", ["x"], ["y"])])
    return model([call("f")], functions=[f, f], domains=["local"]).SerializeToString()


@case("E-MODEL-NAME", "'y'")
def function_that_does_not_give_its_output() -> bytes:
    f = function("f", ["x"], ["y"], [node("Relu", ["x"], ["z"])])
    return model([call("f")], functions=[f], domains=["local"]).SerializeToString()


@case("E-MODEL-INVALID", "takes 1 operands")
def function_called_with_too_many_operands() -> bytes:
    f = function("f", ["x"], ["y"], [node("Relu", ["x"], ["y"])])
    n = node("f", ["x", "x"], ["y"], domain="local")
    return model([n], functions=[f], domains=["local"]).SerializeToString()


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


# From a path: nothing but the model is opened


@contextmanager
def opened_files() -> Iterator[list[str]]:
    """The files that Python code opens meanwhile."""
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
    """The code of the error that bytes get; "read" for none."""
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
    """Each of these ends the process when the package's own inference is asked about it."""
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
