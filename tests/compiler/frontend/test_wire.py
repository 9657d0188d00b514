"""Tests of the protobuf reader, and of separating large weights from the parsed part."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from compiler.errors import CompileError
from compiler.frontend.wire import LARGE_BYTES, Tokens, scan, without_cuts
from compiler.limits import UPLOAD_LIMITS, Limits
from tests.onnx_models import BOOL, graph, model, node, stored, value


def with_weights(*sizes: int) -> onnx.ModelProto:
    chance = np.random.default_rng(0)
    arrays = [chance.normal(size=n).astype(np.float32) for n in sizes]
    nodes = [node("Identity", [f"w{i}"], [f"y{i}"]) for i in range(len(sizes))]
    outputs = [value(f"y{i}", (n,)) for i, n in enumerate(sizes)]
    return model(nodes, [], outputs, [stored(f"w{i}", a) for i, a in enumerate(arrays)])


def test_a_scan_counts_nodes_and_tensors() -> None:
    branch = graph([node("Identity", ["w"], ["t"])], [], [value("t")], [stored("w", [1.0])])
    n = node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    made = model([n], [value("c", (), BOOL)])
    found = scan(made.SerializeToString(), UPLOAD_LIMITS)
    assert (found.n_nodes, found.n_initialisers, found.cuts) == (3, 2, [])


def test_large_weights_are_cut_out_and_everything_else_stays() -> None:
    large = LARGE_BYTES // 4
    made = with_weights(5, large, 7, large * 3, large - 1)
    branch = graph([node("Identity", ["w"], ["t"])], [], [value("t")])
    branch.initializer.append(stored("w", np.arange(large, dtype=np.float32)))
    made.graph.node.append(node("If", ["c"], ["z"], then_branch=branch, else_branch=branch))
    data = made.SerializeToString()
    found = scan(data, Limits())
    tokens = Tokens(found.cuts)
    small = without_cuts(data, found.cuts, tokens)
    assert len(found.cuts) == 4
    assert len(small) < len(data) / 4
    again = onnx.ModelProto.FromString(small)
    restored = [
        t
        for g in (again.graph, *(a.g for a in again.graph.node[-1].attribute))
        for t in g.initializer
    ]
    for t in restored:
        cut = tokens.cut(t.raw_data)
        if cut is not None:
            t.raw_data = data[cut.start : cut.end]
    assert again == made


def test_a_message_without_large_weights_is_parsed_as_it_is() -> None:
    data = with_weights(3).SerializeToString()
    assert without_cuts(data, scan(data, Limits()).cuts, Tokens([])) == data


def test_bytes_that_look_like_a_mark_are_just_bytes() -> None:
    tokens = Tokens([])
    assert tokens.cut(b"") is None
    assert tokens.cut(bytes(20)) is None
    assert Tokens([]).cut(tokens.mark(0)) is None


@pytest.mark.parametrize(
    ("limits", "word"),
    [
        (Limits(n_nodes=1), "nodes"),
        (Limits(n_initialisers=1), "stored tensors"),
        (Limits(n_messages=3), "messages"),
        (Limits(nested_messages=2), "nested"),
        (Limits(name_bytes=1), "name"),
    ],
)
def test_each_limit_is_kept(limits: Limits, word: str) -> None:
    with pytest.raises(CompileError, match=word) as caught:
        scan(with_weights(3, 4).SerializeToString(), limits)
    assert caught.value.code == "E-MODEL-SIZE"


def test_long_documentation_is_no_name() -> None:
    made = with_weights(3)
    made.doc_string = "words " * 50_000
    made.metadata_props.add(key="k", value="v" * 300_000)
    assert scan(made.SerializeToString(), UPLOAD_LIMITS).n_nodes == 1
