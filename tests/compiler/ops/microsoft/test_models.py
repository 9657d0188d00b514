"""Tests of transformers in ONNX Runtime's operators: one program for all sizes, no fallback."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import compiler
from tests.onnx_models import stored, value
from tests.onnx_nodes import normal

MS = "com.microsoft"
WIDTH, HEADS, WORDS, HEAD = 32, 4, 50, 16
Feeds = Mapping[str, np.ndarray]


def ms(op_type: str, inputs: str, outputs: str, **attrs: Any) -> onnx.NodeProto:
    """Return a node of ONNX Runtime's domain; `-` is an omitted operand or output."""
    names = [["" if w == "-" else w for w in words.split()] for words in (inputs, outputs)]
    return helper.make_node(op_type, *names, domain=MS, **attrs)


def weights(**shapes: tuple[int, ...]) -> list[onnx.TensorProto]:
    return [stored(n, normal(*s, seed=i) / 5) for i, (n, s) in enumerate(shapes.items())]


def model(nodes: list[Any], inputs: list[Any], outputs: list[str], stored_: list[Any]) -> bytes:
    results = [onnx.ValueInfoProto(name=o) for o in outputs]
    graph = helper.make_graph(nodes, "g", inputs, results, stored_)
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(MS, 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8).SerializeToString()


def encoder() -> bytes:
    """Return embeddings and one layer of attention and products, as in BERT."""
    w = WIDTH
    nodes = [
        ms("EmbedLayerNormalization", "ids kinds words places sorts g0 b0 mask", "x counts"),
        ms("Attention", "x qkv qkv_bias counts", "a", num_heads=HEADS),
        helper.make_node("MatMul", ["a", "out"], ["o"]),
        ms("SkipLayerNormalization", "o x g1 b1 out_bias", "n", epsilon=1e-5),
        helper.make_node("MatMul", ["n", "up"], ["f"]),
        ms("BiasGelu", "f up_bias", "h"),
        helper.make_node("MatMul", ["h", "down"], ["q"]),
        ms("SkipLayerNormalization", "q n g2 b2", "y", epsilon=1e-5),
    ]
    tables = {"words": (WORDS, w), "places": (64, w), "sorts": (2, w)}
    vectors = {k: (w,) for k in ("g0", "b0", "g1", "b1", "g2", "b2", "out_bias")}
    inner = {"qkv": (w, 3 * w), "qkv_bias": (3 * w,), "out": (w, w)}
    outer = {"up": (w, 4 * w), "up_bias": (4 * w,), "down": (4 * w, w)}
    int32 = TensorProto.INT32
    inputs = [value(n, ["batch", "length"], int32) for n in ("ids", "kinds", "mask")]
    return model(nodes, inputs, ["y"], weights(**tables, **vectors, **inner, **outer))


def encoder_feeds(batch: int, length: int) -> Feeds:
    rng = np.random.default_rng(length)
    mask = np.ones((batch, length), np.int32)
    mask[0, length - 2 :] = 0
    ids = rng.integers(0, WORDS, (batch, length)).astype(np.int32)
    return {"ids": ids, "kinds": (ids % 2).astype(np.int32), "mask": mask}


def decoder() -> bytes:
    """Return a layer of grouped attention with rotary embedding and cache, as in decoders."""
    nodes = [
        helper.make_node("Gather", ["words", "ids"], ["x"]),
        helper.make_node("SimplifiedLayerNormalization", ["x", "g0"], ["n"], epsilon=1e-5),
        helper.make_node("MatMul", ["n", "qkv"], ["p"]),
        helper.make_node("Shape", ["mask"], ["s"]),
        helper.make_node("Gather", ["s", "one"], ["t64"]),
        helper.make_node("Cast", ["t64"], ["total"], to=TensorProto.INT32),
        helper.make_node("ReduceSum", ["mask", "ones"], ["c"], keepdims=0),
        helper.make_node("Sub", ["c", "one"], ["l64"]),
        helper.make_node("Cast", ["l64"], ["lengths"], to=TensorProto.INT32),
        ms(
            "GroupQueryAttention",
            "p - - past_k past_v lengths total cos sin",
            "a k v",
            num_heads=HEADS,
            kv_num_heads=2,
            do_rotary=1,
        ),
        helper.make_node("MatMul", ["a", "out"], ["o"]),
        ms("SkipSimplifiedLayerNormalization", "x o g1", "y - - sum"),
        helper.make_node("MatMul", ["y", "head"], ["logits"]),
    ]
    made = weights(
        words=(WORDS, WIDTH),
        g0=(WIDTH,),
        g1=(WIDTH,),
        qkv=(WIDTH, (HEADS + 4) * HEAD),
        out=(HEADS * HEAD, WIDTH),
        head=(WIDTH, WORDS),
    )
    angles = normal(64, HEAD // 2, seed=9)
    made += [stored("cos", np.cos(angles)), stored("sin", np.sin(angles))]
    made += [stored("one", 1, np.int64), stored("ones", [1], np.int64)]
    cache = ["batch", 2, "past", HEAD]
    inputs = [
        value("ids", ["batch", "length"], TensorProto.INT64),
        value("mask", ["batch", "total"], TensorProto.INT64),
        value("past_k", cache),
        value("past_v", cache),
    ]
    return model(nodes, inputs, ["logits", "k", "v"], made)


def decoder_feeds(batch: int, length: int, past: int) -> Feeds:
    rng = np.random.default_rng(past)
    return {
        "ids": rng.integers(0, WORDS, (batch, length)),
        "mask": np.ones((batch, length + past), np.int64),
        "past_k": normal(batch, 2, past, HEAD),
        "past_v": normal(batch, 2, past, HEAD, seed=1),
    }


@pytest.mark.parametrize(
    ("source", "runs"),
    [
        (encoder, [encoder_feeds(2, 7), encoder_feeds(1, 12), encoder_feeds(3, 5)]),
        (decoder, [decoder_feeds(1, 6, 0), decoder_feeds(1, 1, 6), decoder_feeds(2, 1, 9)]),
    ],
)
def test_a_transformer_of_any_size_is_generated_code(source: Any, runs: list[Feeds]) -> None:
    import onnxruntime as runtime

    data = source()
    session = runtime.InferenceSession(data, providers=["CPUExecutionProvider"])
    program = compiler.compile(data)
    for feeds in runs:
        got = program.run(dict(feeds))
        needed = session.run(None, dict(feeds))
        for a, b in zip(got.values(), needed, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
        assert [k.because for k in program.kernels if not k.native] == []
